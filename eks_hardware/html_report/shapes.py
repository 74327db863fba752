"""Pieces of the drawing: text, pills, badges, rows of devices; and how they flow in lines within a width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from eks_hardware.catalogue import Hardware
from eks_hardware.html_report.html import Html, joined, tag
from eks_hardware.html_report.lettering import Lettering

NAME = Lettering(14, bold=True)
HEADING = Lettering(12.5, bold=True)
PLAIN = Lettering(12)
CODE = Lettering(12, monospaced=True)
SMALL = Lettering(11)
SMALL_CODE = Lettering(11, monospaced=True)

_GAP = 12
_LINE_GAP = 5


@dataclass(frozen=True)
class Piece:
    """Something of a known size; ``draw`` gives it at a place (x, y of its upper left corner)."""

    width: float
    height: float
    draw: Callable[[float, float], Html]


# -- text


def text(content: str, lettering: Lettering, width: float, class_: str = "ink", *, centred: bool = False) -> Piece:
    """Text in as many lines as it needs."""
    lines = lettering.wrapped(content, width)
    height = lettering.line_height
    widest = round(max(map(lettering.width, lines)), 1)

    def draw(x: float, y: float) -> Html:
        left = round(x + widest / 2 if centred else x, 1)
        spans = [
            tag("tspan", line, x=left, y=round(y + height * index + lettering.size, 1))
            for index, line in enumerate(lines)
        ]
        return tag(
            "text",
            spans,
            class_=f"{class_} mono" if lettering.monospaced else class_,
            font_size=lettering.size,
            font_weight=700 if lettering.bold else None,
            text_anchor="middle" if centred else None,
        )

    return Piece(widest, height * len(lines), draw)


def pill(content: str, width: float, class_: str = "") -> Piece:
    """Text in a frame with round ends."""
    pad = 9
    inner = text(content, SMALL, width - 2 * pad, centred=True)
    height = inner.height + 5

    def draw(x: float, y: float) -> Html:
        frame = tag(
            "rect", x=x, y=y, width=inner.width + 2 * pad, height=height, rx=10, class_=f"pill {class_}".rstrip()
        )
        return joined([frame, inner.draw(x + pad, y + 2)])

    return Piece(inner.width + 2 * pad, height, draw)


# -- hardware: told apart by shape and letter, and then by colour

_BADGE = 20
_SHAPES: dict[Hardware, tuple[str, str]] = {
    Hardware.NVIDIA_GPU: ("G", "M2 1H18V19H2Z"),
    Hardware.TRAINIUM: ("T", "M10 0L19 5V15L10 20L1 15V5Z"),
    Hardware.INFERENTIA: ("I", "M10 -1L21 10L10 21L-1 10Z"),
    Hardware.CPU: ("C", "M10 0A10 10 0 0 1 10 20A10 10 0 0 1 10 0Z"),
    Hardware.OTHER: ("O", "M6 0H14L20 6V14L14 20H6L0 14V6Z"),
}
HARDWARE_NAMES: dict[Hardware, str] = {
    Hardware.NVIDIA_GPU: "NVIDIA GPU",
    Hardware.TRAINIUM: "Trainium",
    Hardware.INFERENTIA: "Inferentia",
    Hardware.CPU: "CPU",
    Hardware.OTHER: "other accelerator",
}


def badge(hardware: Hardware) -> Piece:
    """The sign of a kind of hardware."""
    letter, path = _SHAPES[hardware]

    def draw(x: float, y: float) -> Html:
        return tag(
            "g",
            tag("path", d=path, class_=f"badge {hardware}"),
            tag("text", letter, x=10, y=14, text_anchor="middle", class_="on-badge", font_size=11.5, font_weight=700),
            transform=f"translate({x:g} {y:g})",
        )

    return Piece(_BADGE, _BADGE, draw)


def devices(fewest: int, most: int, hardware: Hardware, width: float) -> Piece:
    """One square a device of a node; those that only larger types have are hollow."""
    size, gap = 9, 3
    a_row = max(1, min(most, int((width + gap) // (size + gap))))
    rows = -(-most // a_row)

    def draw(x: float, y: float) -> Html:
        return joined(
            tag(
                "rect",
                x=x + index % a_row * (size + gap) + 0.5,
                y=y + index // a_row * (size + gap) + 0.5,
                width=size - 1,
                height=size - 1,
                rx=1.5,
                class_=f"device {hardware}" if index < fewest else f"device hollow {hardware}",
            )
            for index in range(most)
        )

    return Piece(a_row * (size + gap) - gap, rows * (size + gap) - gap, draw)


def efa_mark(interfaces: int) -> Piece:
    """EFA with its number of interfaces, on a ground of its own."""
    inner = text(f"EFA × {interfaces}", Lettering(11, bold=True), 200, "on-efa")
    width, height = inner.width + 34, 20

    def draw(x: float, y: float) -> Html:
        # Two arrows, there and back.
        arrows = "M0 3H11M8 0L11 3L8 6M12 9H1M4 6L1 9L4 12"
        return joined(
            [
                tag("rect", x=x, y=y, width=width, height=height, rx=4, class_="efa"),
                tag("path", d=arrows, class_="efa-arrows", transform=f"translate({x + 7:g} {y + 4:g})"),
                inner.draw(x + 25, y + 2.5),
            ]
        )

    return Piece(width, height, draw)


def cylinder() -> Piece:
    """The sign of a file system."""

    def draw(x: float, y: float) -> Html:
        body = "M1 4V16C1 20 19 20 19 16V4C19 0 1 0 1 4C1 8 19 8 19 4"
        return tag("path", d=body, class_="sign", transform=f"translate({x:g} {y:g})")

    return Piece(_BADGE, _BADGE, draw)


# -- arranging


def beside(*pieces: Piece, gap: float = 7) -> Piece:
    """Pieces in one line that never breaks, each in the middle of its height."""
    height = max(piece.height for piece in pieces)

    def draw(x: float, y: float) -> Html:
        drawn = []
        for piece in pieces:
            drawn.append(piece.draw(x, round(y + (height - piece.height) / 2, 1)))
            x += piece.width + gap
        return joined(drawn)

    return Piece(sum(piece.width for piece in pieces) + gap * (len(pieces) - 1), height, draw)


def flowing(pieces: Iterable[Piece], width: float) -> Piece:
    """Pieces in lines, as many to a line as there is room for."""
    lines: list[list[Piece]] = [[]]
    for piece in pieces:
        if lines[-1] and beside(*lines[-1], piece, gap=_GAP).width > width:
            lines.append([])
        lines[-1].append(piece)
    return stacked([beside(*line, gap=_GAP) for line in lines if line])


def stacked(pieces: Sequence[Piece], gap: float = _LINE_GAP) -> Piece:
    """Pieces below each other."""
    height = sum(piece.height for piece in pieces) + gap * max(0, len(pieces) - 1)

    def draw(x: float, y: float) -> Html:
        drawn = []
        for piece in pieces:
            drawn.append(piece.draw(x, y))
            y += piece.height + gap
        return joined(drawn)

    return Piece(max((piece.width for piece in pieces), default=0), height, draw)


def framed(content: Piece, width: float, class_: str, pad: float = 8) -> Piece:
    """Something in a frame."""
    height = content.height + 2 * pad

    def draw(x: float, y: float) -> Html:
        frame = tag("rect", x=x, y=y, width=width, height=height, rx=8, class_=class_)
        return joined([frame, content.draw(x + pad, y + pad)])

    return Piece(width, height, draw)
