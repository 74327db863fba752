"""Random strategies without an error: all synthesize, and the real Terraform and Karpenter accept the result.

The batch is the same in every run; see ``helpers.random_strategies`` for another or a larger one. A failure prints the
strategy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from eks_hardware.findings import Severity, StrategyError
from eks_hardware.kubernetes.karpenter import releases
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.references import known, replaced
from eks_hardware.loader import parse_strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.rules import check
from helpers.kubernetes.karpenter_schema import check_custom_resources
from helpers.random_strategies import Document, block, for_each, property_count, random_document
from helpers.strategies import TODAY
from helpers.terraform_modules import stack_documents, validate

COUNT = property_count(30)
_LONGEST_NAME = 100


class Accepted(NamedTuple):
    """Strategy without errors, as written and as resolved."""

    text: str
    resolved: ResolvedStrategy


def accepted() -> Mapping[str, Accepted]:
    """Return strategies without an error, by name."""
    found: dict[str, Accepted] = {}

    def collect(document: Document) -> None:
        if len(found) < COUNT:
            number = f"-{len(found)}"
            name = f"{document.get('name')}"[: _LONGEST_NAME - len(number)] + number
            text = block({**document, "name": name}).lstrip("\n") + "\n"
            if resolved := resolved_if_right(text):
                found[name] = Accepted(text, resolved)

    for_each(random_document(stretches=3, mistakes=0), collect, count=5 * COUNT)
    return found


def resolved_if_right(text: str) -> ResolvedStrategy | None:
    try:
        strategy = parse_strategy(text).strategy
    except StrategyError:
        return None
    if any(finding.severity is Severity.ERROR for finding in check(strategy, today=TODAY)):
        return None
    return resolve(strategy)


@pytest.fixture(scope="module")
def batch() -> Mapping[str, Accepted]:
    found = accepted()
    # Otherwise the tests prove nothing.
    assert len(found) == COUNT
    return found


def test_karpenter_takes_its_objects(batch: Mapping[str, Accepted]) -> None:
    objects = [
        json.loads(json.dumps(replaced(each, known(resolved).__getitem__), default=dict))
        for resolved in (each.resolved for each in batch.values())
        for each in Bundle(tuple(releases(resolved))).objects
    ]
    assert objects
    assert check_custom_resources(objects) == []


def test_terraform_takes_their_stacks(batch: Mapping[str, Accepted], tmp_path: Path) -> None:
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    app = App(outdir=str(tmp_path / "cdktf.out"))
    for name, each in batch.items():
        try:
            strategy_stacks(app, each.resolved)
        except Exception as error:
            pytest.fail(f"{name}: {error!r}\n{each.text}", pytrace=False)
    app.synth()
    stacks = stack_documents(tmp_path / "cdktf.out")
    assert set(batch) <= set(stacks)
    assert [name for name, document in stacks.items() if "TfToken" in json.dumps(document)] == []
    faults = validate(stacks, tmp_path / "terraform")
    texts = {name: batch[name.removesuffix("-kubernetes")].text if name in stacks else "" for name in faults}
    assert not faults, "\n".join(f"{name}: {'; '.join(faults[name])}\n{texts[name]}" for name in faults)
