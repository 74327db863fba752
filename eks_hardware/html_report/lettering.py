"""How wide text is, and where it breaks, for a page that is drawn before anyone knows the font.

Widths are those of DejaVu Sans, the widest of the fonts that ``system-ui`` stands for, so that text in any other takes
less room than is kept for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

# Hundredths of the font size, by character: as a browser measures DejaVu Sans and DejaVu Sans Bold, rounded up.
_REGULAR = {
    29: "Iijl'",
    36: " ,./:;|\\-f·",
    42: "()[]!rt",
    59: 'ckJsvxyz"*?_`–',
    64: "0123456789abdeghnopquEFLPSTY$",
    70: "ABCKRVXZ",
    80: "DGHNOQU&",
    86: "Mw×+<>=",
}
_BOLD = {
    38: "IJijl',.:;/|\\ ·",
    50: "()[]-!frt",
    60: 'csz"*?_`–',
    73: "0123456789abdeghknopquvxyCEFLPSTY$",
    85: "ABDGHKNOQRUVXZ&×+<>=",
    92: "w",
}
_WIDEST = 110
_MONOSPACED = 61
_WIDTHS = {
    bold: {character: width for width, characters in table.items() for character in characters}
    for bold, table in ((False, _REGULAR), (True, _BOLD))
}

# A word may break after these: names and types are long and have no spaces.
_PARTS = re.compile(r"[^\-/.,:=]+[\-/.,:=]*|[\-/.,:=]+")


class _Part(NamedTuple):
    text: str
    starts_word: bool


@dataclass(frozen=True)
class Lettering:
    """How a text is set.

    Attributes:
        size: font size in px.
        bold: whether it is bold.
        monospaced: whether all characters are equally wide.
    """

    size: float
    bold: bool = False
    monospaced: bool = False

    @property
    def line_height(self) -> float:
        """Height of a line in px."""
        return round(self.size * 1.35)

    def width(self, text: str) -> float:
        """Room in px that a text takes at most."""
        return _hundredths(text, self.bold, self.monospaced) * self.size / 100

    def wrapped(self, text: str, width: float) -> list[str]:
        """The text in lines of at most this width: broken at spaces, within a word only where that alone is wider."""
        lines = [""]
        for word in text.split():
            for part in self._parts(word, width):
                joint = " " if lines[-1] and part.starts_word else ""
                if lines[-1] and self.width(f"{lines[-1]}{joint}{part.text}") > width:
                    lines.append(part.text)
                else:
                    lines[-1] += f"{joint}{part.text}"
        return lines

    def _parts(self, word: str, width: float) -> Iterator[_Part]:
        """The word; in parts that fit, at its punctuation if it has some, where it is too wide for a line."""
        parts = [word] if self.width(word) <= width else _PARTS.findall(word)
        starts_word = True
        for part in parts:
            while len(part) > 1 and self.width(part) > width:
                fits = max(1, self._fitting(part, width))
                yield _Part(part[:fits], starts_word)
                part, starts_word = part[fits:], False
            yield _Part(part, starts_word)
            starts_word = False

    def _fitting(self, text: str, width: float) -> int:
        """How many characters from the start fit."""
        room = width * 100 / self.size
        for index, character in enumerate(text):
            room -= _character(character, self.bold, self.monospaced)
            if room < 0:
                return index
        return len(text)


@lru_cache(maxsize=4096)
def _hundredths(text: str, bold: bool, monospaced: bool) -> int:
    return sum(_character(each, bold, monospaced) for each in text)


def _character(character: str, bold: bool, monospaced: bool) -> int:
    if not character.isascii() and unicodedata.east_asian_width(character) in "WF":
        return _WIDEST
    return _MONOSPACED if monospaced else _WIDTHS[bold].get(character, _WIDEST)
