"""The time that training needs to exchange weights between devices, and with the memory of the node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.fitting.fit import memory_of
from eks_hardware.advisor.fitting.memory_training import TrainingMemory
from eks_hardware.advisor.model import Fit, Request
from eks_hardware.catalogue import InstanceType
from eks_hardware.catalogue.performance import performance

_BITS = 8
_GIGA = 1e9
# Multiples of the weights' size in a forward and backward pass: gathered twice, and the gradients scattered once.
# Frozen weights have no gradients (https://arxiv.org/abs/1910.02054 §7.2.2).
_WITH_GRADIENTS = 3
_FROZEN = 2


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """The minimum that a pass over one batch exchanges."""

    seconds: float  # over the slowest link at its peak; 0 if a pass exchanges nothing
    over: str  # the slowest link, in words
    unknown: tuple[str, ...]  # links of unknown bandwidth, one sentence each


class _Link(NamedTuple):
    """A link that numbers cross."""

    name: str
    peak: str  # its bandwidth in words
    sent: float  # bytes of a pass
    speed: float | None  # gigabytes per second of them; None if unknown


def exchange(request: Request, fit: Fit) -> Exchange:
    """Return the minimum time that a pass spends exchanging weights, and what it offloads to the memory of the node.

    Fully sharded training (ZeRO-3, FSDP) gathers weights. Other layouts exchange gradients once per step, which many
    passes share, or within a layer. That is not counted, and neither is the update of an offloaded optimizer.
    """
    links = [*_between_devices(request, fit), *_to_host(request, fit)]
    times = [(link.sent / (link.speed * _GIGA), f"{link.name}, {link.peak}") for link in links if link.speed]
    seconds, slowest = max(times, key=lambda item: item[0], default=(0.0, ""))
    return Exchange(
        seconds=seconds,
        over=slowest,
        unknown=tuple(
            f"the time for {link.name} is not included: the bandwidth is unknown" for link in links if not link.speed
        ),
    )


def _between_devices(request: Request, fit: Fit) -> Iterator[_Link]:
    if fit.parallelism.sharding != "zero-3":
        return
    method = request.workload.method
    frozen = method in ("lora", "qlora")
    width = facts.memory()["formats"]["bytes"]["nf4" if method == "qlora" else "bf16"]
    layout = fit.parallelism
    each = (_FROZEN if frozen else _WITH_GRADIENTS) * width * request.shape.parameters / layout.pipeline
    if fit.nodes > layout.pipeline:
        gbps = network_gbps(fit.kind)
        yield _Link("the network of a node", f"{gbps or 0:g} Gbps", each, gbps and gbps / _BITS)
    chip = fit.kind.accelerator
    if chip and fit.devices > fit.nodes * layout.tensor:
        known = performance(chip)
        peak = known.link_gb_per_second
        # Vendors count both directions, and a device receives only its part of each layer.
        name = f"{known.link or 'the links'} between the devices"
        yield _Link(name, f"{peak or 0:g} GB/s", each, peak and peak / 2 * layout.tensor)


def _to_host(request: Request, fit: Fit) -> Iterator[_Link]:
    chip = fit.kind.accelerator
    if not request.workload.offload or chip is None:
        return
    memory = memory_of(request, fit.kind)
    assert isinstance(memory, TrainingMemory)
    batches = (fit.batch_size or memory.run.batch_size) / memory.run.batch_size
    peak = performance(chip).host_gb_per_second
    sent = memory.host_traffic(fit.parallelism, batches=batches)
    yield _Link("PCIe to the memory of the node", f"{peak or 0:g} GB/s", sent, peak and peak / 2)


def network_gbps(kind: InstanceType) -> float | None:
    """Return the peak network bandwidth of a node in Gbps; None if unknown.

    The EC2 API lists it per card. ``config/performance/accelerators.json`` (network) lists the types whose cards do not
    add up to the node's bandwidth.
    """
    total = facts.performance()["network"]["total_gbps"].get(kind.name)
    if total is not None:
        return total
    peaks = [card.peak_gbps for card in kind.network_cards]
    known = [peak for peak in peaks if peak is not None]
    return sum(known) if known and len(known) == len(peaks) else None
