"""Unknown keys in chart values and other nested settings, compared with the recorded keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from eks_hardware import facts
from eks_hardware.suggestions import close

# Helm passes these to every chart (https://helm.sh/docs/chart_template_guide/subcharts_and_globals/).
_ALWAYS = frozenset({"global"})

_ANYTHING = "*"
_ANY_NAME = "<name>"


class UnknownKey(NamedTuple):
    """The path of an unknown key, and the known keys with similar names (``close``)."""

    path: tuple[str, ...]
    close: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


def unknown_keys(key: str, values: Mapping[str, object]) -> list[UnknownKey]:
    """Return every key of ``values`` that is not in the recorded version of a chart, in the order of the values."""
    known = {**facts.chart_keys(key)["keys"], **dict.fromkeys(_ALWAYS, _ANYTHING)}
    return list(unknown_below(values, known))


def unknown_below(
    values: Mapping[str, object], known: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[UnknownKey]:
    """Yield every key of ``values`` that is not in ``known``, at any depth; ``above`` are the parent keys.

    ``known`` is nested like the values: a leaf is None, ``"*"`` allows anything, ``"<name>"`` is a user-defined name.
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
            # A leaf has no keys.
            yield from unknown_below(value, below or {}, path)
