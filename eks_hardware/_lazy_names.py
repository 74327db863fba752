"""Packages whose names are imported when they are asked for, so that nothing starts Node that does not need it."""

from __future__ import annotations

import sys
from importlib import import_module

# Not from `typing`, which with `pathlib` would take as long to import as all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, by the names that each of its modules has, divided by blanks."""
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get, names
