"""YAML with comments above fields, by the paths of the fields."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from eks_hardware.kubernetes.yaml_text import yaml_text

Path = tuple[str | int, ...]
Notes = dict[Path, str]
"""A short comment for each path. Comments for missing paths are omitted."""

_WIDTH = 100


def below(prefix: Path, notes: Mapping[Path, str]) -> Notes:
    """Return notes of a part with paths of the whole object."""
    return {(*prefix, *path): text for path, text in notes.items()}


def commented(value: Mapping[str, object], notes: Mapping[Path, str], *, head: Sequence[str] = ()) -> str:
    """Return one YAML document with comments at its top."""
    lines = [line for text in head for line in textwrap.wrap(text, _WIDTH)]
    return "".join(f"# {line}\n" for line in lines) + _text(value, notes, ())


def _has_notes_below(notes: Mapping[Path, str], at: Path) -> bool:
    return any(path[: len(at)] == at and len(path) > len(at) for path in notes)


def _text(value: Any, notes: Mapping[Path, str], at: Path) -> str:
    if not _has_notes_below(notes, at):
        return yaml_text(value)
    if isinstance(value, Mapping):
        return "".join(_field(key, each, notes, (*at, key)) for key, each in value.items())
    items = (textwrap.indent(_text(each, notes, (*at, index)), "  ") for index, each in enumerate(value))
    return "".join(f"- {item[2:]}" for item in items)


# Writing a line takes a tenth of a millisecond, and most lines are the same in all manifests. Typed, because 1 and True
# are equal.
@lru_cache(maxsize=1024, typed=True)
def _line(key: str, value: object) -> str:
    return yaml_text({key: value})


def _field(key: str, value: object, notes: Mapping[Path, str], at: Path) -> str:
    note = f"# {notes[at]}\n" if at in notes else ""
    if not isinstance(value, Mapping | list) or not value or not _has_notes_below(notes, at):
        return note + (yaml_text({key: value}) if isinstance(value, Mapping | list) else _line(key, value))
    # The key as the YAML writer formats it, with its value below.
    name = _line(key, None).partition(":")[0]
    inside = _text(value, notes, at)
    return f"{note}{name}:\n{inside if isinstance(value, list) else textwrap.indent(inside, '  ')}"
