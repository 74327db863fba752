"""Compute the cost lines of a resolved strategy."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from eks_hardware.catalogue import Catalogue, load
from eks_hardware.cost import nodes, rates
from eks_hardware.cost.model import HOURS_PER_MONTH, LEVELS, CostLine, Figure, StrategyCost
from eks_hardware.printable import usd
from eks_hardware.resolve import (
    ResolvedCluster,
    ResolvedNetwork,
    ResolvedNodes,
    ResolvedStorage,
    ResolvedStrategy,
)


def cost_of(
    resolved: ResolvedStrategy, catalogue: Catalogue | None = None, *, today: datetime.date | None = None
) -> StrategyCost:
    """Compute what a strategy costs per hour at its minimum, desired and maximum size.

    An item without a known price is a line without a figure. Totals leave it out.

    Args:
        resolved: a resolved strategy that passed the rules.
        catalogue: the hardware catalogue; default: the packaged one.
        today: the current day, which decides the price of the control plane.
    """
    catalogue = catalogue or load()
    today = today or datetime.date.today()
    region = resolved.region
    lines = [
        *(line for group in resolved.node_groups for line in nodes.of_group(group, region, catalogue, today)),
        *(line for pool in resolved.node_pools for line in nodes.of_pool(pool, region, catalogue, today)),
        *_of_cluster(resolved.cluster, today),
        *_of_network(resolved.network),
        *_of_storage(resolved.storage, region),
    ]
    return StrategyCost(
        name=resolved.name,
        region=region,
        lines=tuple(line for line in lines if any(line.units.values())),
        not_counted=tuple(_not_counted(resolved, catalogue)),
    )


def _line(
    path: str,
    name: str,
    kind: str,
    figure: Figure | None,
    units: float,
    *,
    details: str = "",
    note: str | None = None,
) -> CostLine:
    """Return a line with the same quantity at every level. ``details`` are the end of its name."""
    return CostLine(
        path=path,
        name=f"{name}, {details}" if details else name,
        short_name=name,
        kind=kind,
        figure=figure,
        units=dict.fromkeys(LEVELS, units),
        note=note or (figure.note if figure else None),
    )


# --- control plane


def _of_cluster(cluster: ResolvedCluster, today: datetime.date) -> Iterator[CostLine]:
    until = rates.standard_support_until(cluster.kubernetes_version)
    over = until is not None and today > until
    extended = over and cluster.support_type == "EXTENDED"
    yield _line(
        "cluster",
        "EKS control plane",
        "control-plane",
        rates.control_plane(cluster.region, extended=extended) if until else None,
        1,
        details=f"{cluster.kubernetes_version} in {'extended' if extended else 'standard'} support",
        note=_support_note(cluster, until, over=over),
    )
    if cluster.control_plane_tier != "standard":
        tier = rates.control_plane_tier(cluster.region, cluster.control_plane_tier)
        yield _line(
            "cluster.control_plane_tier",
            "provisioned control plane",
            "control-plane",
            tier,
            1,
            details=f"tier {cluster.control_plane_tier}",
        )
    if cluster.secrets_encrypted and cluster.kms_key_arn is None:
        name = "KMS key for Kubernetes secrets"
        yield _line("cluster.secrets_encryption", name, "keys", rates.key(cluster.region), 1)


def _support_note(cluster: ResolvedCluster, until: datetime.date | None, *, over: bool) -> str | None:
    if until is None:
        return f"the support dates of Kubernetes {cluster.kubernetes_version} are unknown"
    if cluster.support_type != "EXTENDED":
        return f"standard support ended on {until}: EKS upgrades the control plane automatically" if over else None
    if over:
        return f"standard support ended on {until}"
    extended = rates.control_plane(cluster.region, extended=True)
    return (
        f"{extended.usd_per_hour:.2f} per hour (extended support) from {until} on, unless upgraded"
        if extended
        else None
    )


# --- network


def _of_network(network: ResolvedNetwork) -> Iterator[CostLine]:
    gateways = len(network.nat_zone_ids)
    region = network.region
    if gateways:
        yield _line("network.nat_gateways", "NAT gateway", "nat", rates.nat_gateway(region), gateways)
        name = "public IPv4 address of a NAT gateway"
        yield _line("network.nat_gateways", name, "addresses", rates.public_address(region), gateways)
    services, zones = len(network.interface_endpoints), len(network.endpoint_zone_ids)
    if services:
        name = f"interface endpoint ({services} services in {zones} zones)"
        figure = rates.interface_endpoint(region)
        yield _line("network.interface_endpoints", name, "endpoints", figure, services * zones)


# --- storage


def _of_storage(storage: ResolvedStorage, region: str) -> Iterator[CostLine]:
    if lustre := storage.fsx_lustre:
        throughput = f", {lustre.throughput_mibps_per_tib} MB/s per TiB" if lustre.throughput_mibps_per_tib else ""
        details = f"{lustre.deployment}{throughput}"
        name = f"FSx for Lustre {lustre.size_gib} GiB"
        yield _line("storage.fsx_lustre", name, "storage", rates.lustre(region, lustre), 1, details=details)


# --- not included


def _not_counted(resolved: ResolvedStrategy, catalogue: Catalogue) -> Iterator[str]:
    """Yield further items that AWS bills because of the strategy."""
    network, storage, cluster = resolved.network, resolved.storage, resolved.cluster
    every: tuple[ResolvedNodes, ...] = (*resolved.node_groups, *resolved.node_pools)
    through = " and through NAT gateways and interface endpoints" if network.existing is None else ""
    yield f"data transfer: between zones, out of AWS{through}"
    yield f"requests of pods: load balancers{_each_balancer(resolved.region)}, volumes and snapshots"
    if cluster.log_types or network.flow_logs or any(each.detailed_monitoring for each in every):
        yield "CloudWatch: control plane logs, flow logs, metrics"
    if network.existing:
        yield "the existing VPC with its NAT gateways and endpoints"
    if storage.efs:
        yield "EFS: storage and throughput"
    if storage.buckets:
        yield "S3: storage and requests"
    if resolved.karpenter and resolved.karpenter.queue_name:
        yield "SQS and EventBridge for Karpenter (cents)"
    if any(catalogue.get(name).burstable for each in every for name in each.instance_types):
        yield "CPU credits of burstable types"
    yield "extra nodes during updates of node groups"
    yield "taxes and support; discounts, such as Savings Plans and private pricing"


def _each_balancer(region: str) -> str:
    price = rates.load_balancer(region)
    return f" (from {usd(price.usd_per_hour * HOURS_PER_MONTH)} per month each)" if price else ""
