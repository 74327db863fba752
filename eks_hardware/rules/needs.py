"""Rules about what software demands of accelerators: the right kind, number formats, kernels, CUDA.

What it demands of drivers is in ``drivers``, of frameworks and SDKs in ``frameworks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from eks_hardware import facts, software
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve import known_to_karpenter
from eks_hardware.rules.registry import Breach, Context, Node, node_path, rule
from eks_hardware.suggestions import several

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.software import Gate


_PRECISION = "config/facts/software.json (precision)"
_ATTENTION = "config/facts/software.json (attention)"
_CUDA = "config/facts/software.json (cuda)"
_FRAMEWORKS = "config/facts/software.json (frameworks)"
_NEURON = (Hardware.TRAINIUM, Hardware.INFERENTIA)

Has = Callable[[InstanceType], bool | None]
"""Whether an instance type has what is needed; None where that is not known."""


def called(kind: InstanceType) -> str:
    """A type with its accelerator: ``g4dn.xlarge (T4)``."""
    return f"{kind.name} ({kind.accelerator.name})" if kind.accelerator else kind.name


def each_need(context: Context, field: str) -> Iterator[tuple[Node, str, str, tuple[InstanceType, ...]]]:
    """Groups and pools that need something: with the path of the field, its value, and the types that are known."""
    for node in context.nodes:
        value = getattr(node.needs, field)
        if value is not None and (kinds := context.types(node)):
            yield node, node_path(node, f"needs.{field}"), value, kinds


def lacking(kinds: Sequence[InstanceType], has: Has) -> list[InstanceType]:
    """The types that are known not to have something."""
    return [kind for kind in kinds if has(kind) is False]


def choices(
    context: Context,
    node: Node,
    kinds: Sequence[InstanceType],
    has: Has,
    hardware: tuple[Hardware, ...] = (),
) -> str:
    """Which of a group's types have something, and which in the region would, for the end of a message.

    Args:
        hardware: what the other types may be; without it none are named.
    """
    good = [called(kind) for kind in kinds if has(kind)]
    others = [called(kind) for kind in _cheapest(context, node, kinds, has, hardware)]
    own = f"; {several(good, 3)} {_does(good, 'fit')}" if good else ""
    return f"{own}; in {context.strategy.region} {several(others, 3)} {_does(others, 'fit')}" if others else own


def _does(names: Sequence[object], verb: str) -> str:
    return f"{verb}s" if len(names) == 1 else verb


def _cheapest(
    context: Context, node: Node, kinds: Sequence[InstanceType], has: Has, hardware: tuple[Hardware, ...]
) -> list[InstanceType]:
    """The cheapest type of each other accelerator in the region that has something and could stand in."""
    alike = [kind.accelerator for kind in kinds if kind.accelerator and kind.hardware in hardware]
    least = min((accelerator.count for accelerator in alike), default=1)
    named = {kind.accelerator.name for kind in kinds if kind.accelerator and has(kind)}
    found: dict[str, InstanceType] = {}
    for kind, name, count in _by_price(context.catalogue, context.strategy.region) if hardware else ():
        if (
            kind.hardware in hardware
            and name not in named
            and count >= least
            and kind.architecture == kinds[0].architecture
            and (kind.supports_efa or not node.efa)
            and has(kind)
            and (not isinstance(node, NodePoolSpec) or known_to_karpenter(kind))
        ):
            found.setdefault(name, kind)
    return list(found.values())


@lru_cache(maxsize=64)
def _by_price(catalogue: Catalogue, region: str) -> tuple[tuple[InstanceType, str, int], ...]:
    """The types with whole accelerators that a region offers and EKS has an image for, with these; the cheapest first.

    Without those of archived software: nobody should begin with them.
    """
    archived = facts.software()["neuron_chips"]["archived"]
    found: list[tuple[float, str, InstanceType, str, int]] = []
    for label in catalogue.accelerators:
        for kind in catalogue.select(accelerator=label, region=region):
            accelerator, price = kind.accelerator, catalogue.price(kind.name, region)
            usable = {*kind.ami_types} - {"CUSTOM"} and not kind.withdrawn
            if accelerator and usable and not accelerator.fraction and accelerator.name not in archived:
                usd = price.usd_per_hour if price else float("inf")
                found.append((usd, kind.name, kind, accelerator.name, accelerator.count))
    found.sort(key=lambda each: each[:2])
    return tuple((kind, name, count) for _, _, kind, name, count in found)


# --- of which hardware


def _hardware_of(field: str, value: str) -> tuple[tuple[Hardware, ...], str]:
    """The hardware that a need is about, and the need in words."""
    if field == "framework":
        row = facts.software()["frameworks"]["by_name"][value]
        return (_NEURON if row["hardware"] == ["neuron"] else tuple(Hardware)), row["neuron_name"]
    if field == "neuron_sdk":
        return _NEURON, f"the Neuron SDK {value}"
    words = {"cuda": f"CUDA {value}", "nvidia_driver": f"NVIDIA driver {value}"}
    return (Hardware.NVIDIA_GPU,), words.get(field, f"{value}, a CUDA kernel,")


@rule("NEEDS_HARDWARE", "software for other hardware than the nodes have", _FRAMEWORKS)
def _hardware(context: Context) -> Iterator[Breach]:
    for field in ("attention", "cuda", "framework", "neuron_sdk", "nvidia_driver"):
        for node, path, value, kinds in each_need(context, field):
            hardware, words = _hardware_of(field, value)

            def has(kind: InstanceType, hardware: tuple[Hardware, ...] = hardware) -> bool:
                return kind.hardware in hardware

            if bad := lacking(kinds, has):
                what = "Trainium or Inferentia" if hardware == _NEURON else "NVIDIA GPUs"
                names = several([called(each) for each in bad], 3)
                is_what = "has no accelerator" if bad[0].hardware is Hardware.CPU else f"is {bad[0].hardware}"
                # Which chips have a framework is NEEDS_FRAMEWORK's.
                others = choices(context, node, kinds, has, () if field == "framework" else hardware)
                yield path, f"{words} is for {what}, and {names} {is_what}{others}; choose such types, or remove this"


# --- what the accelerator computes


@rule("NEEDS_PRECISION", "an accelerator does not compute in the number format", _PRECISION)
def _precision(context: Context) -> Iterator[Breach]:
    gates = facts.software()["precision"]["nvidia"]
    for node, path, value, kinds in each_need(context, "precision"):

        def has(kind: InstanceType, value: str = value) -> bool | None:
            return software.computes(kind, value)

        if bad := lacking(kinds, has):
            names = several([with_capability(each) for each in bad], 3)
            others = choices(context, node, kinds, has, (bad[0].hardware,))
            yield (
                path,
                f"{names} {_does(bad, 'compute')} no {value}{_gate(gates[value], bad)}{others}; keep types that do, or "
                "choose another precision",
            )


def with_capability(kind: InstanceType) -> str:
    """A type with its accelerator and compute capability: ``g4dn.xlarge (T4, 7.5)``."""
    capability = software.capability(kind)
    return called(kind) if capability is None else f"{called(kind)[:-1]}, {capability})"


def _gate(gate: Gate, kinds: Sequence[InstanceType]) -> str:
    return f" (it takes {software.shown(gate)})" if kinds[0].hardware is Hardware.NVIDIA_GPU else ""


@rule("NEEDS_ATTENTION", "an attention kernel does not run on a GPU", _ATTENTION)
def _attention(context: Context) -> Iterator[Breach]:
    gates = facts.software()["attention"]["kernels"]
    for node, path, value, kinds in each_need(context, "attention"):

        def has(kind: InstanceType, value: str = value) -> bool | None:
            # Of other hardware NEEDS_HARDWARE says it.
            return software.attends(kind, value) if kind.hardware is Hardware.NVIDIA_GPU else None

        if bad := lacking(kinds, has):
            names = several([with_capability(each) for each in bad], 3)
            others = choices(context, node, kinds, has, (Hardware.NVIDIA_GPU,))
            yield (
                path,
                f"{value} takes {software.shown(gates[value])}, not {names}{others}; keep types that do, or take "
                "another kernel, such as PyTorch's own scaled_dot_product_attention",
            )


@rule("NEEDS_CUDA", "a CUDA toolkit does not know a GPU: too old for it, or too new", _CUDA)
def _cuda(context: Context) -> Iterator[Breach]:
    for node, path, value, kinds in each_need(context, "cuda"):

        def has(kind: InstanceType, value: str = value) -> bool | None:
            support = software.cuda_support(kind)
            return support.knows(value) if support else None

        if bad := lacking(kinds, has):
            support = software.cuda_support(bad[0])
            known = f"CUDA {support.first}{f' to {support.last}' if support.last else ' and later'}" if support else ""
            yield (
                path,
                f"CUDA {value} does not know {several([with_capability(each) for each in bad], 3)}, which "
                f"{known} do{choices(context, node, kinds, has)}; use containers with such a version, or other types",
            )
