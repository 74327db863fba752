"""Every strategy with every overlay, synthesized like ``main.py``, for tests on all stacks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.paths import SHIPPED, SPECIAL
from helpers.shared import Once

if TYPE_CHECKING:
    from eks_hardware.resolve import ResolvedStrategy

OVERLAYS = ("local", "manifests", "private")


@dataclass(frozen=True)
class Synthesized:
    """One synthesized stack.

    Attributes:
        strategy: name of the strategy.
        stack: name of the stack; differs from the strategy's if charts have a separate stack.
        shipped: whether the strategy ships with the package.
        overlay: the applied overlay; empty without one.
        file: its ``cdk.tf.json``.
        document: the content of the file.
    """

    strategy: str
    stack: str
    shipped: bool
    overlay: str
    file: Path
    document: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.stack} with {self.overlay}" if self.overlay else self.stack

    def resources(self, kind: str = "resource") -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield type, name and body of every resource, or data source (``kind="data"``)."""
        for type_, named in self.document.get(kind, {}).items():
            for name, body in named.items():
                yield type_, name, body


def all_stacks(once: Once, plain: Path) -> list[Synthesized]:
    """Return all stacks.

    These are the shipped strategies alone and with each overlay, one with a separate stack for charts, and those of
    tests/synth/strategies.

    Args:
        once: creates missing results.
        plain: the output folder of all strategies without an overlay.
    """
    stacks = stacks_in(plain)
    for overlay in OVERLAYS:
        stacks += stacks_with(once, overlay)
    return [*stacks, *stacks_in(once("separate", _separate), "separate")]


def stacks_with(once: Once, overlay: str) -> list[Synthesized]:
    """Return the stacks of the shipped strategies with an overlay."""
    return stacks_in(once(f"overlay-{overlay}", partial(_with_overlay, overlay)), overlay)


def stacks_in(outdir: Path, overlay: str = "") -> list[Synthesized]:
    """Return the stacks of an output folder."""
    found = []
    for file in sorted(outdir.glob("stacks/*/cdk.tf.json")):
        stack = file.parent.name
        strategy = stack if _file_of(stack) else stack.removesuffix("-kubernetes")
        document = json.loads(file.read_text(encoding="utf-8"))
        shipped = _file_of(strategy) == SHIPPED / f"{strategy}.yaml"
        found.append(Synthesized(strategy, stack, shipped, overlay, file, document))
    return found


def _file_of(strategy: str) -> Path | None:
    return next((file for folder in (SHIPPED, SPECIAL) if (file := folder / f"{strategy}.yaml").is_file()), None)


def _with_overlay(overlay: str, folder: Path) -> None:
    from eks_hardware.stacks.app import strategies as load

    environ = {"EKS_HARDWARE_STRATEGIES": str(SHIPPED), "EKS_HARDWARE_OVERLAY": overlay}
    synthesize(folder, [each for each, _ in load(environ)])


def _separate(folder: Path) -> None:
    from eks_hardware.resolve import resolve
    from eks_hardware.validation import load_strategy

    one = load_strategy(SHIPPED / "mixed-hardware.yaml").strategy
    separate = one.model_copy(update={"kubernetes": one.kubernetes.model_copy(update={"stack": "separate"})})
    synthesize(folder, [resolve(separate)])


def synthesize(folder: Path, resolved: Sequence[ResolvedStrategy]) -> list[Synthesized]:
    """Synthesize strategies into a folder."""
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    app = App(outdir=str(folder))
    for each in resolved:
        strategy_stacks(app, each)
    app.synth()
    return stacks_in(folder)
