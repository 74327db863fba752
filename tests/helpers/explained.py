"""The output of `explain` for every strategy that ships, and for strategies that cover the rest."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from eks_hardware.explain import Section, sections
from helpers.paths import SHIPPED, SPECIAL, TESTS
from helpers.strategies import resolved_of

CORPUS = (
    "accelerators-other accelerators-own-image bottlerocket existing-everything fractional-gpu kubelet-and-user-data "
    "labels-and-taints mig-bottlerocket pools-by-every-field private reservations-in-pools storage-most time-slicing"
)
FILES = {
    file.stem: file
    for file in (
        *sorted(SHIPPED.glob("*.yaml")),
        *sorted(SPECIAL.glob("*.yaml")),
        *(TESTS / "corpus" / "good" / f"{name}.yaml" for name in CORPUS.split()),
    )
}


@cache
def explained(file: Path) -> tuple[Section, ...]:
    return sections(resolved_of(file))
