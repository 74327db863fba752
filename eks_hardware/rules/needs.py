"""Rules about what software requires of accelerators: hardware, number formats, attention kernels, CUDA.

``drivers`` has the rules about drivers, ``frameworks`` those about frameworks and SDKs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from eks_hardware import facts, software
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve.pool_types import known_to_karpenter
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path
from eks_hardware.suggestions import several

_NEURON = (Hardware.TRAINIUM, Hardware.INFERENTIA)

Has = Callable[[InstanceType], bool | None]
"""Whether an instance type meets a need; None if unknown."""


def called(kind: InstanceType) -> str:
    """Return a type with its accelerator: ``g4dn.xlarge (T4)``."""
    return f"{kind.name} ({kind.accelerator.name})" if kind.accelerator else kind.name


def called_all(kinds: Iterable[InstanceType]) -> str:
    """Return the first few types with their accelerators."""
    return several([called(kind) for kind in kinds], 3)


def each_need(context: Context, field: str) -> Iterator[tuple[Node, str, str, tuple[InstanceType, ...]]]:
    """Yield groups and pools that state a need, with the field's path, its value, and the known types."""
    for node in context.nodes:
        value = getattr(node.needs, field)
        if value is not None and (kinds := context.types(node)):
            yield node, node_path(node, f"needs.{field}"), value, kinds


class Lack(NamedTuple):
    """A need that some types of a group or pool do not meet; ``others`` ends a message with types that do."""

    node: Node
    path: str
    value: str
    bad: list[InstanceType]
    others: str


def lacks(
    context: Context,
    field: str,
    meets: Callable[[InstanceType, str, Node], bool | None],
    hardware: tuple[Hardware, ...] | None = None,
) -> Iterator[Lack]:
    """Yield groups and pools with types that do not meet a need, as far as ``meets`` can decide.

    Alternatives have one of the ``hardware`` kinds, by default that of the types that do not meet the need.
    """
    for node, path, value, kinds in each_need(context, field):

        def has(kind: InstanceType, value: str = value, node: Node = node) -> bool | None:
            return meets(kind, value, node)

        if bad := [kind for kind in kinds if has(kind) is False]:
            alike = (bad[0].hardware,) if hardware is None else hardware
            yield Lack(node, path, value, bad, choices(context, node, kinds, has, alike))


def choices(
    context: Context,
    node: Node,
    kinds: Sequence[InstanceType],
    has: Has,
    hardware: tuple[Hardware, ...] = (),
) -> str:
    """Return the end of a message: the group's types that meet a need, and those of ``hardware`` in the region."""
    good = [called(kind) for kind in kinds if has(kind)]
    others = [called(kind) for kind in cheapest(context, node, kinds, has, hardware)]
    own = f"; {several(good, 3)} {_does(good, 'support')} it" if good else ""
    return f"{own}; in {context.strategy.region} {several(others, 3)} {_does(others, 'support')} it" if others else own


def _does(names: Sequence[object], verb: str) -> str:
    return f"{verb}s" if len(names) == 1 else verb


def cheapest(
    context: Context, node: Node, kinds: Sequence[InstanceType], has: Has, hardware: tuple[Hardware, ...]
) -> list[InstanceType]:
    """Return the cheapest type of each other accelerator in the region that meets a need and could replace these."""
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
    """Return types with whole accelerators and an EKS image in a region, and the accelerators; cheapest first.

    Types with archived software are left out, because new clusters should not use them.
    """
    archived = facts.software()["neuron_chips"]["archived"]
    offers: list[tuple[float, str, InstanceType, str, int]] = []
    for label in catalogue.accelerators:
        for kind in catalogue.select(accelerator=label, region=region):
            accelerator, price = kind.accelerator, catalogue.price(kind.name, region)
            usable = {*kind.ami_types} - {"CUSTOM"} and not kind.withdrawn
            if accelerator and usable and not accelerator.fraction and accelerator.name not in archived:
                usd = price.usd_per_hour if price else float("inf")
                offers.append((usd, kind.name, kind, accelerator.name, accelerator.count))
    offers.sort(key=lambda each: each[:2])
    return tuple((kind, name, count) for _, _, kind, name, count in offers)


# --- hardware


def _hardware_of(field: str, value: str) -> tuple[tuple[Hardware, ...], str]:
    """Return the hardware that a need requires, and the need in words."""
    if field == "framework":
        row = facts.software()["frameworks"]["by_name"][value]
        return (_NEURON if row["hardware"] == ["neuron"] else tuple(Hardware)), row["neuron_name"]
    if field == "neuron_sdk":
        return _NEURON, f"the Neuron SDK {value}"
    words = {"cuda": f"CUDA {value}", "nvidia_driver": f"NVIDIA driver {value}"}
    return (Hardware.NVIDIA_GPU,), words.get(field, f"{value} (a CUDA kernel)")


@error("NEEDS_HARDWARE")
def _hardware(context: Context) -> Iterator[Breach]:
    for field in ("attention", "cuda", "framework", "neuron_sdk", "nvidia_driver"):
        for node, path, value, kinds in each_need(context, field):
            hardware, words = _hardware_of(field, value)

            def has(kind: InstanceType, hardware: tuple[Hardware, ...] = hardware) -> bool:
                return kind.hardware in hardware

            if bad := [kind for kind in kinds if kind.hardware not in hardware]:
                what = "Trainium or Inferentia" if hardware == _NEURON else "NVIDIA GPUs"
                names = called_all(bad)
                got = "without accelerators" if bad[0].hardware is Hardware.CPU else f"with hardware {bad[0].hardware}"
                # NEEDS_FRAMEWORK reports which chips have a framework.
                others = choices(context, node, kinds, has, () if field == "framework" else hardware)
                yield path, f"{words} requires {what}, got {names} {got}{others}; choose such types, or remove this"


# --- what the accelerator computes


@error("NEEDS_PRECISION")
def _precision(context: Context) -> Iterator[Breach]:
    gates = facts.software()["precision"]["nvidia"]
    for lack in lacks(context, "precision", lambda kind, value, _: software.computes(kind, value)):
        is_gpu = lack.bad[0].hardware is Hardware.NVIDIA_GPU
        gate = f" (requires {software.shown(gates[lack.value])})" if is_gpu else ""
        yield (
            lack.path,
            f"{with_capabilities(lack.bad)} cannot compute in {lack.value}{gate}{lack.others}; keep only types that "
            "can, or choose another precision",
        )


def with_capabilities(kinds: Iterable[InstanceType]) -> str:
    """Return the first few types with their accelerators and compute capabilities: ``g4dn.xlarge (T4, 7.5)``."""

    def name(kind: InstanceType) -> str:
        capability = software.capability(kind)
        return called(kind) if capability is None else f"{called(kind)[:-1]}, {capability})"

    return several([name(kind) for kind in kinds], 3)


def _attends(kind: InstanceType, kernel: str, _node: Node) -> bool | None:
    # NEEDS_HARDWARE covers other hardware.
    return software.attends(kind, kernel) if kind.hardware is Hardware.NVIDIA_GPU else None


@error("NEEDS_ATTENTION")
def _attention(context: Context) -> Iterator[Breach]:
    gates = facts.software()["attention"]["kernels"]
    for lack in lacks(context, "attention", _attends):
        yield (
            lack.path,
            f"{lack.value} requires {software.shown(gates[lack.value])}, got "
            f"{with_capabilities(lack.bad)}{lack.others}; keep only types that meet this, or use another kernel, such "
            "as PyTorch's own scaled_dot_product_attention",
        )


def _runs_cuda(kind: InstanceType, cuda: str, _node: Node) -> bool | None:
    support = software.cuda_support(kind)
    return support.knows(cuda) if support else None


@error("NEEDS_CUDA")
def _cuda(context: Context) -> Iterator[Breach]:
    for lack in lacks(context, "cuda", _runs_cuda, hardware=()):
        support = software.cuda_support(lack.bad[0])
        known = f"CUDA {support.first}{f' to {support.last}' if support.last else ' and later'}" if support else ""
        yield (
            lack.path,
            f"{with_capabilities(lack.bad)} {_does(lack.bad, 'require')} {known}, got CUDA {lack.value}{lack.others}; "
            "use containers with such a version, or other types",
        )
