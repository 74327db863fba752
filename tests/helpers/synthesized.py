"""Every strategy with every overlay, synthesized as ``main.py`` does, for tests that look at all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.paths import SHIPPED, SPECIAL

if TYPE_CHECKING:
    from eks_hardware.resolve import ResolvedStrategy

OVERLAYS = ("local", "manifests", "private")


@dataclass(frozen=True)
class Synthesized:
    """One synthesized stack.

    Attributes:
        strategy: name of the strategy.
        stack: name of the stack; another than the strategy's where its charts have a stack of their own.
        shipped: whether the strategy ships with the package.
        overlay: what was laid over it, empty for nothing.
        file: its ``cdk.tf.json``.
        document: what that says.
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
        """Type, name and body of every resource, or data source (``kind="data"``)."""
        for type_, named in self.document.get(kind, {}).items():
            for name, body in named.items():
                yield type_, name, body


def synthesize(folder: Path, strategies: Path, overlay: str = "") -> list[Synthesized]:
    """Synthesize the strategies of a folder into another folder."""
    from eks_hardware.stacks.app import strategies as load

    environ = {"EKS_HARDWARE_STRATEGIES": str(strategies), "EKS_HARDWARE_OVERLAY": overlay}
    return synthesize_resolved(folder, [each for each, _ in load(environ)], overlay)


def synthesize_resolved(folder: Path, resolved: Sequence[ResolvedStrategy], overlay: str = "") -> list[Synthesized]:
    """Synthesize strategies that are resolved already."""
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    folder.mkdir(parents=True)
    app = App(outdir=str(folder))
    stacks = [(each.name, stack.node.id) for each in resolved for stack in strategy_stacks(app, each)]
    app.synth()
    return [
        Synthesized(
            strategy,
            stack,
            (SHIPPED / f"{strategy}.yaml").is_file(),
            overlay,
            file := folder / "stacks" / stack / "cdk.tf.json",
            json.loads(file.read_text(encoding="utf-8")),
        )
        for strategy, stack in stacks
    ]


def everything(folder: Path) -> list[Synthesized]:
    """Shipped strategies alone and with each overlay, one with its charts in a stack of their own, and those of
    tests/synth/strategies."""
    from eks_hardware.resolve import resolve
    from eks_hardware.validation import load_strategy

    stacks = synthesize(folder / "special", SPECIAL)
    for overlay in ("", *OVERLAYS):
        stacks += synthesize(folder / (overlay or "shipped"), SHIPPED, overlay)
    one = load_strategy(SHIPPED / "mixed-hardware.yaml").strategy
    separate = one.model_copy(update={"kubernetes": one.kubernetes.model_copy(update={"stack": "separate"})})
    return [*stacks, *synthesize_resolved(folder / "separate", [resolve(separate)], "separate")]
