"""The goals for the estimates, and whether the reserved measurements meet them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from eks_hardware.advisor.measured.outcomes import MEMORY, Outcome
from eks_hardware.catalogue import Hardware, load

SERVING = ("serving-throughput", "serving-latency")
_FITS, _WITHIN, _MEDIAN_ERROR, _WORST_ERROR = 0.98, 0.86, 0.08, 0.25
_MIDDLE = (0.9, 1.1)

Row = tuple[str, str, str, str]
"""A subject, its goal, the result and whether it is met."""


def goals(found: Sequence[Outcome]) -> Iterator[Row]:
    """Yield the goals with the results of some outcomes. Ratios are of speeds: more than 1 is too fast."""
    fits = [each for each in found if each.row["kind"] == "fits" and each.estimate is not None]
    correct = sum(each.within(1) for each in fits) / len(fits)
    yield _row("fits or not", f"{_FITS:.0%} correct", f"{correct:.0%} of {len(fits)}", correct >= _FITS)
    errors = [abs(each.ratio - 1) for each in found if each.ratio is not None and each.row["kind"] in MEMORY]
    middle, worst = median(errors), max(errors)
    yield _row(
        "memory, median error", f"{_MEDIAN_ERROR:.0%}", f"{middle:.0%} of {len(errors)}", middle <= _MEDIAN_ERROR
    )
    yield _row("memory, largest error", f"{_WORST_ERROR:.0%}", f"{worst:.0%}", worst <= _WORST_ERROR)
    serving = _ratios(each for each in found if each.row["kind"] in SERVING and not _is_neuron(each))
    share = sum(1 / 1.5 <= each <= 1.5 for each in serving) / len(serving)
    yield _row("serving, GPUs", f"{_WITHIN:.0%} within 1.5x", f"{share:.0%} of {len(serving)}", share >= _WITHIN)
    yield _median("serving, GPUs", serving, *_MIDDLE)
    decode = _ratios(each for each in found if each.row["kind"] == "decode" and _is_neuron(each))
    yield _median("decode, Neuron", decode, 1 / 1.5, 1.5)
    encoders = [each for each in found if each.row["kind"] == "encoder-throughput" and each.ratio is not None]
    for chip in sorted({each.chip for each in encoders}):
        yield _median(f"encoders, {chip}", _ratios(each for each in encoders if each.chip == chip), 1 / 1.3, 1.3)
    training = [each for each in found if each.row["kind"] == "training-speed" and each.ratio is not None]
    for chip in sorted({each.chip for each in training}):
        yield _median(f"training, {chip}", _ratios(each for each in training if each.chip == chip), *_MIDDLE)


def _ratios(found: Iterable[Outcome]) -> list[float]:
    return [each.speed_ratio for each in found if each.speed_ratio is not None]


def _is_neuron(each: Outcome) -> bool:
    return load().get(each.row["instance_type"]).hardware is not Hardware.NVIDIA_GPU


def _median(what: str, ratios: Sequence[float], least: float, most: float) -> Row:
    middle = median(ratios)
    return _row(what, f"median {least:.2f} to {most:.2f}", f"{middle:.2f} of {len(ratios)}", least <= middle <= most)


def _row(what: str, goal: str, result: str, met: bool) -> Row:
    return what, goal, result, "yes" if met else "no"
