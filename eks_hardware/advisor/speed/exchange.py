"""The time that devices need to exchange weights in fully sharded training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from eks_hardware import facts
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
    """A link that the weights of a stage cross."""

    name: str
    peak: str  # its bandwidth in words
    speed: float | None  # gigabytes per second of weights; None if unknown


def exchange(request: Request, fit: Fit) -> Exchange:
    """Return the minimum time that a pass of fully sharded training (ZeRO-3, FSDP) spends exchanging weights.

    Other layouts exchange gradients once per step, which many passes share, or within a layer. That is not counted.
    """
    if fit.parallelism.sharding != "zero-3":
        return Exchange(seconds=0.0, over="", unknown=())
    method = request.workload.method
    frozen = method in ("lora", "qlora")
    width = facts.memory()["formats"]["bytes"]["nf4" if method == "qlora" else "bf16"]
    layout = fit.parallelism
    each = (_FROZEN if frozen else _WITH_GRADIENTS) * width * request.shape.parameters / layout.pipeline
    links: list[_Link] = []
    if fit.nodes > layout.pipeline:
        gbps = network_gbps(fit.kind)
        links.append(_Link("the network of a node", f"{gbps or 0:g} Gbps", gbps and gbps / _BITS))
    chip = fit.kind.accelerator
    if chip and fit.devices > fit.nodes * layout.tensor:
        known = performance(chip)
        peak = known.link_gb_per_second
        # Vendors count both directions, and a device receives only its part of each layer.
        name = f"{known.link or 'the links'} between the devices"
        links.append(_Link(name, f"{peak or 0:g} GB/s", peak and peak / 2 * layout.tensor))
    times = [(each / (link.speed * _GIGA), f"{link.name}, {link.peak}") for link in links if link.speed]
    seconds, slowest = max(times, key=lambda item: item[0], default=(0.0, ""))
    return Exchange(
        seconds=seconds,
        over=slowest,
        unknown=tuple(
            f"the time for {link.name} is not included: the bandwidth is unknown" for link in links if not link.speed
        ),
    )


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
