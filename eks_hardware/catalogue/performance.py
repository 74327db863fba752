"""How fast an accelerator computes and reads its memory at most, and what share of that real runs reach.

The figures are in ``config/performance/accelerators.json``, each with its source; ``None`` means that none was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.catalogue.model import Accelerator

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.catalogue import UtilizationRow

_MEMORY_TOLERANCE_GIB = 1.0


@dataclass(frozen=True)
class Performance:
    """What bounds the speed of one accelerator.

    Attributes:
        tflops: peak by number format (``fp16``, ``bf16``, ``fp8``, ``int8``, ``tf32``, ``fp32``) in TFLOPS (TOPS for
            ``int8``), dense: never the figure "with sparsity". A format that it does not compute is missing.
        bandwidth_gb_per_second: bandwidth of its own memory in GB/s (10^9 bytes).
        link: what joins it to the others of the instance: ``NVLink``, ``NeuronLink-v2``, ``PCIe``, ...
        link_gb_per_second: bandwidth of that link in GB/s as the vendor counts it; NVLink and PCIe in both
            directions together.
    """

    tflops: Mapping[str, float | None]
    bandwidth_gb_per_second: float | None
    link: str | None
    link_gb_per_second: float | None

    def compute_format(self, weights: str) -> str | None:
        """Return the number format that a model with such weights is computed in; None for an unknown accelerator.

        Weights of 4 and 8 bits are expanded to 16 before they are multiplied, except for FP8 where the hardware has
        it (https://docs.vllm.ai/en/latest/features/quantization/). Without BF16, 16 bits are FP16.
        """
        if not self.tflops:
            return None
        if weights in self.tflops and weights not in ("int8", "int4"):
            return weights
        return "bf16" if "bf16" in self.tflops else "fp16"

    def peak_tflops(self, weights: str) -> float | None:
        """Return the dense peak in TFLOPS for a model whose weights have a format: ``bf16``, ``fp8``, ``int4``, ..."""
        computed_in = self.compute_format(weights)
        return None if computed_in is None else self.tflops.get(computed_in)


_UNKNOWN = Performance({}, None, None, None)


def performance(accelerator: Accelerator) -> Performance:
    """Return what is known of an accelerator's speed; for one without a row, every figure is unknown."""
    if accelerator.fraction is not None:
        return _UNKNOWN  # no source says what share of the GPU's speed a fraction of it gets
    rows = _rows().get(accelerator.name, ())
    return next((known for memory_gib, known in rows if _is_of(accelerator, memory_gib)), _UNKNOWN)


def utilization(step: str, kind: str) -> UtilizationRow | None:
    """Return the share of the peak that is reached; None where nothing is published.

    Args:
        step: ``training`` and ``prefill``, of the peak compute; ``decode``, of the memory bandwidth.
        kind: kind of accelerator: ``gpu``, ``neuron``.
    """
    rows = facts.performance()["utilization"]
    return next((row for row in rows if (row["step"], row["kind"]) == (step, kind)), None)


def _is_of(accelerator: Accelerator, memory_gib: float | None) -> bool:
    if memory_gib is None:
        return True
    each = accelerator.memory_gib_each
    return each is not None and abs(each - memory_gib) < _MEMORY_TOLERANCE_GIB


@cache
def _rows() -> dict[str, list[tuple[float | None, Performance]]]:
    rows: dict[str, list[tuple[float | None, Performance]]] = {}
    for row in facts.performance()["accelerators"]:
        known = Performance(row["tflops"], row["bandwidth_gb_per_second"], row["link"], row["link_gb_per_second"])
        rows.setdefault(row["accelerator"], []).append((row.get("memory_gib"), known))
    return rows
