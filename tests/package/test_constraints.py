"""Pinned versions: each Python that the project supports can install its pins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers.checkov import CONSTRAINTS
from helpers.paths import ROOT

PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def accepted_pythons(environment: Path) -> Mapping[str, SpecifierSet]:
    """Return the Python versions that each installed release accepts, by ``name==version``."""
    folders = map(str, environment.glob("lib/python*/site-packages"))
    return {
        f"{canonicalize_name(each.metadata['Name'])}=={each.version}": SpecifierSet(
            each.metadata["Requires-Python"] or ""
        )
        for each in distributions(path=list(folders))
    }


def pins(file: Path, python: str) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            if not pin.marker or pin.marker.evaluate({"python_version": python, "python_full_version": f"{python}.99"}):
                yield f"{canonicalize_name(pin.name)}{pin.specifier}"


@pytest.mark.parametrize(("file", "environment"), [("constraints.txt", ".venv"), (CONSTRAINTS.name, ".venv/scan")])
def test_every_supported_python_can_install_the_pins(file: str, environment: str) -> None:
    """A pin without a marker is installed here, so its metadata says which Pythons accept it."""
    accepted = accepted_pythons(ROOT / environment)
    refused = [
        f"{pin} is not for Python {python}; add a pin with a marker"
        for python in PYTHONS
        for pin in pins(ROOT / file, python)
        if pin in accepted and f"{python}.99" not in accepted[pin]
    ]
    assert accepted
    assert refused == []
