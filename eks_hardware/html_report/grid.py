"""Where things lie in the VPC: zones as columns where these are wide enough, and as a strip on every card otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from eks_hardware.html_report.card import Segment
from eks_hardware.html_report.html import Html, joined, tag
from eks_hardware.html_report.shapes import Piece, framed, stacked

GAP = 10
_LEAST_COLUMN = 165
"""Narrower columns in px would break names and types too often."""
_LEAST_ZONE = 210

Card: TypeAlias = Callable[[float, Sequence[Segment]], Piece]
"""A card for a width and the zones along it."""


class Grid(Protocol):
    """How zones are shown."""

    def centre(self, zone: str) -> float | None:
        """Middle of a zone's column; None without columns."""

    def head(self, zones: Sequence[tuple[str, Callable[[float], Piece]]]) -> Piece:
        """What is said of each zone, for the width that there is."""

    def ground(self, height: float) -> Piece:
        """What lies below the cards."""

    def placed(self, cards: Sequence[tuple[tuple[str, ...], Card]]) -> Piece:
        """Cards, each with the zones that it is in."""


def grid_of(zones: Sequence[str], width: float) -> Grid:
    """The grid for some zones within a width."""
    column = (width - GAP * (len(zones) - 1)) / len(zones)
    return _Columns(zones, column) if column >= _LEAST_COLUMN else _Strips(zones, width)


class _Columns:
    """Zones side by side; a card spans from its first zone to its last, and sinks until it lies on something."""

    def __init__(self, zones: Sequence[str], column: float) -> None:
        self._zones = zones
        self._column = column

    def left(self, zone: str) -> float:
        """Left edge of a zone's column."""
        return self._zones.index(zone) * (self._column + GAP)

    def centre(self, zone: str) -> float | None:
        """Middle of a zone's column."""
        return self.left(zone) + self._column / 2

    def head(self, zones: Sequence[tuple[str, Callable[[float], Piece]]]) -> Piece:
        """What is said of each zone, at the top of its column."""
        pieces = [(self.left(zone), make(self._column - 16)) for zone, make in zones]
        height = max(piece.height for _, piece in pieces)
        return Piece(0, height, lambda x, y: joined(piece.draw(x + left + 8, y) for left, piece in pieces))

    def ground(self, height: float) -> Piece:
        """The columns themselves."""

        def draw(x: float, y: float) -> Html:
            return joined(
                tag("rect", x=x + self.left(zone), y=y, width=self._column, height=height, rx=6, class_="zone")
                for zone in self._zones
            )

        return Piece(0, height, draw)

    def placed(self, cards: Sequence[tuple[tuple[str, ...], Card]]) -> Piece:
        """Cards, each below what is above it in its columns."""
        filled = [0.0] * len(self._zones)
        pieces = []
        for zone_ids, make in cards:
            within = sorted(self._zones.index(zone) for zone in zone_ids)
            first, last = within[0], within[-1]
            left = self.left(self._zones[first]) + 6
            width = self.left(self._zones[last]) + self._column - 6 - left
            segments = [Segment(self.left(self._zones[index]) + 6 - left, self._column - 12) for index in within]
            card = make(width, segments)
            y = max(filled[first : last + 1])
            pieces.append((left, y, card))
            filled[first : last + 1] = [y + card.height + GAP] * (last - first + 1)
        height = max(0.0, max(filled) - GAP)
        return Piece(0, height, lambda x, y: joined(card.draw(x + left, y + top) for left, top, card in pieces))


class _Strips:
    """Cards as wide as the drawing, below each other, each with its zones as a strip."""

    def __init__(self, zones: Sequence[str], width: float) -> None:
        self._zones = zones
        self._width = width

    def centre(self, zone: str) -> float | None:  # noqa: ARG002
        """There are no columns."""
        return None

    def head(self, zones: Sequence[tuple[str, Callable[[float], Piece]]]) -> Piece:
        """What is said of each zone, as many beside each other as there is room for."""
        a_row = max(1, int((self._width + GAP) // (_LEAST_ZONE + GAP)))
        width = (self._width - GAP * (a_row - 1)) / a_row
        pieces = [framed(make(width - 16), width, "zone") for _, make in zones]
        rows = [pieces[start : start + a_row] for start in range(0, len(pieces), a_row)]
        return stacked([_row(row) for row in rows], gap=GAP)

    def ground(self, height: float) -> Piece:
        """Nothing."""
        return Piece(0, height, lambda _x, _y: Html())

    def placed(self, cards: Sequence[tuple[tuple[str, ...], Card]]) -> Piece:
        """Cards below each other."""
        cell = (self._width - 12) / len(self._zones)
        pieces = [
            make(
                self._width,
                [
                    Segment(6 + index * cell + 2, cell - 4, zone.rpartition("-")[2])
                    for index, zone in enumerate(self._zones)
                    if zone in zone_ids
                ],
            )
            for zone_ids, make in cards
        ]
        return stacked(pieces, gap=GAP)


def _row(pieces: Sequence[Piece]) -> Piece:
    """Pieces beside each other, their upper edges in a line."""
    height = max(piece.height for piece in pieces)

    def draw(x: float, y: float) -> Html:
        drawn = []
        for piece in pieces:
            drawn.append(piece.draw(x, y))
            x += piece.width + GAP
        return joined(drawn)

    return Piece(sum(piece.width for piece in pieces) + GAP * (len(pieces) - 1), height, draw)
