"""Strategies with each of their overlays.

A *variant* is a strategy without an overlay, or with one of the overlays in its own folders that apply to it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from eks_hardware.findings import Finding, Position
from eks_hardware.loader.discovery import find
from eks_hardware.loader.overlays import overlays_for, own_overlays
from eks_hardware.loader.yaml_files import display_name
from eks_hardware.validation.strategies import Validation, in_order, validate

__all__ = ["Variant", "Variants", "validate_variants"]

_UNUSED = "IGNORE_UNUSED"

_Placed: TypeAlias = tuple[Finding, Position | None, str]


@dataclass(frozen=True)
class Variant:
    """The result of checking one strategy file with some overlays.

    Attributes:
        file: the strategy file.
        overlays: the names of the overlays; empty for the strategy alone.
        found: the findings.

    Examples:
        >>> first = validate_variants(["config/strategies/mixed-hardware.yaml"]).each[0]
        >>> first.file.name, first.overlays, [each.code for each in first.found.warnings]
        ('mixed-hardware.yaml', (), ['ENDPOINT_OPEN'])
    """

    file: Path
    overlays: tuple[str, ...]
    found: Validation


@dataclass(frozen=True)
class Variants:
    """The result of checking several strategy files, each with all of its overlays.

    Attributes:
        alone: the result without overlays, including faults that concern several files.
        each: every variant; first those without overlays, in the order of the files.

    Examples:
        >>> found = validate_variants(["config/strategies/mixed-hardware.yaml"])
        >>> len(found.each) > 1, [each.code for each in found.alone.warnings]
        (True, ['ENDPOINT_OPEN'])
    """

    alone: Validation
    each: tuple[Variant, ...]

    @cached_property
    def validation(self) -> Validation:
        """All findings, each once. The message of a finding that only overlays cause names them."""
        known = set(map(_at_its_place, self.alone.findings))
        causes: dict[_Placed, list[Variant]] = {}
        for variant in self.each:
            for finding in variant.found.findings:
                placed = _at_its_place(finding)
                if placed not in known and finding.code != _UNUSED:
                    causes.setdefault(placed, []).append(variant)
        findings = [finding for finding in self.alone.findings if not self._used_with_an_overlay(finding)]
        findings += [_caused_by(finding, variants) for (finding, _, _), variants in causes.items()]
        return self.alone._replace(findings=in_order(findings, self.alone.files))

    @property
    def unused_overlays(self) -> tuple[str, ...]:
        """The names of overlays in the project that apply to none of the files, sorted."""
        names = {name for variant in self.each for name in own_overlays(variant.file)}
        return tuple(sorted(names - {name for variant in self.each for name in variant.overlays}))

    def _used_with_an_overlay(self, finding: Finding) -> bool:
        """Return whether an entry of ``ignore`` is unused in the strategy alone, but used with an overlay."""
        if finding.code != _UNUSED or finding.position is None:
            return False
        variants = [variant for variant in self.each if display_name(variant.file) == finding.position.file]
        return not all(finding in variant.found.findings for variant in variants)


def validate_variants(
    files: Sequence[Path | str] | None = None,
    *,
    overlays: Sequence[str] | None = None,
    today: datetime.date | None = None,
    adoptions: bool = False,
) -> Variants:
    """Read and check strategy files without overlays, and then with each overlay that applies; raises nothing.

    Args:
        files: files and folders, as for ``validate``.
        overlays: check each file only with these overlays.
        today: the date for rules that depend on it.
        adoptions: check files with node pools for an existing cluster as adoptions, without overlays.
    """
    first = tuple(overlays or ())
    first_result = validate(files, first, today=today, adoptions=adoptions)
    paths = [path for path in find(files)[0] if display_name(path) not in first_result.adoptions]
    alone = [Variant(path, first, validate([path], first, today=today)) for path in paths]
    others = [
        Variant(path, (name,), validate([path], [name], today=today))
        for path in paths
        if overlays is None
        for name in overlays_for(path)
    ]
    return Variants(first_result, (*alone, *others))


def _at_its_place(finding: Finding) -> _Placed:
    """Return a finding, its position and why it is ignored. Findings are equal regardless of the last two."""
    return finding, finding.position, finding.ignored


def _caused_by(finding: Finding, variants: Sequence[Variant]) -> Finding:
    file = finding.position.file if finding.position else ""
    if all(display_name(variant.file) == file for variant in variants):
        causes = f"with overlay {', '.join(name for variant in variants for name in variant.overlays)}"
    else:
        causes = f"for {', '.join(dict.fromkeys(variant.file.stem for variant in variants))}"
    return replace(finding, message=f"{finding.message} ({causes})")
