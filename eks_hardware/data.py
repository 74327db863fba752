"""The data files in ``config/``: strategies, overlays, and all tables of facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Generic, TypeVar, cast

# Twice as fast as the standard library, and every command that reads facts imports pydantic for the models anyway.
from pydantic_core import from_json

Content = TypeVar("Content")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

FOLDER = Path(__file__).parent / "config"
"""``config/`` in a checkout, through a symbolic link, or its copy in an installed package."""


@cache
def read(name: str, folder: Path = FOLDER) -> Any:
    """Return the parsed JSON file at a path below ``config/``, or below another folder with the same layout; cached."""
    # Caching the strings of values, too, would take a sixth longer: few are equal.
    return from_json((folder / name).read_bytes(), cache_strings="keys")


@dataclass(frozen=True)
class Cited(Generic[T_co]):
    """A value from a data file, with its source: file, path in the file, origin and date.

    ``str()`` returns the source.
    """

    value: T_co
    source: str

    def __str__(self) -> str:
        return self.source

    def part(self, select: Callable[[T_co], T]) -> Cited[T]:
        """Return one value of the row, with the row's source."""
        return Cited(select(self.value), self.source)


class _Path:
    """A path in a file. Subscripting follows and records a key; at the end of the path it returns the value."""

    __slots__ = ("keys", "value")

    def __init__(self, content: Any) -> None:
        self.keys: list[str] = []
        self.value = content

    def __getitem__(self, key: str) -> object:
        self.value = self.value[key]
        self.keys.append(key)
        return self if isinstance(self.value, dict) else self.value


@dataclass(frozen=True)
class DataFile(Generic[Content]):
    """A JSON file in ``config/``. Call it to get its content, which is parsed once and must not be modified.

    Examples:
        >>> table: DataFile[dict[str, str]] = DataFile("policy/ranking.json")
        >>> table()["as_of"]
        '2026-11-21'
    """

    name: str

    def __call__(self, folder: Path | None = None) -> Content:
        """Return the content of the file, or of the same file in another folder with the same layout."""
        # Inner loops read facts, and the name alone is a faster cache key.
        content: Content = read(self.name) if folder is None else read(self.name, folder)
        return content

    def cite(self, select: Callable[[Content], T]) -> Cited[T]:
        """Return a value with its source, so that the cited row is always the row that was read.

        ``select`` may only subscript. Type checkers know the keys from the file's type.

        Raises:
            KeyError: if the file does not have the value.
            ValueError: if ``select`` returns anything but the value that it reads.

        Examples:
            >>> table: DataFile[dict[str, str]] = DataFile("policy/ranking.json")
            >>> table.cite(lambda file: file["as_of"]).source.split(", ")[0]
            'policy/ranking.json as_of'
        """
        code = _constant_code(select)
        if code is None or (cited := _CITED.get((self.name, code))) is None:
            path = _Path(self())
            selected = select(cast("Content", path))
            if selected is not path and selected is not path.value:
                raise ValueError(f"{self.name} {'.'.join(path.keys)}: a citation must return the value that it reads")
            cited = Cited(path.value, _source(self.name, tuple(path.keys)))
            if code:
                _CITED[self.name, code] = cited
        return cited


_CITED: dict[tuple[str, CodeType], Cited[Any]] = {}


def _constant_code(select: object) -> CodeType | None:
    """Return a function's code if it always selects the same value, without closure, defaults or globals."""
    if not isinstance(select, FunctionType) or select.__closure__ or select.__defaults__ or select.__kwdefaults__:
        return None
    return None if select.__code__.co_names else select.__code__


@cache
def _source(name: str, keys: tuple[str, ...]) -> str:
    """Return the file and path of a value, with the innermost ``source`` and ``as_of`` along the path."""
    content: Any = read(name)
    origin: dict[str, str] = {}
    for key in (*keys, None):
        if isinstance(content, dict):
            origin |= {each: content[each] for each in ("source", "as_of") if isinstance(content.get(each), str)}
        content = content if key is None else content[key]
    # The source comes before the date, wherever each of them was found.
    return ", ".join([f"{name} {'.'.join(keys)}", *(origin[each] for each in ("source", "as_of") if each in origin)])
