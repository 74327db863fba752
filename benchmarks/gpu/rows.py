"""The rows of a measured case, the EC2 type for a GPU, and the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from benchmarks.gpu.plan import Case
from eks_hardware.catalogue import Hardware, InstanceType, load

Row = dict[str, Any]

_GIB = 1024**3
_MS = 1000
_WIDTH = 1000
_EQUAL = 0.15  # memory that software sees differs by less from the EC2 API's figure; two sizes of a GPU by more
_EXPANDED = "PyTorch alone expands 4-bit weights with several kernels per matrix: no library does"
_WAITED = "the GPU waited for the processor to start its kernels"
_CONVERTED = "PyTorch alone converts an FP8 cache before attention: no server does"


@dataclass(frozen=True, kw_only=True)
class Device:
    """The device that was measured."""

    name: str  # as its driver names it
    memory_gib: float
    software: str  # versions


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The result of a case. None means not measured."""

    seconds: float | None = None  # of one step or prompt
    peak_bytes: int | None = None  # of allocated memory
    waits_for_cpu: bool = False  # whether the GPU waited for the processor to start its kernels
    out_of_memory: bool = False


class UnknownDeviceError(ValueError):
    """Raised for a GPU that no instance type has."""


def instance_type(device: Device) -> str:
    """Return the type with the fewest of these GPUs, such as p5.4xlarge for `NVIDIA H100 80GB HBM3`.

    Raises:
        UnknownDeviceError: no type in the catalogue has such GPUs.
    """
    words = set(_words(device.name))
    found = [each for each in load().select() if _has(each, words, device.memory_gib)]
    if not found:
        raise UnknownDeviceError(
            f"no EC2 type has the GPU {device.name} with {device.memory_gib:.0f} GiB; set --instance-type"
        )
    return min(found, key=lambda each: (each.accelerator.count if each.accelerator else 0, each.memory_gib)).name


def _has(kind: InstanceType, words: set[str], memory_gib: float) -> bool:
    chip = kind.accelerator
    if chip is None or chip.fraction or kind.hardware is not Hardware.NVIDIA_GPU or not chip.memory_gib_each:
        return False
    return set(_words(chip.name)) <= words and abs(memory_gib / chip.memory_gib_each - 1) <= _EQUAL


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def rows(case: Case, found: Measured, *, kind: str, chip: str, only_a_test: str = "") -> Iterator[Row]:
    """Yield a case's rows on one GPU of a type. ``only_a_test`` is the reason why the rows must not be compared."""
    base = _base(case, kind)
    not_expressed = {"not_expressed": only_a_test} if only_a_test else {}
    name = f"{_slug(chip)}-{case.name}"
    if found.out_of_memory:
        yield {"id": f"{name}-fits", "kind": "fits", **base, "figure": False, "unit": "fits", **not_expressed}
        return
    if found.peak_bytes is not None:
        of = "memory-training" if case.work == "training" else "memory-inference"
        figure = round(found.peak_bytes / _GIB, 2)
        yield {"id": f"{name}-memory", "kind": of, **base, "figure": figure, "unit": "GiB", **not_expressed}
    if found.seconds is not None:
        if (why := _no_comparison(case, found)) and not only_a_test:
            not_expressed = {"not_expressed": why}
        yield {"id": f"{name}-speed", **_speed(case, found.seconds, base), **not_expressed}


def _no_comparison(case: Case, found: Measured) -> str | None:
    if case.kv_cache == "fp8":
        return _CONVERTED
    if case.method == "qlora":
        return _EXPANDED
    return _WAITED if found.waits_for_cpu else None


def _base(case: Case, kind: str) -> Row:
    row: Row = {"model": case.model, "instance_type": kind, "devices": 1, "precision": "bf16"}
    if case.work == "training":
        row |= {"method": case.method, "optimizer": "adamw", "checkpointing": case.checkpointing}
    elif case.kv_cache == "fp8":
        row["kv_cache"] = "fp8"
    row |= {"sequences": case.sequences, "input_tokens": case.tokens}
    return row if case.work == "training" else {**row, "output_tokens": 1}


def _speed(case: Case, seconds: float, base: Row) -> Row:
    if case.work == "training":
        figure = case.sequences * case.tokens / seconds
        return {"kind": "training-speed", **base, "figure": round(figure, 1), "unit": "tokens/s"}
    figure = round(seconds * _MS, 3)
    if case.work == "prompt":
        return {"kind": "serving-latency", **base, "figure": figure, "unit": "ms to the first token"}
    return {"kind": "decode", **base, "figure": figure, "unit": "ms per token"}


def _slug(text: str) -> str:
    return "-".join(_words(text))


def text(device: Device, found: Sequence[Mapping[str, Any]], *, day: str) -> str:
    """Return the file's text, one row per line."""
    head = {
        "source": "own measurements with python -m benchmarks.gpu",
        "published": day,
        "as_of": day,
        "software": device.software,
        "note": f"One {device.name} with {device.memory_gib:.1f} GiB. Random weights. Memory: peak of the allocated "
        "memory. Prompts and steps of generation without a server; steps as one CUDA graph.",
    }
    lines = [yaml.safe_dump(head, sort_keys=False, width=_WIDTH), "rows:\n"]
    lines += [f"  - {_inline(row)}\n" for row in found]
    return "".join(lines)


def _inline(row: Mapping[str, Any]) -> str:
    said: str = yaml.safe_dump(dict(row), sort_keys=False, default_flow_style=True, width=_WIDTH)
    return said.strip()
