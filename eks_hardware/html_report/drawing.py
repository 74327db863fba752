"""The cluster as SVG: control plane above, the VPC with its zones, and in them everything that makes nodes.

Text in SVG does not flow, so that a page holds one drawing for each width of screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from eks_hardware.html_report.card import efs_card, lustre_card, node_card
from eks_hardware.html_report.grid import GAP, Card, Grid, grid_of
from eks_hardware.html_report.html import Html, joined, tag
from eks_hardware.html_report.nodes import NodeSet
from eks_hardware.html_report.shapes import (
    HEADING,
    NAME,
    SMALL,
    SMALL_CODE,
    Piece,
    cylinder,
    flowing,
    framed,
    pill,
    stacked,
    text,
)
from eks_hardware.resolve import ResolvedNetwork, ResolvedStrategy, SubnetRole

_PAD = 14
_CONNECTOR = 26
_FEW_CIDRS = 3


def drawing(resolved: ResolvedStrategy, nodes: Sequence[NodeSet], *, width: int, description: str) -> Html:
    """The drawing for one width.

    Args:
        resolved: what is drawn.
        nodes: its node groups and pools.
        width: width in px.
        description: the same in words, for whoever cannot see it.
    """
    grid = grid_of(resolved.network.zone_ids, width - 2 * _PAD)
    plane = _control_plane(resolved, width)
    vpc = _vpc(resolved, nodes, grid, width)
    parts = [plane.draw(0.5, 0.5)]
    parts.extend(_connectors(resolved.network, grid, plane.height))
    y = plane.height + _CONNECTOR
    parts.append(vpc.draw(0.5, y + 0.5))
    y += vpc.height
    if resolved.storage.buckets:
        buckets = _buckets(resolved, width)
        parts.append(buckets.draw(0.5, y + _PAD + 0.5))
        y += _PAD + buckets.height
    ids = f"drawing-{width}"
    return tag(
        "svg",
        tag("title", f"Cluster {resolved.name} in {resolved.region}", id=f"{ids}-title"),
        tag("desc", description, id=f"{ids}-desc"),
        parts,
        viewBox=f"0 0 {width + 1} {round(y) + 2}",
        role="img",
        aria_labelledby=f"{ids}-title {ids}-desc",
        class_=f"drawing width-{width}",
        xmlns="http://www.w3.org/2000/svg",
    )


# -- control plane


def _control_plane(resolved: ResolvedStrategy, width: float) -> Piece:
    cluster = resolved.cluster
    cidrs = cluster.public_cidrs
    shown = ", ".join(cidrs) if len(cidrs) <= _FEW_CIDRS else f"{len(cidrs)} networks"
    inner = width - 2 * _PAD
    pieces = [
        text("EKS control plane", NAME, inner),
        pill(f"Kubernetes {cluster.kubernetes_version}", inner),
        pill(f"{cluster.support_type.lower()} support", inner),
        pill(f"API private, and public to {shown}" if cidrs else "API private", inner),
    ]
    if cluster.control_plane_tier != "standard":
        pieces.append(pill(f"tier {cluster.control_plane_tier}", inner))
    return framed(flowing(pieces, inner), width, "plane", _PAD)


def _connectors(network: ResolvedNetwork, grid: Grid, y: float) -> Iterator[Html]:
    """Lines from the control plane to the zones of its network interfaces."""
    centres = [grid.centre(zone) for zone in network.control_plane_zone_ids if zone in network.zone_ids]
    for centre in centres or [None]:
        x = round(_PAD + (centre or 30), 1)
        yield tag("path", d=f"M{x:g} {y + 0.5:g}V{y + _CONNECTOR:g}", class_="wire")
        yield tag("circle", cx=x, cy=y + _CONNECTOR, r=3.5, class_="wire-end")


# -- the VPC


def _vpc(resolved: ResolvedStrategy, nodes: Sequence[NodeSet], grid: Grid, width: float) -> Piece:
    inner = width - 2 * _PAD
    title = _vpc_title(resolved.network, inner)
    zones = [(zone, _zone(resolved.network, zone)) for zone in resolved.network.zone_ids]
    rows = [grid.head(zones)]
    groups = [(each.zone_ids, _card_of(each)) for each in nodes if not each.is_pool]
    rows.extend([_caption("Managed node groups", inner), grid.placed(groups)])
    if resolved.karpenter:
        pools = [(each.zone_ids, _card_of(each)) for each in nodes if each.is_pool]
        words = "Karpenter node pools: nodes when pods ask for them" if pools else "Karpenter, without node pools"
        rows.extend([_caption(words, inner), *([grid.placed(pools)] if pools else [])])
    if storage := list(_storage(resolved)):
        rows.extend([_caption("Shared storage", inner), grid.placed(storage)])
    content = stacked(rows, gap=GAP)
    endpoints = stacked(list(_endpoints(resolved.network, inner)), gap=3)
    ground = grid.ground(content.height + 2 * 8)
    height = _PAD + title.height + GAP + ground.height + _PAD + (endpoints.height + _PAD if endpoints.height else 0)

    def draw(x: float, y: float) -> Html:
        top = y + _PAD + title.height + GAP
        return joined(
            [
                tag("rect", x=x, y=y, width=width, height=height, rx=10, class_="vpc"),
                title.draw(x + _PAD, y + _PAD),
                ground.draw(x + _PAD, top),
                content.draw(x + _PAD, top + 8),
                endpoints.draw(x + _PAD, top + ground.height + _PAD),
            ]
        )

    return Piece(width, height, draw)


def _card_of(nodes: NodeSet) -> Card:
    return lambda width, zones: node_card(nodes, width, zones)


def _storage(resolved: ResolvedStrategy) -> Iterator[tuple[tuple[str, ...], Card]]:
    storage = resolved.storage
    if lustre := storage.fsx_lustre:
        yield (lustre.zone_id,), lambda width, zones: lustre_card(lustre, width, zones)
    if efs := storage.efs:
        yield efs.zone_ids, lambda width, zones: efs_card(efs, width, zones)


def _caption(words: str, width: float) -> Piece:
    inner = text(words, HEADING, width - 16, "muted")
    return Piece(width, inner.height + 4, lambda x, y: inner.draw(x + 8, y + 4))


def _vpc_title(network: ResolvedNetwork, width: float) -> Piece:
    if network.existing:
        name = text(f"VPC {network.existing.vpc_id}", NAME, width)
        return flowing([name, pill("exists already", width)], width)
    pieces = [text(f"VPC {network.cidr}", NAME, width)]
    if network.pod_cidr:
        pieces.append(pill(f"{network.pod_cidr} for pods", width))
    if network.of_role(SubnetRole.PUBLIC):
        pieces.append(pill("internet gateway", width))
    return flowing(pieces, width)


def _zone(network: ResolvedNetwork, zone: str) -> Callable[[float], Piece]:
    def make(width: float) -> Piece:
        pieces = [text(zone, HEADING, width)]
        if zone in network.nat_zone_ids:
            pieces[0] = flowing([pieces[0], pill("NAT gateway", width, "nat")], width)
        elif zone in network.nat_zone_by_zone:
            pieces.append(text(f"out by NAT in {network.nat_zone_by_zone[zone]}", SMALL, width, "muted"))
        pieces.extend(text(line, SMALL_CODE, width, "muted") for line in _subnets(network, zone))
        return stacked(pieces, gap=2)

    return make


def _subnets(network: ResolvedNetwork, zone: str) -> Iterator[str]:
    if existing := network.existing:
        roles = {"private": existing.private, "control plane": existing.control_plane, "pods": existing.pod}
        yield from (f"{role} {ids[zone]}" for role, ids in roles.items() if zone in ids)
        return
    for subnet in network.subnets:
        if subnet.zone_id == zone:
            yield f"{subnet.role.value.replace('-', ' ')} {subnet.cidr}"


def _endpoints(network: ResolvedNetwork, width: float) -> Iterator[Piece]:
    kinds = {"Interface": network.interface_endpoints, "Gateway": network.gateway_endpoints}
    for kind, services in kinds.items():
        if services:
            plural = "" if len(services) == 1 else "s"
            yield text(f"{kind} endpoint{plural}: {', '.join(services)}", SMALL, width, "muted")


def _buckets(resolved: ResolvedStrategy, width: float) -> Piece:
    inner = width - 2 * _PAD
    names = [f"{each.name}{' (read only)' if each.read_only else ''}" for each in resolved.storage.buckets]
    pieces = [cylinder(), text("S3 buckets", NAME, inner), *(pill(name, inner) for name in names)]
    return framed(flowing(pieces, inner), width, "plane", _PAD)
