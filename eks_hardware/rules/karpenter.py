"""Rules about Karpenter itself: its version, nodes for its controller, prices, and the images of its nodes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType
from eks_hardware.models import NodePoolSpec
from eks_hardware.printable import quoted
from eks_hardware.resolve.pool_types import has_huge_pages, lacks_price
from eks_hardware.rules.registry import Breach, Context, error, hardware_field, node_path, type_names, warning
from eks_hardware.rules.releases import day_fault, known_faults, kubernetes_fault, variant
from eks_hardware.rules.taints import nodes_for_coredns, nodes_open_to
from eks_hardware.spellings import RESERVED
from eks_hardware.suggestions import several
from eks_hardware.versions import numbers

# --- versions

_Feature = Literal[
    "reserved_capacity",
    "capacity_blocks",
    "node_overlay",
    "overlay_price",
    "static_capacity",
    "network_interfaces",
    "placement_group",
]

# Name of the feature, and whether a strategy uses it; the fact file has the versions.
_FEATURES: Mapping[_Feature, tuple[str, Callable[[Context], bool]]] = {
    "reserved_capacity": ("reserved capacity", lambda context: _any_pool(context, _is_reserved)),
    "capacity_blocks": (
        "capacity blocks",
        lambda context: _any_pool(context, lambda p: "capacity-block" in p.capacity),
    ),
    "node_overlay": ("NodeOverlay", lambda context: _gate(context, "node_overlay") or _has_overlays(context)),
    "overlay_price": ("prices in NodeOverlays", lambda context: any(_overlay_prices(context))),
    "static_capacity": ("static capacity", lambda context: _gate(context, "static_capacity")),
    # Also written for a pool without EFA if its types support it.
    "network_interfaces": (
        "networkInterfaces",
        lambda context: _any_pool(context, lambda pool: any(kind.supports_efa for kind in context.types(pool))),
    ),
    "placement_group": (
        "placement groups",
        lambda context: _any_pool(context, lambda pool: pool.placement_group == "cluster"),
    ),
}


def _any_pool(context: Context, condition: Callable[[NodePoolSpec], bool]) -> bool:
    return any(condition(pool) for pool in context.pools)


def _is_reserved(pool: NodePoolSpec) -> bool:
    return bool(RESERVED.intersection(pool.capacity))


def _gate(context: Context, name: str) -> bool:
    return bool(context.strategy.karpenter and getattr(context.strategy.karpenter.feature_gates, name))


def _has_overlays(context: Context) -> bool:
    """Return whether Karpenter needs NodeOverlays for prices, for shared or fractional GPUs, or for huge pages."""
    return any(_overlay_prices(context)) or any(
        pool.gpu_sharing
        or has_huge_pages(pool, context.types(pool))
        or any(kind.accelerator and kind.accelerator.fraction for kind in context.types(pool))
        for pool in context.pools
    )


def _chart_version(context: Context, key: Literal["karpenter", "karpenter-crd"]) -> str | None:
    """Return the chart version in the strategy, if any."""
    chart = context.strategy.kubernetes.charts.get(key)
    return chart.version if chart else None


_VERSION_PATH = "kubernetes.charts.karpenter.version"


@error("KARPENTER_VERSION_FEATURE")
def _feature(context: Context) -> Iterator[Breach]:
    version = _chart_version(context, "karpenter")
    if context.strategy.karpenter is None or version is None:
        return
    since = facts.karpenter()["versions"]["since"]
    missing = [
        (since[key], noun)
        for key, (noun, asked) in _FEATURES.items()
        if numbers(version) < numbers(since[key]) and asked(context)
    ]
    if missing:
        newest = max((each for each, _ in missing), key=numbers)
        unsupported = ", ".join(f"{noun} (since {each})" for each, noun in missing)
        yield (
            _VERSION_PATH,
            f"Karpenter {version} does not support {unsupported}; use {newest} or newer, or remove this line",
        )


@error("KARPENTER_VERSION_KUBERNETES")
def _kubernetes(context: Context) -> Iterator[Breach]:
    if context.strategy.karpenter is None:
        return
    kubernetes = context.strategy.cluster.kubernetes_version
    chart = facts.chart("karpenter")
    given = _chart_version(context, "karpenter")
    lowest = facts.karpenter()["versions"]["lowest_for_kubernetes"].get(kubernetes)
    version = given or chart["version"]
    path = _VERSION_PATH if given else "cluster.kubernetes_version"
    if lowest and numbers(version) < numbers(lowest):
        yield path, f"Karpenter {version} does not support Kubernetes {kubernetes}; use Karpenter {lowest} or later"
    newest = chart["kubernetes"]["max"]
    # A newer Karpenter than the recorded one may support newer Kubernetes versions.
    if newest and numbers(version) <= numbers(chart["version"]) and numbers(kubernetes) > numbers(newest):
        yield (
            path,
            f"Karpenter {version} supports Kubernetes up to {newest}, got {kubernetes}; use Kubernetes {newest}, or "
            "set a newer Karpenter in kubernetes.charts.karpenter.version",
        )


@error("KARPENTER_VERSION_CRD")
def _definitions(context: Context) -> Iterator[Breach]:
    crd = _chart_version(context, "karpenter-crd")
    controller = _chart_version(context, "karpenter") or facts.chart("karpenter")["version"]
    if context.strategy.karpenter and crd and crd != controller:
        yield (
            "kubernetes.charts.karpenter-crd.version",
            f"must be Karpenter's version {controller}, got {crd}; remove this line, because the CRDs follow Karpenter",
        )


@error("KARPENTER_OVERLAY_OFF")
def _overlay_off(context: Context) -> Iterator[Breach]:
    karpenter = context.strategy.karpenter
    if karpenter and karpenter.feature_gates.node_overlay is False and _has_overlays(context):
        yield (
            "karpenter.feature_gates.node_overlay",
            "without NodeOverlay, Karpenter does not know about shared and fractional GPUs, huge pages of EFA nodes or "
            "prices in a private network, and launches no node, or too many; remove this line",
        )


# --- nodes for the controller, and prices


@warning("KARPENTER_NO_ROOM")
def _room(context: Context) -> Iterator[Breach]:
    karpenter = context.strategy.karpenter
    nodes = nodes_open_to(context, facts.karpenter()["controller"]["tolerations"])
    # If CoreDNS has no node either, NODES_ALL_TAINTED reports it.
    if karpenter and nodes < karpenter.replicas and (nodes or nodes_for_coredns(context)):
        there = "is one" if nodes == 1 else f"are {nodes or 'none'}"
        fix = f", or set this to {nodes}" if nodes else ""
        yield (
            "karpenter.replicas",
            f"each of the {karpenter.replicas} Karpenter replicas needs its own node in a group whose taints Karpenter "
            f"tolerates, but there {there}; raise scaling.desired of such a group, and scaling.max if needed{fix}",
        )


@warning("KARPENTER_NO_QUEUE")
def _no_queue(context: Context) -> Iterator[Breach]:
    karpenter = context.strategy.karpenter
    if karpenter is None or karpenter.interruption_queue:
        return
    if spot := [pool.name for pool in context.pools if "spot" in pool.capacity]:
        yield (
            "karpenter.interruption_queue",
            "Karpenter reads Spot interruption notices from this queue two minutes before an interruption; without "
            f"it, the pods of {several(spot)} are killed with the instance; remove this line",
        )


def _overlay_prices(context: Context) -> Iterator[str]:
    """Yield each type whose price a NodeOverlay gives to Karpenter."""
    for pool in context.pools:
        for kind in context.types(pool):
            if _lacks_price(context, pool, kind) and context.catalogue.price(kind.name, context.strategy.region):
                yield kind.name


def _lacks_price(context: Context, pool: NodePoolSpec, kind: InstanceType) -> bool:
    return lacks_price(kind.name, pool.capacity, context.strategy.network)


def _without_price(context: Context, *, whole: bool) -> Iterator[tuple[str, str]]:
    """Yield the path of each pool with types that have no price at all in a private network, and these types.

    With ``whole``, only pools that cannot buy any other type; otherwise only pools that can.
    """
    region = context.strategy.region
    for pool in context.pools:
        kinds = context.types(pool)
        without = [
            kind
            for kind in kinds
            if _lacks_price(context, pool, kind) and not context.catalogue.price(kind.name, region)
        ]
        if without and whole == (without == [*kinds] and set(pool.capacity) == {"on-demand"}):
            yield node_path(pool, hardware_field(pool)), type_names(without)


@error("KARPENTER_PRIVATE_PRICE")
def _private_price(context: Context) -> Iterator[Breach]:
    for path, types in _without_price(context, whole=True):
        yield (
            path,
            f"without the pricing service, Karpenter cannot buy {types} On-Demand, and the catalogue has no price "
            "either; use a reservation or a node group",
        )


@warning("KARPENTER_PRIVATE_PRICE_SOME")
def _private_price_some(context: Context) -> Iterator[Breach]:
    for path, types in _without_price(context, whole=False):
        yield (
            path,
            f"without the pricing service, Karpenter never buys {types} On-Demand, and the catalogue has no price "
            "either; remove these types, or buy them through a reservation or a node group",
        )


# --- images


def image_releases(context: Context) -> Iterator[tuple[NodePoolSpec, str, str]]:
    """Yield each pool with an EKS image, and the path and name of the image's release."""
    karpenter = context.strategy.karpenter
    for pool in context.pools:
        if pool.ami.image_id:
            continue
        chosen = getattr(karpenter.ami_versions, pool.ami.family) if karpenter else None
        if pool.ami.version:
            yield pool, node_path(pool, "ami.version"), pool.ami.version
        elif chosen:
            yield pool, f"karpenter.ami_versions.{pool.ami.family}", chosen
        else:
            yield pool, node_path(pool, "ami"), facts.karpenter()["ami_aliases"]["suggested"][pool.ami.family]


@warning("POOL_AMI_LATEST")
def _latest(context: Context) -> Iterator[Breach]:
    families = {
        path: pool.ami.family
        for pool, path, release in image_releases(context)
        if release == "latest" and variant(context.types(pool)) != "standard"
    }
    for path, family in families.items():
        suggested = facts.karpenter()["ami_aliases"]["suggested"][family]
        yield (
            path,
            "with 'latest', Karpenter replaces nodes at every release, and the driver may change; pin a release such "
            f"as {suggested}",
        )


@error("POOL_AMI_FORMAT")
def _format(context: Context) -> Iterator[Breach]:
    karpenter = context.strategy.karpenter
    aliases = facts.karpenter()["ami_aliases"]
    given = {path: (pool.ami.family, release) for pool, path, release in image_releases(context)}
    for family in ("al2023", "bottlerocket"):
        if karpenter and (release := getattr(karpenter.ami_versions, family)):
            given[f"karpenter.ami_versions.{family}"] = (family, release)
    for path, (family, release) in given.items():
        if fault := _format_fault(family, release, context.today):
            yield path, f"{fault}; write {aliases['suggested'][family]}, for example"


def _format_fault(family: str, release: str, today: datetime.date) -> str | None:
    """Return why the text cannot be a release; None if it can."""
    if release == "latest":
        return None
    if not re.fullmatch(facts.karpenter()["ami_aliases"]["pattern"][family], f"{family}@{release}"):
        return f"must be a release of {family}, got {quoted(release)}"
    return day_fault(release, today) if family == "al2023" else None


def _pin_another(family: str) -> str:
    return f"pin another release, such as {facts.karpenter()['ami_aliases']['suggested'][family]}"


def _known_faults(context: Context, *, doubtful: bool) -> Iterator[Breach]:
    # Several pools can share one release field: reported once.
    yield from dict.fromkeys(
        (path, f"{fault}; {_pin_another(pool.ami.family)}")
        for pool, path, release in image_releases(context)
        for fault in known_faults(pool.ami.family, release, context.types(pool), doubtful=doubtful)
    )


@error("POOL_AMI_BAD")
def _bad(context: Context) -> Iterator[Breach]:
    yield from _known_faults(context, doubtful=False)


@warning("POOL_AMI_DOUBTFUL")
def _doubtful(context: Context) -> Iterator[Breach]:
    yield from _known_faults(context, doubtful=True)


@error("POOL_AMI_KUBERNETES")
def _ami_kubernetes(context: Context) -> Iterator[Breach]:
    kubernetes = context.strategy.cluster.kubernetes_version
    releases = {path: (pool.ami.family, release) for pool, path, release in image_releases(context)}
    for path, (family, release) in releases.items():
        # POOL_AMI_FORMAT reports it.
        if _format_fault(family, release, context.today):
            continue
        if fault := kubernetes_fault(family, release, kubernetes):
            yield path, f"{fault}; {_pin_another(family)}"
