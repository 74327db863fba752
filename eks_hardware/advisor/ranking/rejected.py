"""Why families have no candidate, and what comes nearest where nothing fits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from eks_hardware.advisor.model import Miss, Rejection
from eks_hardware.catalogue import Hardware

_MEMORY = "MEMORY"
_NEAREST = 5
# Nothing a user changes mends these.
_FINAL = frozenset({"WITHDRAWN", "BARE_METAL", "BURSTABLE", "HARDWARE", "CPU"})
# The workload sits there; what is missing is time, or a price.
_NEARLY = frozenset({"LATENCY", "PRICE"})


def code_of(miss: Miss) -> str:
    """The code of a miss: that of its first gate, or ``MEMORY``."""
    return miss.gates[0].code if miss.gates else _MEMORY


def rejections_of(misses: Sequence[Miss], placed: Collection[str]) -> tuple[Rejection, ...]:
    """One rejection for each family without a candidate; CPU families that nobody would try share one.

    The type that came furthest speaks: what sits there and is too slow or has no price before what lacks memory, that
    before what a gate refuses, and among these the most common gate.

    Args:
        misses: every miss.
        placed: families that have a candidate.
    """
    families: dict[str, list[Miss]] = {}
    for miss in misses:
        if miss.kind.family not in placed:
            families.setdefault(miss.kind.family, []).append(miss)
    found = [_rejection(family, those) for family, those in families.items()]
    accelerated = [each for each in found if each.accelerator]
    return (*accelerated, *_cpu_in_one([each for each in found if not each.accelerator]))


def _rejection(family: str, misses: Sequence[Miss]) -> Rejection:
    codes = Counter(map(code_of, misses))
    code = max(codes, key=lambda each: (each in _NEARLY, each == _MEMORY, codes[each]))
    # Of a family the largest type is the one that was most likely to do.
    spoken = min(
        (each for each in misses if code_of(each) == code), key=lambda each: (_lacking(each), -each.kind.vcpus)
    )
    accelerator = spoken.kind.accelerator
    text = spoken.gates[0].text if spoken.gates else spoken.text
    return Rejection(family=family, accelerator=accelerator.name if accelerator else None, code=code, text=text)


def _cpu_in_one(rejections: Sequence[Rejection]) -> tuple[Rejection, ...]:
    by_text: dict[tuple[str, str], list[str]] = {}
    for each in rejections:
        by_text.setdefault((each.code, each.text), []).append(each.family)
    return tuple(
        Rejection(
            family=families[0] if len(families) == 1 else f"{len(families)} CPU families",
            accelerator=None,
            code=code,
            text=text,
        )
        for (code, text), families in by_text.items()
    )


def nearest_of(misses: Sequence[Miss]) -> tuple[Miss, ...]:
    """What comes nearest to a fit: one type of each family, by how little it lacks."""
    best: dict[str, Miss] = {}
    for miss in sorted(misses, key=_distance):
        if not _FINAL & {each.code for each in miss.gates}:
            best.setdefault(miss.kind.family, miss)
    return tuple(best.values())[:_NEAREST]


def _distance(miss: Miss) -> tuple[int, float, bool, int, bool, float]:
    codes = {each.code for each in miss.gates}
    chip = miss.kind.accelerator
    if codes and codes <= _NEARLY:
        stage = 0
    elif not codes:
        stage = 1
    else:
        stage = 2
    memory_gib = (chip.memory_gib_total or 0.0) if chip else 0.0
    # What the framework was not made for is farther than what it only lacks something on.
    foreign = "FRAMEWORK" in codes
    return stage, _lacking(miss), foreign, len(codes), miss.kind.hardware is Hardware.CPU, -memory_gib


def _lacking(miss: Miss) -> float:
    return math.inf if miss.missing_gib is None else miss.missing_gib
