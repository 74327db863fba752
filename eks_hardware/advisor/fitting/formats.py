"""Number formats and fine-tuning methods that need less memory than those of a request."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.advisor.fitting.gates import weight_format
from eks_hardware.advisor.model import Request
from eks_hardware.catalogue import InstanceType

_FORMATS = ("fp8", "int4")
_QUALITY = "compare its answers with the full model's on your own data first"
_METHODS = {
    "full": ("lora", "adapters can be less accurate than full fine-tuning: compare both on a small run first"),
    "lora": ("qlora", "4-bit weights lose some accuracy: compare both on a small run first"),
}


def narrower(request: Request, kind: InstanceType) -> Iterator[tuple[Request, str, str]]:
    """Yield variants of a request that need less memory, closest first, each with its option and a caveat."""
    workload = request.workload
    if workload.task == "fine-tuning":
        method = workload.method or "full"
        if method in _METHODS:
            smaller, caveat = _METHODS[method]
            yield request.with_workload(method=smaller), f"--task {smaller}", caveat
        return
    if workload.learns or request.shape.generates is False or workload.task != "inference":
        return
    if workload.kv_cache_precision is None:
        yield request.with_workload(kv_cache_precision="fp8"), "kv_cache_precision: fp8 in a workload file", _QUALITY
    sizes = facts.memory()["formats"]["bytes"]
    for weights in _FORMATS:
        if sizes[weights] < sizes[weight_format(request, kind)]:
            yield request.with_workload(precision=weights), f"--precision {weights}", _QUALITY
