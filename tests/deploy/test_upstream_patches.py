"""The patches that we offer to ministack apply to the installed version, and their tests need them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from eks_hardware.local.emulator import Emulator
from helpers.paths import ROOT, TESTS

FOLDER = TESTS / "upstream" / "ministack"
PATCHES = sorted(FOLDER.glob("*.patch"))
NAMES = [patch.name for patch in PATCHES]
# As in the project's tests/conftest.py.
CONFTEST = """
import os
import boto3
import pytest

def make_client(service):
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client(service, endpoint_url=os.environ["MINISTACK_ENDPOINT"], region_name="us-east-1", **keys)

@pytest.fixture(scope="session")
def ec2():
    return make_client("ec2")

@pytest.fixture(scope="session")
def eks():
    return make_client("eks")
"""
_OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) tests/(\w+\.py)::", re.MULTILINE)
_TEST_FILE = re.compile(r"^\+\+\+ b/tests/(\w+\.py)$", re.MULTILINE)


def _copy(into: Path) -> Path:
    spec = importlib.util.find_spec("ministack")
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, into / "ministack", ignore=shutil.ignore_patterns("__pycache__"))
    return into


def _apply(patch: Path, to: Path, *options: str) -> None:
    # In a repository, git would skip files outside it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(to.parent)}
    done = subprocess.run(
        ["git", "apply", *options, str(patch)], cwd=to, env=environment, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, f"{patch.name}: {done.stderr}"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _copy(tmp_path_factory.mktemp("released"))


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = _copy(tmp_path_factory.mktemp("patched"))
    for patch in PATCHES:
        _apply(patch, copy)
    (copy / "tests" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    return copy


@pytest.fixture(scope="module")
def outcomes(released: Path, patched: Path) -> Mapping[str, Mapping[str, set[str]]]:
    """Return the outcomes by test file, of the released and of the patched ministack."""
    found: dict[str, dict[str, set[str]]] = {}
    for name, copy in (("released", released), ("patched", patched)):
        path = os.pathsep.join(map(str, (copy, ROOT)))
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setenv("PYTHONPATH", path)
            with Emulator(copy / "log", patched=False) as emulator:
                environment = {**emulator.environment(), "MINISTACK_ENDPOINT": emulator.endpoint_url}
                ran = subprocess.run(
                    [sys.executable, "-m", "pytest", "-c", os.devnull, "-q", "-rA", "--tb=no", "-n", "0", "tests"],
                    capture_output=True,
                    check=False,
                    cwd=patched,
                    env=environment,
                    text=True,
                )
        found[name] = {}
        for outcome, file in _OUTCOME.findall(ran.stdout):
            found[name].setdefault(file, set()).add(outcome)
    return found


@pytest.mark.parametrize("patch", PATCHES, ids=NAMES)
def test_a_patch_applies_without_the_others(patch: Path, released: Path) -> None:
    _apply(patch, released, "--check")


@pytest.mark.parametrize("patch", PATCHES, ids=NAMES)
def test_its_tests_pass_with_it_and_fail_without(patch: Path, outcomes: Mapping[str, Mapping[str, set[str]]]) -> None:
    (file,) = _TEST_FILE.findall(patch.read_text(encoding="utf-8"))
    assert outcomes["patched"][file] == {"PASSED"}
    assert outcomes["released"][file] & {"FAILED", "ERROR"}


def test_the_readme_describes_every_patch() -> None:
    rows = re.findall(r"^\| `(\S+\.patch)`", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == NAMES
