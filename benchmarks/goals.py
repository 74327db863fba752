"""The goals for the estimates, and whether the reserved measurements meet them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from eks_hardware.advisor.measured.outcomes import MEMORY, Outcome
from eks_hardware.catalogue import Hardware, load

SERVING = ("serving-throughput", "serving-latency")
_FITS, _WITHIN, _MEDIAN_ERROR, _WORST_ERROR = 0.98, 0.86, 0.08, 0.25
_MIDDLE = (0.9, 1.1)

WHY = {
    "memory, median error": "LoRA is within 4%. QLoRA of LitGPT with bitsandbytes needs 15 to 20% more than the sum of "
    "its parts, in calibration rows too; the cause is unknown. QLoRA of torchtune has bf16 adapters on fewer matrices "
    "than the advisor assumes. FasterTransformer reads all prompts of a batch at once, newer servers at most 8,192 "
    "tokens.",
    "training, B200": "One row, a mixture of experts with Megatron Bridge. The two calibration rows of B200 are 1.3 "
    "times too fast with this stack and 1.3 times too slow with torchtitan. No run of a dense model in BF16 is "
    "published.",
    "training, B300": "One row, of the same model and stack as that of B200.",
    "training, Trainium": "Three rows. BERT in FP32 reaches twice the share of the FP32 peak that BF16 runs reach of "
    "theirs, and no calibration row is in FP32. The calibration rows differ by a factor of 1.6.",
}
"""Reasons for goals that are not met."""


class Goal(NamedTuple):
    """A subject, its goal, the result, whether it is met, and the outcomes that it is about."""

    what: str
    goal: str
    result: str
    met: str
    found: Sequence[Outcome]


def goals(found: Sequence[Outcome]) -> Iterator[Goal]:
    """Yield the goals with the results of some outcomes. Ratios are of speeds: more than 1 is too fast."""
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
    yield _row("memory, largest error", f"{_WORST_ERROR:.0%}", f"{worst:.0%}", worst <= _WORST_ERROR, memory)
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
    """Yield a sentence for each goal that is not met: why, and its rows with estimated / measured."""
    for each in goals(found):
        if each.met == "no":
            rows = ", ".join(f"{one.row['id']} {one.speed_ratio:.2f}" for one in each.found)
            why = WHY.get(each.what, "no reason is known.")
            yield f"- {each.what}, {each.result}, goal {each.goal}: {why} Rows: {rows}."


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
