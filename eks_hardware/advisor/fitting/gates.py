"""Conditions that hardware must meet regardless of cost: requirements of the software, and availability.

The rules for ``needs`` also use number formats and frameworks. Both get their facts from ``eks_hardware.software``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal

from eks_hardware import facts, software
from eks_hardware.advisor.model import Gate, Maturity, Prominent, Request
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.models import WorkloadSpec
from eks_hardware.software import chip_of
from eks_hardware.spellings import CAPACITY
from eks_hardware.versions import parts

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import NeuronLibrary

_COMPUTED = ("fp32", "fp16", "bf16")
_CATALOGUE = "config/catalogue/instances.json"


def use(workload: WorkloadSpec) -> Literal["training", "inference"]:
    """Return what a workload uses its framework for, by the key in the facts."""
    return "training" if workload.learns else "inference"


def compute_format(request: Request, kind: InstanceType) -> str:
    """Return the format that a device computes in: by default bf16, or fp16 on a device without bf16."""
    precision = request.workload.precision
    if precision in _COMPUTED:
        return str(precision)
    return "fp16" if software.computes(kind, "bf16") is False else "bf16"


def product_format(request: Request, kind: InstanceType) -> str:
    """Return the format in which training multiplies weights: FP8 if the workload sets it, or the compute format."""
    return "fp8" if request.workload.precision == "fp8" else compute_format(request, kind)


def weight_format(request: Request, kind: InstanceType) -> str:
    """Return the format of the weights: the workload's, the checkpoint's, or the compute format."""
    workload, quantized = request.workload, request.shape.quantized_to
    if not workload.learns:
        if workload.precision is not None:
            return workload.precision
        # A chip's software converts some checkpoints to 16 bits when it loads them.
        if quantized and quantized not in facts.memory()["weight_only"]["widened"].get(chip_of(kind), ()):
            return quantized
    return compute_format(request, kind)


# --- availability


@cache
def type_gates(kind: InstanceType, purchase: tuple[str, ...], learns: bool) -> tuple[Gate, ...]:
    """Return failed gates that depend on the type itself: withdrawn, without an AMI, or with a fraction of a GPU.

    They are the same for every request with these purchasing options, and every search needs them for all types.
    """
    gates = list(_unusable(kind))
    if kind.hardware is Hardware.OTHER:
        return tuple(gates)
    if kind.accelerator and kind.accelerator.fraction and learns:
        text = (
            f"{kind.name} has {kind.accelerator.fraction:g} of one {kind.accelerator.name}; training needs a whole GPU"
        )
        gates.append(Gate("FRACTION", False, text, _CATALOGUE))
    if not sold_as(purchase, kind):
        text = f"{kind.name} is not available as {' or '.join(purchase)}, only as {' or '.join(kind.usage_classes)}"
        gates.append(Gate("PURCHASE", False, text, _CATALOGUE))
    return tuple(gates)


@cache
def _unusable(kind: InstanceType) -> tuple[Gate, ...]:
    """Return a type's failed gates that are the same for every request."""
    unusable = []
    if kind.withdrawn:
        unusable.append(Gate("WITHDRAWN", False, f"{kind.name}: {kind.withdrawn}", kind.source))
    if kind.hardware is Hardware.OTHER:
        text = f"{chip_of(kind) or kind.name} is neither an NVIDIA GPU nor Trainium, Inferentia or a CPU"
        unusable.append(Gate("HARDWARE", False, text, _CATALOGUE))
    elif not kind.ami_types or kind.ami_types == ("CUSTOM",):
        needs = f": it needs NVIDIA driver {kind.minimum_nvidia_driver}" if kind.minimum_nvidia_driver else ""
        text = f"no EKS AMI supports {kind.family}{needs}"
        unusable.append(Gate("AMI", False, text, "config/catalogue/ami_types.json"))
    return tuple(unusable)


@cache
def sold_as(wanted: tuple[str, ...], kind: InstanceType) -> tuple[str, ...]:
    """Return the requested purchasing options that are available for a type."""
    return tuple(name for name in wanted if CAPACITY[name].usage_class in kind.usage_classes)


def joins(request: Request, kind: InstanceType) -> bool:
    """Return whether several nodes of a type can be joined: by EFA, unless the request allows TCP."""
    return request.efa is False or kind.supports_efa


# --- requirements of the software


def software_gates(request: Request, kind: InstanceType) -> Iterator[Gate]:
    """Yield gates that are the same for all types of a family with the same accelerator."""
    if kind.hardware is Hardware.OTHER:
        return
    yield from _framework(request, kind)
    yield from _precision(request, kind)
    if request.workload.attention:
        yield _attention(request.workload.attention, kind)
    if kind.hardware.is_neuron:
        yield from _neuron(request, kind)


def _name(kind: InstanceType) -> str:
    if kind.accelerator is None:
        return f"an {kind.architecture} CPU"
    capability = software.capability(kind)
    return kind.accelerator.name if capability is None else f"{kind.accelerator.name} ({capability})"


def _framework(request: Request, kind: InstanceType) -> Iterator[Gate]:
    framework = request.workload.framework
    if framework is None:
        return
    fact = facts.software()["frameworks"]
    row = fact["by_name"][framework]
    passed: bool | None
    family = "neuron" if kind.hardware.is_neuron else kind.hardware.value
    if request.workload.learns and framework in facts.memory()["inference"]["serving_only"]:
        passed, text = False, f"{framework} serves models and cannot train them"
    elif family not in row["hardware"]:
        passed, text = False, f"{framework} does not run on {_name(kind)}"
    elif kind.hardware is Hardware.NVIDIA_GPU:
        gate = row.get("gate", {})
        passed = software.passes(gate, software.capability(kind)) if gate else True
        limit = f" requires {software.shown(gate)}" if gate else " has no known limit"
        text = f"{framework}{limit}: {_name(kind)}"
    elif kind.hardware is Hardware.CPU:
        passed, text = True, f"{framework} runs on CPUs"
    else:
        ranges = software.sdk_ranges(kind, framework, use(request.workload))
        passed = None if ranges is None else bool(ranges)
        what = f"{row['neuron_name']} for {use(request.workload)} on {_name(kind)}"
        text = {
            None: f"Neuron's support for {what} is unknown",
            True: f"Neuron supports {what}",
            False: f"Neuron does not support {what}",
        }[passed]
    yield Gate("FRAMEWORK", passed, text, fact["source"])


def _precision(request: Request, kind: InstanceType) -> Iterator[Gate]:
    workload, kept, computed = request.workload, weight_format(request, kind), compute_format(request, kind)
    if kept in _COMPUTED or workload.learns:
        computed = product_format(request, kind) if workload.learns else computed
        passed = software.computes(kind, computed)
        narrow = computed == "fp16" and workload.precision is None
        text = f"{_name(kind)} {_DOES[passed]} {computed}{', but not bf16' if narrow else ''}"
        if narrow and workload.learns:
            text = Prominent(f"{text}: train with loss scaling")
        yield Gate(computed.upper(), passed, text, facts.software()["precision"]["source"], notable=narrow)
    else:
        yield _quantized(kind, kept)
    if workload.method == "qlora":
        yield _qlora(kind)
    if workload.offload and kind.hardware is not Hardware.NVIDIA_GPU:
        text = f"support for offloading to node memory when training on {_name(kind)} is unknown"
        yield Gate("OFFLOAD", None, text, facts.memory()["training"]["source"])
    if workload.kv_cache_precision:
        yield _cache(kind, workload.kv_cache_precision)


def _qlora(kind: InstanceType) -> Gate:
    gate = _quantized(kind, "int4")
    passed = gate.passed if kind.hardware is Hardware.NVIDIA_GPU else None if kind.accelerator is None else False
    verb = {True: "has", False: "does not have", None: "may not have"}[passed]
    text = f"{_name(kind)} {verb} the bitsandbytes kernels that QLoRA's 4-bit weights require"
    return Gate("QLORA", passed, text, facts.memory()["weight_only"]["source"])


def _cache(kind: InstanceType, kept: str) -> Gate:
    """Return whether a device's attention kernels read a KV cache in a format; yes if it computes in the format."""
    weights = _quantized(kind, kept)
    passed = True if software.computes(kind, kept) else False if weights.passed is False else None
    verb = {True: "has kernels", False: "has no kernels", None: "might have no kernels"}[passed]
    text = f"{_name(kind)} {verb} for an {kept} KV cache"
    return Gate(f"{kept.upper()}_CACHE", passed, text, "https://docs.vllm.ai/en/latest/features/quantization/")


_DOES = {True: "supports", False: "does not support", None: "may or may not support"}


def _quantized(kind: InstanceType, kept: str) -> Gate:
    """Return whether a device runs quantized weights, natively or widened to 16 bits (weight-only)."""
    fact, code = facts.memory()["weight_only"], kept.upper()
    if kept in ("fp8", "int8", "nvfp4") and software.computes(kind, kept):
        return Gate(code, True, f"{_name(kind)} supports {kept}", facts.software()["precision"]["source"])
    passed: bool | None
    if kind.hardware is Hardware.NVIDIA_GPU:
        gate = fact["nvidia"].get(kept)
        passed = software.passes(gate, software.capability(kind)) if gate else software.computes(kind, kept)
    elif kind.accelerator:
        passed = fact["others"].get(kind.accelerator.name, fact["others"]["neuron"])[kept]
    else:
        passed = fact["others"][kind.architecture].get(kept)
    verb = {True: "has kernels", False: "has no kernels", None: "might have no kernels"}[passed]
    text = f"{_name(kind)} {verb} for {kept} weights" + (", which compute in 16 bits" if passed else "")
    if passed and kept in ("fp8", "nvfp4") and kind.hardware is Hardware.NVIDIA_GPU:
        text = Prominent(f"no {kept} arithmetic: {text}")
    return Gate(code, passed, text, fact["source"], notable=True)


def _attention(kernel: str, kind: InstanceType) -> Gate:
    fact = facts.software()["attention"]
    if kind.hardware is not Hardware.NVIDIA_GPU:
        text = f"{kernel} is a CUDA kernel, but {_name(kind)} is not an NVIDIA GPU"
        return Gate("FLASH_ATTENTION", False, text, fact["source"])
    text = f"{kernel} requires {software.shown(fact['kernels'][kernel])}: {_name(kind)}"
    return Gate("FLASH_ATTENTION", software.attends(kind, kernel), text, fact["source"])


def _neuron(request: Request, kind: InstanceType) -> Iterator[Gate]:
    name = chip_of(kind)
    if request.workload.learns:
        fact = facts.software()["neuron_chips"]
        status = fact["training"].get(name)
        passed = None if status is None else status != "unsupported"
        words = {
            "small": "supports training, but has no EFA and is sold for inference",
            "supported": "supports training",
        }
        text = f"{name} {words.get(status or '', 'does not support training')}"
        yield Gate("NEURON_TRAINING", passed, text, fact["source"], notable=status == "small")
    listed = facts.neuron_models()[use(request.workload)]
    libraries = neuron_libraries(request, kind)
    architecture = request.shape.architecture
    if libraries:
        text = f"{architecture} on {name}: {libraries[0]['name']}"
    elif architecture:
        text = f"no Neuron model list includes {architecture} for {use(request.workload)} on {name}"
    else:
        text = "the model's architecture is not given, so Neuron's model lists cannot be searched"
    yield Gate("NEURON_MODEL", True if libraries else None, text, listed["source"])


def neuron_libraries(request: Request, kind: InstanceType) -> tuple[NeuronLibrary, ...]:
    """Return the Neuron libraries that list the architecture for a chip and use, for the requested framework."""
    wanted = request.workload.framework
    rows = facts.neuron_models()[use(request.workload)]["libraries"]
    named = (row for row in rows if chip_of(kind) in row["chips"] and request.shape.architecture in row["types"])
    return tuple(row for row in named if wanted in (None, row["framework"]))


# --- maturity

MATURITIES: tuple[Maturity, ...] = ("mature", "maintenance", "beta", "archived", "unknown")


def maturity(request: Request, kind: InstanceType) -> tuple[Maturity, str]:
    """Return the maturity of the software for a request on a type, and why. The most mature framework counts."""
    framework = request.workload.framework
    if kind.hardware is Hardware.NVIDIA_GPU:
        support = software.cuda_support(kind)
        if support is None:
            return "unknown", f"the CUDA versions that support {_name(kind)} are unknown"
        if support.last is not None:
            return "maintenance", f"CUDA {support.last} is the last version that supports {_name(kind)}"
        row = facts.software()["frameworks"]["by_name"].get(framework or "")
        tuned = row.get("tuned") if row else None
        if tuned and kind.accelerator and kind.accelerator.name not in tuned["for"]:
            return "maintenance", f"{framework} is not tuned for {_name(kind)}, and runs {tuned['others']}"
        return "mature", f"CUDA and its frameworks on {_name(kind)}"
    if kind.hardware is Hardware.CPU:
        return "mature", "frameworks run on CPUs without changes"
    if not kind.hardware.is_neuron or kind.accelerator is None:
        return "unknown", f"software for {kind.name} is unknown"
    if last := facts.software()["neuron_chips"]["archived"].get(kind.accelerator.name):
        return "archived", f"Neuron {last} is the last SDK that supports {kind.accelerator.name}"
    names = [framework] if framework else _frameworks(request)
    found = [stand for name in names if (stand := _stand(kind, name, use(request.workload)))]
    if not found:
        return "unknown", f"no framework is known for {use(request.workload)} on {kind.accelerator.name}"
    return min(found, key=lambda each: MATURITIES.index(each[0]))


def _frameworks(request: Request) -> list[str]:
    """Return the frameworks to consider if the request names none."""
    usual = facts.ranking()["frameworks"]
    if request.workload.learns:
        return usual["training"]
    if request.workload.task == "inference" and request.shape.generates is not False:
        return usual["generation"]
    return list(facts.software()["frameworks"]["by_name"])


def _stand(kind: InstanceType, framework: str, purpose: str) -> tuple[Maturity, str] | None:
    """Return a framework's maturity on a Neuron chip in the newest SDK; None if no SDK supported it on this chip."""
    fact = facts.software()["frameworks"]
    ranges = software.sdk_ranges(kind, framework, purpose)
    if not ranges:
        return None
    newest, name = fact["newest_sdk"], fact["by_name"][framework]["neuron_name"]
    current = [sdk_range for sdk_range in ranges if sdk_range.has(newest)]
    if not current:
        last = max((sdk_range.last for sdk_range in ranges if sdk_range.last), key=parts)
        return "archived", f"Neuron {last} is the last SDK with {name} on {kind.family}; the newest is {newest}"
    status = current[0].status
    if status is None:
        return "mature", f"{name} on {kind.family}"
    return ("maintenance" if "maintenance" in status else "beta"), f"{name} on {kind.family} is {status}"
