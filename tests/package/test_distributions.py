"""The published files: everything that the code reads, and nothing else."""

from __future__ import annotations

import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import eks_hardware
from helpers.installed import Distributions
from helpers.paths import ROOT

NAME = f"eks_hardware-{eks_hardware.__version__}"
DIST_INFO = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt"}
EGG_INFO = {"PKG-INFO", "SOURCES.txt", "dependency_links.txt", "entry_points.txt", "requires.txt", "top_level.txt"}
BESIDE_THE_CODE = {"CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"}


def not_the_same(found: set[str], expected: set[str]) -> tuple[list[str], list[str]]:
    """Return missing and unexpected files."""
    return sorted(expected - found), sorted(found - expected)


@pytest.fixture(scope="module")
def wheel(distributions: Distributions) -> zipfile.ZipFile:
    return zipfile.ZipFile(distributions.wheel)


def test_the_wheel_has_every_file_and_nothing_else(distributions: Distributions, wheel: zipfile.ZipFile) -> None:
    expected = distributions.code_files() | {f"{NAME}.dist-info/{each}" for each in DIST_INFO}
    assert not_the_same(set(wheel.namelist()), expected) == ([], [])


@pytest.mark.parametrize(
    "file",
    [
        "config/strategies/mixed-hardware.yaml",
        "config/overlays/private.yaml",
        "config/strategy.schema.json",
        "config/performance/accelerators.json",
        "kubernetes/chart/Chart.yaml",
        "lazy_providers.js",
        "new_project/files/cdktf.json",
        "py.typed",
    ],
)
def test_files_of_the_wheel_are_those_of_the_checkout(wheel: zipfile.ZipFile, file: str) -> None:
    """The files named in this test's issue: catalogue, strategies, chart, schema, type marker."""
    assert wheel.read(f"eks_hardware/{file}") == (ROOT / "eks_hardware" / file).read_bytes()


def test_the_sdist_builds_the_wheel_and_has_nothing_else(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = {member.name for member in archive.getmembers() if not member.isdir()}
    egg_info = {f"eks_hardware.egg-info/{each}" for each in EGG_INFO}
    expected = distributions.code_files() | BESIDE_THE_CODE | egg_info | {"PKG-INFO", "setup.cfg"}
    assert not_the_same(names, {f"{NAME}/{each}" for each in expected}) == ([], [])


def test_metadata(wheel: zipfile.ZipFile) -> None:
    metadata = message_from_string(wheel.read(f"{NAME}.dist-info/METADATA").decode())
    assert {key: metadata[key] for key in ("Name", "Version", "Requires-Python", "License-Expression")} == {
        "Name": "eks-hardware",
        "Version": eks_hardware.__version__,
        "Requires-Python": ">=3.10",
        "License-Expression": "Apache-2.0",
    }
    assert {"doctor", "local"} <= set(metadata.get_all("Provides-Extra", []))
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_one_command(wheel: zipfile.ZipFile) -> None:
    text = wheel.read(f"{NAME}.dist-info/entry_points.txt").decode()
    assert text.split() == ["[console_scripts]", "eks-hardware", "=", "eks_hardware._startup:command"]


def test_the_only_top_level_name_is_ours(wheel: zipfile.ZipFile) -> None:
    """A ``constructs`` package in the wheel would hide the library that CDKTF uses."""
    assert {Path(name).parts[0] for name in wheel.namelist()} == {"eks_hardware", f"{NAME}.dist-info"}
