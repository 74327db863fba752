"""Chart values held against the keys that a chart version really has; and other nested settings likewise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware import facts
from eks_hardware.suggestions import close

# Helm hands these to every chart (https://helm.sh/docs/chart_template_guide/subcharts_and_globals/).
_ALWAYS = frozenset({"global"})

_ANYTHING = "*"
_ANY_NAME = "<name>"


@dataclass(frozen=True)
class UnknownKey:
    """A key that there is not.

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
    return list(unknown_below(values, known))


def unknown_below(
    values: Mapping[str, Any], known: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[UnknownKey]:
    """Every key of ``values`` that ``known`` lacks, at any depth.

    Args:
        values: nested as they are written.
        known: the names there are, nested alike: a leaf is None, ``"*"`` stands for anything below it,
            ``"<name>"`` for a name of one's own choice.
        above: the keys that lead here.
    """
    if _ANYTHING in known:
        return
    others = known.get(_ANY_NAME)
    for name, value in values.items():
        path = (*above, str(name))
        if name not in known and others is None:
            yield UnknownKey(path, close(str(name), known))
            continue
        below = known.get(name, others)
        if isinstance(value, Mapping) and below != _ANYTHING:
            # A leaf has nothing below it.
            yield from unknown_below(value, below or {}, path)
