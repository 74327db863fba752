"""The output of `explain` for every strategy that ships, and for strategies that cover the rest."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from eks_hardware.explain import Section, sections
from helpers.paths import SHIPPED, SPECIAL, TESTS
from helpers.strategies import resolved_of

CORPUS = (
    "accelerators-other accelerators-own-image bottlerocket china existing-everything fractional-gpu gov-cloud "
    "kubelet-and-user-data labels-and-taints local-zone-pool mig-bottlerocket pools-by-every-field private "
    "reservations-in-pools storage-most time-slicing wavelength-pool"
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
