"""Cards: what lies in zones, each with a bar along its upper edge over the zones that it may be in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware.html_report.html import Html, joined, tag
from eks_hardware.html_report.nodes import NodeSet
from eks_hardware.html_report.shapes import (
    CODE,
    NAME,
    PLAIN,
    SMALL,
    SMALL_CODE,
    Piece,
    badge,
    beside,
    cylinder,
    devices,
    efa_mark,
    flowing,
    pill,
    stacked,
    text,
)
from eks_hardware.resolve import ResolvedEfs, ResolvedFsxLustre

_PAD = 11
_BAR = 5
_LABEL_HEIGHT = 17
_SIGN_ROOM = 28
_WIDE = 500
"""From this width in px on, everything but taints flows in the same lines."""


@dataclass(frozen=True)
class Segment:
    """One zone along the upper edge of a card.

    Attributes:
        x: from the left edge of the card, px.
        width: px.
        label: name of the zone below the bar, where no column shows it; empty without.
    """

    x: float
    width: float
    label: str = ""


def node_card(nodes: NodeSet, width: float, zones: Sequence[Segment]) -> Piece:
    """A node group, or a node pool with a broken frame."""
    inner = width - 2 * _PAD
    head = [
        beside(badge(nodes.hardware), text(nodes.name, NAME, inner - _SIGN_ROOM)),
        text(nodes.types, CODE, inner),
    ]
    if nodes.devices:
        fewest, most, words = nodes.devices.fewest, nodes.devices.most, nodes.devices.text
        squares = devices(fewest, most, nodes.hardware, inner)
        label = text(words, PLAIN, inner)
        row = beside(squares, label)
        head.append(row if row.width <= inner else stacked([squares, label]))
    pills = [pill(nodes.size, inner), pill(nodes.capacity, inner), *(pill(mark, inner) for mark in nodes.marks)]
    if nodes.efa:
        pills.insert(0, efa_mark(nodes.efa))
    rows = [flowing(head + pills, inner)] if inner >= _WIDE else [flowing(head, inner), flowing(pills, inner)]
    if nodes.taints:
        rows.append(text(f"taint {', '.join(nodes.taints)}", SMALL_CODE, inner, "muted"))
    return _card(rows, width, zones, f"card {'pool' if nodes.is_pool else 'group'}", str(nodes.hardware))


def lustre_card(lustre: ResolvedFsxLustre, width: float, zones: Sequence[Segment]) -> Piece:
    """An FSx for Lustre file system."""
    return _storage_card("FSx for Lustre", f"{lustre.size_gib:,} GiB, {lustre.deployment_type}", width, zones)


def efs_card(efs: ResolvedEfs, width: float, zones: Sequence[Segment]) -> Piece:
    """An EFS file system."""
    return _storage_card("EFS", f"{efs.throughput_mode} throughput, a mount target a zone", width, zones)


def _storage_card(name: str, words: str, width: float, zones: Sequence[Segment]) -> Piece:
    inner = width - 2 * _PAD
    head = [beside(cylinder(), text(name, NAME, inner - _SIGN_ROOM)), text(words, SMALL, inner, "muted")]
    return _card([flowing(head, inner)], width, zones, "card group", "storage")


def _card(rows: Sequence[Piece], width: float, zones: Sequence[Segment], class_: str, bar: str) -> Piece:
    content = stacked(rows, gap=8)
    top = _BAR + (_LABEL_HEIGHT if any(zone.label for zone in zones) else 0) + 8
    height = top + content.height + 10

    def draw(x: float, y: float) -> Html:
        # The bar lies below the card, which covers all but its upper part: the corners stay round.
        drawn = [tag("rect", x=x, y=y, width=width, height=height, rx=7, class_=class_)]
        for zone in zones:
            drawn.append(
                tag("rect", x=x + zone.x, y=y, width=zone.width, height=_BAR, rx=2, class_=f"bar {bar}"),
            )
            if zone.label:
                label = text(zone.label, SMALL, zone.width, "muted")
                drawn.append(label.draw(x + zone.x + max(0, (zone.width - label.width) / 2), y + _BAR + 2))
        drawn.append(content.draw(x + _PAD, y + top))
        return tag("g", joined(drawn))

    return Piece(width, height, draw)
