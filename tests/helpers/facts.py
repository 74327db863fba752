"""The data files, for tests of all of them."""

from __future__ import annotations

from eks_hardware import facts
from eks_hardware.data import DataFile

FILES = {name: each for name, each in vars(facts).items() if isinstance(each, DataFile)}
ABOUT_THE_FILE = {
    "version",
    "_about",
    "as_of",
    "checked",
    "how",
    "note",
    "provider",
    "published",
    "source",
    "sources",
    "unit",
}
"""Keys about the file as a whole, and not about its subject."""
