"""YAML with comments above fields, by the paths of the fields."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from eks_hardware.kubernetes.yaml_text import yaml_text

Path = tuple[str | int, ...]
Notes = dict[Path, str]
"""A short sentence for each path; one for a path that is not there is left out."""

_WIDTH = 100


def below(prefix: Path, notes: Mapping[Path, str]) -> Notes:
    """Notes of a part, as notes of the whole."""
    return {(*prefix, *path): text for path, text in notes.items()}


def commented(value: Mapping[str, Any], notes: Mapping[Path, str], *, head: Sequence[str] = ()) -> str:
    """One YAML document.

    Args:
        head: sentences above it.
    """
    lines = [line for text in head for line in textwrap.wrap(text, _WIDTH)]
    return "".join(f"# {line}\n" for line in lines) + _text(value, notes, ())


def _text(value: Any, notes: Mapping[Path, str], at: Path) -> str:
    if not any(path[: len(at)] == at and len(path) > len(at) for path in notes):
        return yaml_text(value)
    if isinstance(value, Mapping):
        return "".join(_field(key, each, notes, (*at, key)) for key, each in value.items())
    return "".join(_item(each, notes, (*at, index)) for index, each in enumerate(value))


def _field(key: str, value: Any, notes: Mapping[Path, str], at: Path) -> str:
    note = f"# {notes[at]}\n" if at in notes else ""
    nested = isinstance(value, Mapping | list) and value
    if not nested or not any(path[: len(at)] == at and len(path) > len(at) for path in notes):
        return note + yaml_text({key: value})
    # The key as the writer writes it, with its value below.
    name = yaml_text({key: None}).partition(":")[0]
    inside = _text(value, notes, at)
    return f"{note}{name}:\n{inside if isinstance(value, list) else textwrap.indent(inside, '  ')}"


def _item(value: Any, notes: Mapping[Path, str], at: Path) -> str:
    inside = textwrap.indent(_text(value, notes, at), "  ")
    return f"- {inside[2:]}"
