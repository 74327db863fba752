"""Whether a model can move to other hardware: support in Neuron's libraries, what fits, and the changes needed.

``config/facts/neuron_models.json`` has the facts about Neuron. A library may compile more models than it lists, so a
model that is not listed is unknown, not refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from eks_hardware import facts
from eks_hardware.advisor.fitting.devices import cores_of, degrees, pads_heads
from eks_hardware.advisor.fitting.fit import Fitter
from eks_hardware.advisor.fitting.gates import MATURITIES, maturity, neuron_libraries, software_gates, use
from eks_hardware.advisor.model import Fit, Gate, Maturity, Miss, Request
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType, load
from eks_hardware.software import chip_of

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import NeuronLibrary


Target = Literal["trainium", "inferentia", "gpu"]
Verdict = Literal["yes", "with changes", "no", "unknown"]
_Answer = TypeVar("_Answer", Fit, Miss)

# Checkpoint formats that Neuron's libraries do not load. Such models are also published in 16 bits.
_CHECKPOINTS = ("int4", "nvfp4")

_HARDWARE = {"trainium": Hardware.TRAINIUM, "inferentia": Hardware.INFERENTIA, "gpu": Hardware.NVIDIA_GPU}


@dataclass(frozen=True, kw_only=True)
class ChipCheck:
    """The result for one accelerator."""

    accelerator: str
    gates: tuple[Gate, ...]  # requirements of the software, passed or not
    libraries: tuple[str, ...]  # Neuron libraries that list the architecture, best first, one sentence each
    maturity: Maturity  # of the software
    maturity_text: str
    degrees: tuple[int, ...]  # tensor parallel degrees that divide the attention heads, in NeuronCores or GPUs


@dataclass(frozen=True, kw_only=True)
class ModelCheck:
    """The result of :func:`check_model`."""

    request: Request
    target: Target
    verdict: Verdict
    reason: str  # the verdict in a sentence
    chips: tuple[ChipCheck, ...]  # accelerators of the target, those that fit first
    fits: tuple[Fit, ...]  # types that the model fits on, smallest first (Neuron: chip by chip; GPU: one per family)
    misses: tuple[Miss, ...]  # instance types that the model does not fit on
    changes: tuple[str, ...]  # required changes in code and containers, one sentence each


def check_model(request: Request, target: Target, catalogue: Catalogue | None = None) -> ModelCheck:
    """Check whether a model runs on the accelerators of a target, in any region."""
    catalogue = catalogue or load()
    asked = request
    if target != "gpu" and request.shape.quantized_to in _CHECKPOINTS:
        request = replace(request, shape=replace(request.shape, quantized_to=None))
    kinds = [kind for kind in catalogue.select(hardware=_HARDWARE[target]) if kind.accelerator and not kind.withdrawn]
    fitter = Fitter(request, catalogue)
    answers = [fitter.on(kind) for kind in kinds]
    fits = sorted((answer for answer in answers if isinstance(answer, Fit)), key=_size)
    misses = sorted((fitter.remedied(answer) for answer in answers if isinstance(answer, Miss)), key=_nearest)
    if target == "gpu":
        fits = _one_a_family(fits)
        held = {fit.kind.family for fit in fits}
        misses = _one_a_family([miss for miss in misses if miss.kind.family not in held])
    fitting = {chip_of(fit.kind) for fit in fits}
    chips = tuple(_chips(request, kinds, fitting))
    verdict, reason = _verdict(request, target, chips, fitting)
    changes: tuple[str, ...] = ()
    if target != "gpu":
        order = [chip.accelerator for chip in chips]
        fits = sorted(fits, key=lambda fit: order.index(chip_of(fit.kind)))
        able = [fit.kind for chip in _listed_first(chips) for fit in fits if chip_of(fit.kind) == chip.accelerator]
        changes = tuple(_changes(asked, able[0])) if able else ()
    return ModelCheck(
        request=asked,
        target=target,
        verdict=verdict,
        reason=reason,
        chips=chips,
        fits=tuple(fits),
        misses=tuple(misses),
        changes=changes,
    )


def _listed_first(chips: Sequence[ChipCheck]) -> list[ChipCheck]:
    return sorted(chips, key=lambda chip: not chip.libraries)


def _nearest(miss: Miss) -> tuple[bool, float, str]:
    return miss.missing_gib is None, miss.missing_gib or 0.0, miss.kind.name


def _size(fitted: Fit) -> tuple[int, float, int, str]:
    """Return a sort key: few nodes and little accelerator memory first, as an estimate of cost without prices."""
    held = fitted.kind.accelerator.memory_gib_total if fitted.kind.accelerator else None
    return fitted.nodes, held or 0.0, fitted.kind.vcpus, fitted.kind.name


def _one_a_family(answers: Sequence[_Answer]) -> list[_Answer]:
    first: dict[str, _Answer] = {}
    for answer in answers:
        first.setdefault(answer.kind.family, answer)
    return list(first.values())


def _chips(request: Request, kinds: Sequence[InstanceType], fitting: set[str]) -> Iterator[ChipCheck]:
    largest: dict[str, InstanceType] = {}
    for kind in sorted(kinds, key=lambda kind: -kind.accelerator.count if kind.accelerator else 0):
        largest.setdefault(chip_of(kind), kind)
    archived = facts.software()["neuron_chips"]["archived"]
    found = {name: maturity(_by_library(request, kind), kind) for name, kind in largest.items()}
    for name in sorted(
        largest, key=lambda each: (each not in fitting, each in archived, MATURITIES.index(found[each][0]), each)
    ):
        kind, (level, why) = largest[name], found[name]
        cores, heads = cores_of(kind), request.shape.attention_heads
        yield ChipCheck(
            accelerator=name,
            gates=tuple(software_gates(request, kind)),
            libraries=tuple(_library(row) for row in neuron_libraries(request, kind)),
            maturity=level,
            maturity_text=why,
            degrees=tuple(degree * cores for degree in degrees(kind, heads, cores=cores, padded=pads_heads(request))),
        )


def _by_library(request: Request, kind: InstanceType) -> Request:
    """Return the request with the framework of the first library that lists the model, unless one is already set."""
    rows = neuron_libraries(request, kind)
    if request.workload.framework or not rows:
        return request
    return request.with_workload(framework=rows[0]["framework"])


def _library(row: NeuronLibrary) -> str:
    status = f", {row['status']}" if row.get("status") else ""
    last = f", up to Neuron {row['last_sdk']}" if row.get("last_sdk") else ""
    return f"{row['name']}{last}{status}"


def _verdict(request: Request, target: Target, chips: Sequence[ChipCheck], fitting: set[str]) -> tuple[Verdict, str]:
    purpose = use(request.workload)
    able = [chip for chip in _listed_first(chips) if chip.accelerator in fitting]
    if not able:
        refusals = [[gate.text for gate in chip.gates if gate.passed is False] for chip in chips]
        if all(refusals):
            return "no", "; ".join(dict.fromkeys(text for refusal in refusals for text in refusal))
        return "no", f"the model does not fit on any type with {' or '.join(chip.accelerator for chip in chips)}"
    if target == "gpu":
        return "yes", f"the model fits on {', '.join(chip.accelerator for chip in able)}"
    what = request.shape.architecture or "this model"
    if not able[0].libraries:
        return (
            "unknown",
            f"the model fits, but no Neuron model list includes {what} for {purpose}: compile it before you rely on it",
        )
    return "with changes", f"{purpose} of {what} on {able[0].accelerator}: {able[0].libraries[0]}"


def _changes(request: Request, kind: InstanceType) -> Iterator[str]:
    """Yield the changes for the requested framework, the first library that lists the model, or the default one."""
    fact = facts.neuron_models()["changes"]
    rows = neuron_libraries(request, kind)
    default = facts.memory()["neuron"]["default_framework"]
    framework = request.workload.framework or (rows[0]["framework"] if rows else default)
    last = rows[0].get("last_sdk") if rows else None
    newest = facts.software()["frameworks"]["newest_sdk"]
    if last and last != newest:
        yield f"pin containers and drivers to Neuron {last}, the last with {rows[0]['name']}; the newest is {newest}"
    yield from fact["by_framework"].get(framework, {}).get(use(request.workload), ())
    yield from fact["all"]
    if request.shape.quantized_to in _CHECKPOINTS:
        yield f"start from the 16-bit checkpoint: Neuron has no kernels for {request.shape.quantized_to} weights"
