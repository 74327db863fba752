"""Chart values held against the keys that a chart version really has."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware.config import facts

# Helm hands these to every chart (https://helm.sh/docs/chart_template_guide/subcharts_and_globals/).
_ALWAYS = frozenset({"global"})

_ANYTHING = "*"


@dataclass(frozen=True)
class UnknownKey:
    """A key that a chart does not have.

    Attributes:
        path: the keys that lead to it, itself last.
        close: keys beside it that look like it.
    """

    path: tuple[str, ...]
    close: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


def unknown_keys(key: str, values: Mapping[str, Any]) -> list[UnknownKey]:
    """Every key of ``values`` that the recorded version of a chart lacks, in the order of the values."""
    known = {**facts.chart_keys(key)["keys"], **dict.fromkeys(_ALWAYS, _ANYTHING)}
    return list(_unknown(values, known, ()))


def _unknown(values: Mapping[str, Any], known: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[UnknownKey]:
    if _ANYTHING in known:
        return
    for name, value in values.items():
        path = (*above, str(name))
        if name not in known:
            yield UnknownKey(path, tuple(difflib.get_close_matches(str(name), known, n=1)))
        elif isinstance(value, Mapping) and known[name] != _ANYTHING:
            # A leaf has nothing below it.
            yield from _unknown(value, known[name] or {}, path)
