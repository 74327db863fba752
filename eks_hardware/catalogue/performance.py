"""Peak compute and memory bandwidth of accelerators, and the share of the peak that real runs reach.

The figures are in ``config/performance/accelerators.json``, each with its source; ``None`` means that no source was
found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeVar

from eks_hardware import facts
from eks_hardware.catalogue.model import Accelerator

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.catalogue import DelayRow, UtilizationRow

    _Row = TypeVar("_Row", UtilizationRow, DelayRow)

_MEMORY_TOLERANCE_GIB = 1.0


@dataclass(frozen=True)
class Performance:
    """The limits on the speed of one accelerator.

    Attributes:
        tflops: peak by number format (``fp16``, ``bf16``, ``fp8``, ``int8``, ``tf32``, ``fp32``) in TFLOPS (TOPS for
            ``int8``), dense: never the figure "with sparsity". Formats that it does not compute are missing.
        bandwidth_gb_per_second: bandwidth of its own memory in GB/s (10^9 bytes).
        link: link to the other accelerators of the instance: ``NVLink``, ``NeuronLink-v2``, ``PCIe``, ...
        link_gb_per_second: bandwidth of that link in GB/s as the vendor counts it; for NVLink and PCIe both directions
            together.
        host_gb_per_second: bandwidth of its PCIe link to node memory, in GB/s, both directions together.
    """

    tflops: Mapping[str, float | None]
    bandwidth_gb_per_second: float | None
    link: str | None
    link_gb_per_second: float | None
    host_gb_per_second: float | None = None

    def compute_format(self, weights: str) -> str | None:
        """Return the number format in which a model with such weights is computed; None for an unknown accelerator.

        Weights of 4 and 8 bits are expanded to 16 bits before multiplication, except FP8 on hardware that supports it
        (https://docs.vllm.ai/en/latest/features/quantization/). Without BF16, the 16-bit format is FP16.
        """
        if not self.tflops:
            return None
        if weights in self.tflops and weights not in ("int8", "int4"):
            return weights
        return "bf16" if "bf16" in self.tflops else "fp16"

    def peak_tflops(self, weights: str) -> float | None:
        """Return the dense peak in TFLOPS for a model with weights in a format: ``bf16``, ``fp8``, ``int4``, ..."""
        computed_in = self.compute_format(weights)
        return None if computed_in is None else self.tflops.get(computed_in)

    def peak_of_encoder(self, weights: str) -> float | None:
        """Return the peak in TFLOPS for an encoder on a GPU: with int8 weights the int8 peak, if known and higher.

        TensorRT engines quantize an encoder's activations, too, and multiply in int8
        (https://github.com/NVIDIA/TensorRT/tree/main/demo/BERT).
        """
        widened = self.peak_tflops(weights)
        own = self.tflops.get("int8") if weights == "int8" else None
        return max(own, widened) if own and widened else widened


_UNKNOWN = Performance({}, None, None, None)


def performance(accelerator: Accelerator) -> Performance:
    """Return the known performance of an accelerator; all figures of an accelerator without a row are unknown."""
    if accelerator.fraction is not None:
        return _UNKNOWN  # how much of the GPU's speed a fraction has is unknown
    rows = _rows().get(accelerator.name, ())
    return next((known for memory_gib, known in rows if _is_of(accelerator, memory_gib)), _UNKNOWN)


@cache
def slowest_link(link: Literal["link_gb_per_second", "host_gb_per_second"]) -> float:
    """Return the lowest known bandwidth of a kind of link, for accelerators whose own is unknown."""
    return min(value for row in facts.performance()["accelerators"] if (value := row[link]) is not None)


@cache
def utilization(step: str, kind: str, accelerator: str | None = None) -> UtilizationRow | None:
    """Return the share of the peak that is reached; None if no figure is published.

    Args:
        step: such as ``training``, ``prefill`` and ``encoder`` for the peak compute, ``decode`` for the memory
            bandwidth, or ``experts`` for the speed of experts. A step can name a format: ``decode in int4``.
        kind: kind of accelerator: ``gpu``, ``neuron``.
        accelerator: its name. A row that names it comes before the row for the whole kind.
    """
    return _closest(facts.performance()["utilization"], step, kind, accelerator)


@cache
def delay(step: str, kind: str, accelerator: str | None = None) -> DelayRow | None:
    """Return a part of the time of a pass that neither peak explains; None if nothing is known.

    Args:
        step: such as ``layer`` for every layer, ``exchange`` for the exchanges of a layer between devices, or ``pass``
            for a whole pass of an encoder.
        kind: kind of accelerator: ``gpu``, ``neuron``.
        accelerator: its name. A row that names it comes before the row for the whole kind.
    """
    return _closest(facts.performance()["delays"], step, kind, accelerator)


def _closest(rows: Sequence[_Row], step: str, kind: str, accelerator: str | None) -> _Row | None:
    fitting = [row for row in rows if (row["step"], row["kind"]) == (step, kind)]
    named = (row for row in fitting if accelerator in row.get("accelerators", ()))
    return next(named, next((row for row in fitting if "accelerators" not in row), None))


def _is_of(accelerator: Accelerator, memory_gib: float | None) -> bool:
    if memory_gib is None:
        return True
    each = accelerator.memory_gib_each
    return each is not None and abs(each - memory_gib) < _MEMORY_TOLERANCE_GIB


@cache
def _rows() -> dict[str, list[tuple[float | None, Performance]]]:
    rows: dict[str, list[tuple[float | None, Performance]]] = {}
    for row in facts.performance()["accelerators"]:
        known = Performance(
            tflops=row["tflops"],
            bandwidth_gb_per_second=row["bandwidth_gb_per_second"],
            link=row["link"],
            link_gb_per_second=row["link_gb_per_second"],
            host_gb_per_second=row["host_gb_per_second"],
        )
        rows.setdefault(row["accelerator"], []).append((row.get("memory_gib"), known))
    return rows
