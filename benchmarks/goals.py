"""The goals for the estimates, whether the reserved measurements meet them, and the reasons for large errors."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from eks_hardware.advisor.measured.outcomes import MEMORY, Outcome
from eks_hardware.catalogue import Hardware, load

SERVING = ("serving-throughput", "serving-latency")
_FITS, _WITHIN, _MEDIAN_ERROR, _WORST_ERROR = 0.98, 0.86, 0.08, 0.25
_MIDDLE = (0.9, 1.1)
_SHOWN = 10
_FAR, _FAR_MEMORY = 1.5, 0.2

WHY = {
    "memory, largest error": "Qwen3 30B with torchtitan on B200: the source does not state which expert "
    "products selective checkpointing keeps; the estimate keeps every second product. Full training with PyTorch "
    "alone never keeps all 16-bit weights and all gradients in memory at once. DeepSpeed and Megatron do, and the "
    "estimate counts both. QLoRA on Qwen 14B needs half as much activation memory as LoRA on the same page; the "
    "source gives no reason. These estimates are too high.",
    "training, B200": "Five rows. Three are mixtures of experts with Megatron Bridge. The share of experts in FP8 "
    "is fitted to Qwen3, whose experts are small; DeepSeek V3 reaches more. GPT-OSS in BF16 reaches less than Qwen3 "
    "with torchtitan, the other calibration row. Two are the same LoRA run of MLPerf, with software from April and "
    "from September 2025: the later run is a sixth faster.",
    "training, GB200": "Five rows. The rows below 0.9 have 4 to 16 pipeline stages. Interleaved stages wait less "
    "than estimated. DeepSeek V3 reaches more than Qwen3, to which the share of experts in FP8 is fitted.",
    "training, Trainium": "Three rows. BERT in FP32 reaches twice the share of its peak that BF16 runs reach: Neuron's "
    "compiler multiplies FP32 numbers in BF16 by default. With the BF16 peak, the estimate would be twice as fast as "
    "the measurement, and no calibration row is in FP32. The calibration rows differ by a factor of 1.6.",
}
"""Reasons for goals that are not met."""


class Goal(NamedTuple):
    """A figure, its goal, its result, whether the goal is met, and the outcomes that it covers."""

    what: str
    goal: str
    result: str
    met: str
    found: Sequence[Outcome]


def goals(found: Sequence[Outcome]) -> Iterator[Goal]:
    """Yield the goals with their results. Ratios are estimated / measured speed: above 1, the estimate is too fast."""
    fits = [each for each in found if each.row["kind"] == "fits" and each.estimate is not None]
    correct = sum(each.within(1) for each in fits) / len(fits)
    yield _row("fits or not", f"{_FITS:.0%} correct", f"{correct:.0%} of {len(fits)}", correct >= _FITS, fits)
    memory = [each for each in found if each.ratio is not None and each.row["kind"] in MEMORY]
    errors = [abs(each.ratio - 1) for each in memory if each.ratio is not None]
    middle, worst = median(errors), max(errors)
    yield _row(
        "memory, median error",
        f"{_MEDIAN_ERROR:.0%}",
        f"{middle:.0%} of {len(errors)}",
        middle <= _MEDIAN_ERROR,
        memory,
    )
    past = [each for each in memory if not _near(each, _WORST_ERROR)]
    yield _row("memory, largest error", f"{_WORST_ERROR:.0%}", f"{worst:.0%}", worst <= _WORST_ERROR, past)
    serving = [
        each for each in found if each.row["kind"] in SERVING and each.ratio is not None and not _is_neuron(each)
    ]
    ratios = _ratios(serving)
    share = sum(1 / 1.5 <= each <= 1.5 for each in ratios) / len(ratios)
    result = f"{share:.0%} of {len(ratios)}"
    yield _row("serving, GPUs", f"{_WITHIN:.0%} within 1.5x", result, share >= _WITHIN, serving)
    yield _median("serving, GPUs", serving, *_MIDDLE)
    decode = [each for each in found if each.row["kind"] == "decode" and each.ratio is not None and _is_neuron(each)]
    yield _median("decode, Neuron", decode, 1 / 1.5, 1.5)
    for name, kind, limits in (
        ("encoders", "encoder-throughput", (1 / 1.3, 1.3)),
        ("training", "training-speed", _MIDDLE),
    ):
        rated = [each for each in found if each.row["kind"] == kind and each.ratio is not None]
        for chip in sorted({each.chip for each in rated}):
            yield _median(f"{name}, {chip}", [each for each in rated if each.chip == chip], *limits)


def reasons(found: Sequence[Outcome]) -> Iterator[str]:
    """Yield a sentence for each missed goal: the reason, and the rows with their ratios, the largest error first."""
    for each in goals(found):
        if each.met == "no":
            shown = farthest(each.found)
            rows = ", ".join(f"{one.row['id']} {one.speed_ratio:.2f}" for one in shown)
            more = f", and {len(each.found) - len(shown)} closer ones" if len(each.found) > len(shown) else ""
            why = WHY.get(each.what, "no reason is known.")
            yield f"- {each.what}, {each.result}, goal {each.goal}: {why} Rows: {rows}{more}."


def farthest(found: Sequence[Outcome]) -> list[Outcome]:
    """Return the rows with the largest errors, at most ten."""
    return sorted(found, key=lambda each: abs(math.log(each.speed_ratio or 1)), reverse=True)[:_SHOWN]


def far_off(found: Iterable[Outcome]) -> list[Outcome]:
    """Return the rows whose estimates are off by a factor of more than 1.5, or by more than 20% of the memory."""
    return [each for each in found if each.ratio and not _near(each, _FAR_MEMORY)]


def _near(each: Outcome, memory_error: float) -> bool:
    if each.row["kind"] in MEMORY:
        return abs((each.ratio or 1) - 1) <= memory_error
    return each.within(_FAR)


@cache
def far_off_reasons() -> dict[str, list[dict[str, Any]]]:
    """Return the reasons for rows and for chips' medians."""
    data = json.loads(Path(__file__).with_name("far_off.json").read_text(encoding="utf-8"))
    return {"rows": data["rows"], "chips": data["chips"]}


def far_rows(found: Sequence[Outcome]) -> Iterator[str]:
    """Yield a line for each reason why estimates are far off: the rows with their ratios, the reason, the source."""
    far = far_off(found)
    for reason in far_off_reasons()["rows"]:
        rows = [each for each in far if explains(reason, each)]
        named = ", ".join(f"{each.row['id']} {each.speed_ratio:.2f}" for each in rows)
        source = f" Source: {reason['source']}." if "source" in reason else ""
        if rows:
            yield f"- {named}: {reason['why']}{source}"


def explains(reason: dict[str, Any], each: Outcome) -> bool:
    """Return whether a reason applies to a row."""
    return any(fnmatchcase(each.row["id"], pattern) for pattern in reason["rows"])


def _ratios(found: Iterable[Outcome]) -> list[float]:
    return [each.speed_ratio for each in found if each.speed_ratio is not None]


def _is_neuron(each: Outcome) -> bool:
    return load().get(each.row["instance_type"]).hardware is not Hardware.NVIDIA_GPU


def _median(what: str, found: Sequence[Outcome], least: float, most: float) -> Goal:
    ratios = _ratios(found)
    middle = median(ratios)
    result = f"{middle:.2f} of {len(ratios)}"
    return _row(what, f"median {least:.2f} to {most:.2f}", result, least <= middle <= most, found)


def _row(what: str, goal: str, result: str, met: bool, found: Sequence[Outcome]) -> Goal:
    return Goal(what, goal, result, "yes" if met else "no", found)
