"""The time that training needs to exchange weights and tokens between devices, and with node memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import batch_size, sequence_length
from eks_hardware.advisor.fitting.fit import memory_of
from eks_hardware.advisor.fitting.memory_training import TrainingMemory
from eks_hardware.advisor.model import Fit, Request
from eks_hardware.advisor.speed.throughput import Devices, expert_exchange_seconds
from eks_hardware.catalogue import Accelerator, InstanceType
from eks_hardware.catalogue.performance import delay, performance, slowest_link

_BITS = 8
_GIGA = 1e9
# Multiples of the weights' size in a forward and backward pass: gathered twice, and the gradients scattered once.
# Frozen weights have no gradients (https://arxiv.org/abs/1910.02054 §7.2.2).
_WITH_GRADIENTS = 3
_FROZEN = 2
# Tokens are sent to their experts and back in the forward pass, and their gradients in the backward pass.
_PASSES_OF_TOKENS = 2


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """The minimum exchange of a pass over one batch."""

    seconds: float  # over the slowest link at its peak; 0 if a pass exchanges nothing
    over: str  # the slowest link, in words
    unknown: tuple[str, ...]  # links of unknown bandwidth and the assumed figure, one sentence each


class _Link(NamedTuple):
    """A link that the exchanged data crosses."""

    name: str
    peak: str  # its bandwidth in words
    seconds: float | None  # of a pass; None if the bandwidth of the network is unknown
    assumed: bool = False  # whether the bandwidth is that of the slowest link in the catalogue


def exchange(request: Request, fit: Fit) -> Exchange:
    """Return the minimum time that a pass spends exchanging weights, and state that is offloaded to node memory.

    Fully sharded training (ZeRO-3, FSDP) gathers weights. With experts spread over devices, a device gathers only its
    own, and tokens are sent to the experts instead. Other layouts exchange gradients once per step, which many passes
    share, or within a layer. That is not counted, and neither is the update of an offloaded optimizer.
    """
    links = [*_between_devices(request, fit), *_to_host(request, fit)]
    times = [(link.seconds, f"{link.name}, {link.peak}") for link in links if link.seconds is not None]
    seconds, slowest = max(times, key=lambda item: item[0], default=(0.0, ""))
    unknown = [
        f"the bandwidth of {link.name} is unknown: {link.peak} is assumed, the lowest of any accelerator"
        if link.assumed
        else f"the time for {link.name} is not included: the bandwidth is unknown"
        for link in links
        if link.assumed or link.seconds is None
    ]
    return Exchange(seconds=seconds, over=slowest, unknown=tuple(unknown))


def _between_devices(request: Request, fit: Fit) -> Iterator[_Link]:
    layout, chip = fit.parallelism, fit.kind.accelerator
    of_node = chip.count if chip else 1
    nodes_of_experts = max(1, layout.expert * layout.tensor // of_node)
    if fit.nodes > layout.pipeline:
        gbps = network_gbps(fit.kind)
        sent = _gathered(request, fit, nodes_of_experts)
        tokens = _of_tokens(request, fit, nodes_of_experts) if nodes_of_experts > 1 else 0.0
        if sent or tokens:
            seconds = sent * _BITS / (gbps * _GIGA) + tokens if gbps else None
            yield _Link("the network of a node", f"{gbps or 0:g} Gbps", seconds)
    if chip and fit.devices > fit.nodes * layout.tensor:
        known = performance(chip)
        sent = _gathered(request, fit, layout.expert)
        tokens = _of_tokens(request, fit, 1) if layout.expert > 1 and nodes_of_experts == 1 else 0.0
        name = f"{known.link or 'the links'} between the devices"
        if sent or tokens:
            speed, words = _between(chip)
            # A device receives only its part of each layer.
            seconds = sent / (speed * layout.tensor * _GIGA) + tokens
            yield _Link(name, words, seconds, assumed=known.link_gb_per_second is None)


def _between(chip: Accelerator) -> tuple[float, str]:
    """Return the speed of the links between the devices of a node in GB/s, in one direction, and in words.

    Vendors count both directions. A lower speed that was measured on the accelerator is used instead.
    """
    peak = performance(chip).link_gb_per_second or slowest_link("link_gb_per_second")
    row = delay("exchange", chip.kind, chip.name)
    measured = row.get("gb_per_second") if row and "link_share" not in row else None
    if measured is not None and measured < peak / 2:
        return measured, f"{measured:g} GB/s in one direction (fitted)"
    return peak / 2, f"{peak:g} GB/s"


def _gathered(request: Request, fit: Fit, parts: int) -> float:
    """Return the bytes of weights that a pass gathers, with one of ``parts`` equal parts of the experts."""
    layout, method, shape = fit.parallelism, request.workload.method, request.shape
    if layout.sharding != "zero-3":
        return 0.0
    width = facts.memory()["formats"]["bytes"]["nf4" if method == "qlora" else "bf16"]
    held = shape.parameters - shape.routed_parameters * (1 - 1 / parts)
    return (_FROZEN if method in ("lora", "qlora") else _WITH_GRADIENTS) * width * held / layout.pipeline


def _of_tokens(request: Request, fit: Fit, nodes: int) -> float:
    """Return the seconds that a pass spends sending tokens to experts on the devices of ``nodes`` nodes, and back."""
    layout, shape, chip = fit.parallelism, request.shape, fit.kind.accelerator
    assert chip is not None
    batch = (fit.batch_size or batch_size(request.workload)) * sequence_length(request) / layout.tensor
    devices = Devices(
        count=layout.expert,
        peak_tflops_each=None,
        kind=chip.kind,
        name=chip.name,
        link_gb_per_second=performance(chip).link_gb_per_second,
        nodes=nodes,
        network_gb_per_second=network_of_device(fit.kind),
    )
    one = expert_exchange_seconds(
        devices, width=shape.hidden_size, experts_of_token=shape.experts_of_token or 0, tokens=batch * layout.expert
    )
    return _PASSES_OF_TOKENS * shape.expert_layers / layout.pipeline * one


def _to_host(request: Request, fit: Fit) -> Iterator[_Link]:
    chip = fit.kind.accelerator
    if not request.workload.offload or chip is None:
        return
    memory = memory_of(request, fit.kind)
    assert isinstance(memory, TrainingMemory)
    batches = (fit.batch_size or memory.run.batch_size) / memory.run.batch_size
    known = performance(chip).host_gb_per_second
    peak = known or slowest_link("host_gb_per_second")
    seconds = memory.host_traffic(fit.parallelism, batches=batches) / (peak / 2 * _GIGA)
    yield _Link("PCIe to node memory", f"{peak:g} GB/s", seconds, assumed=known is None)


def network_of_device(kind: InstanceType) -> float | None:
    """Return each device's share of its node's network in gigabytes per second, in one direction; None if unknown."""
    gbps, count = network_gbps(kind), kind.accelerator.count if kind.accelerator else 0
    return gbps / _BITS / count if gbps and count else None


def network_gbps(kind: InstanceType) -> float | None:
    """Return the peak network bandwidth of a node in Gbps; None if unknown.

    The EC2 API lists bandwidth per card. ``config/performance/accelerators.json`` (network) lists the types whose cards
    do not add up to the node's bandwidth.
    """
    total = facts.performance()["network"]["total_gbps"].get(kind.name)
    if total is not None:
        return total
    peaks = [card.peak_gbps for card in kind.network_cards]
    known = [peak for peak in peaks if peak is not None]
    return sum(known) if known and len(known) == len(peaks) else None
