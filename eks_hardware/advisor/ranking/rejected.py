"""Why families have no candidate, and the closest types if nothing fits."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from eks_hardware.advisor.model import Miss, Rejection
from eks_hardware.catalogue import Hardware

_MEMORY = "MEMORY"
_NEAREST = 5
# The user cannot fix these.
_FINAL = frozenset({"WITHDRAWN", "BARE_METAL", "BURSTABLE", "HARDWARE", "CPU"})
# The workload fits, but the type is too slow, unpriced or above a limit, has immature software, or joins nodes.
_NEARLY = frozenset({"LATENCY", "PRICE", "PLAN", "QUOTA", "SOFTWARE", "NODES"})


def code_of(miss: Miss) -> str:
    """Return the code of a miss: that of its first gate, or ``MEMORY``."""
    return miss.gates[0].code if miss.gates else _MEMORY


def rejections_of(
    misses: Sequence[Miss], placed: Collection[str], known: Mapping[str, Rejection]
) -> tuple[Rejection, ...]:
    """Return one rejection for each family that is not ``placed``. CPU families with the same reason share one.

    ``known`` has the rejections of families without a type that was tried.
    """
    tried = [miss for miss in misses if miss.kind.family not in known and miss.kind.family not in placed]
    found = {**known, **rejections_by_family(tried)}
    order = dict.fromkeys(miss.kind.family for miss in misses)
    rejections = [found[family] for family in order if family in found]
    accelerated = [each for each in rejections if each.accelerator]
    return (*accelerated, *_cpu_in_one([each for each in rejections if not each.accelerator]))


def rejections_by_family(misses: Iterable[Miss]) -> dict[str, Rejection]:
    """Return the rejection of each family.

    The type that came closest gives the reason. Types that fit but are too slow or have no price come first, then types
    with too little memory, then types that a gate refuses. Among these the most common gate counts.
    """
    families: dict[str, dict[str, list[Miss]]] = {}
    for miss in misses:
        families.setdefault(miss.kind.family, {}).setdefault(code_of(miss), []).append(miss)
    return {family: _rejection(family, by_code) for family, by_code in families.items()}


def _rejection(family: str, misses: Mapping[str, Sequence[Miss]]) -> Rejection:
    code = max(misses, key=lambda each: (each in _NEARLY, each == _MEMORY, len(misses[each])))
    # The largest type of a family was the most likely to fit.
    spoken = min(misses[code], key=lambda miss: (_lacking(miss), -miss.kind.vcpus))
    accelerator = spoken.kind.accelerator
    text = spoken.gates[0].text if spoken.gates else spoken.text
    return Rejection(family, accelerator.name if accelerator else None, code, text)


def _cpu_in_one(rejections: Sequence[Rejection]) -> list[Rejection]:
    by_text: dict[tuple[str, str], list[str]] = {}
    for rejection in rejections:
        by_text.setdefault((rejection.code, rejection.text), []).append(rejection.family)
    return [
        Rejection(names[0] if len(names) == 1 else f"{len(names)} CPU families", None, code, text)
        for (code, text), names in by_text.items()
    ]


def nearest_of(misses: Sequence[Miss]) -> tuple[Miss, ...]:
    """Return the closest misses: one type of each family, the smallest shortfall first."""
    best: dict[str, Miss] = {}
    for miss in sorted(misses, key=_distance):
        if not _FINAL & {gate.code for gate in miss.gates}:
            best.setdefault(miss.kind.family, miss)
    return tuple(best.values())[:_NEAREST]


def _distance(miss: Miss) -> tuple[int, float, bool, int, bool, float]:
    codes = {gate.code for gate in miss.gates}
    chip = miss.kind.accelerator
    stage = 1 if not codes else 0 if codes <= _NEARLY else 2
    memory_gib = (chip.memory_gib_total or 0.0) if chip else 0.0
    # A type that does not support the framework is farther away than one that is only short of memory or has no price.
    foreign = "FRAMEWORK" in codes
    return stage, _lacking(miss), foreign, len(codes), miss.kind.hardware is Hardware.CPU, -memory_gib


def _lacking(miss: Miss) -> float:
    return math.inf if miss.missing_gib is None else miss.missing_gib
