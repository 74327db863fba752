"""The commands of the installed wheel, in a folder with only strategies."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import eks_hardware
from eks_hardware.cli import COMMANDS
from helpers import cli
from helpers.installed import Installed
from helpers.paths import ROOT, SHIPPED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two strategies, and without ``cdktf.json``."""
    (tmp_path / "strategies").mkdir()
    for name in ("development", "gpu-inference"):
        shutil.copy(SHIPPED / f"{name}.yaml", tmp_path / "strategies")
    return tmp_path


def test_the_version(installed: Installed, tmp_path: Path) -> None:
    assert installed.run("eks-hardware", "--version", cwd=tmp_path).stdout == f"{eks_hardware.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_how_it_is_used(installed: Installed, tmp_path: Path, command: str) -> None:
    done = installed.run("eks-hardware", command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"eks-hardware {command}" in done.stdout


def test_validate_takes_the_strategies_of_the_folder(installed: Installed, folder: Path) -> None:
    done = installed.run("eks-hardware", "validate", "--format", "json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["files"] == ["strategies/development.yaml", "strategies/gpu-inference.yaml"]


@pytest.mark.parametrize(
    ("command", "code"), [(("eks-hardware", "validate"), 2), (("python", "-m", "eks_hardware"), 1)]
)
def test_without_a_strategy_the_message_names_the_commands_that_create_one(
    installed: Installed, tmp_path: Path, command: tuple[str, ...], code: int
) -> None:
    """And the shipped ones are not deployed. cdktf shows the app's code, which is 1 for all errors."""
    done = installed.run(*command, cwd=tmp_path)
    assert done.returncode == code
    assert 'error: "strategies": no such file or directory; `eks-hardware init NAME`' in (done.stdout + done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("explain", "development"), r"partition +aws"),
        (("explain", "mixed-hardware"), r"p4d\.24xlarge"),  # a shipped one, as an example
        (("cost", "strategies/gpu-inference.yaml"), "US dollars per hour"),
        (("report", "development", "--output", "page.html"), r"page\.html"),
        (("rules", "EFA_UNSUPPORTED"), "EFA_UNSUPPORTED"),
        (("recommend", "--task", "inference", "--model", "8B", "--region", "us-west-2"), r"g\w+\.\w*xlarge"),
        (("instances", "--hardware", "trainium"), r"trn1\.32xlarge"),
    ],
    ids=lambda each: "-".join(each[:2]) if isinstance(each, tuple) else "",
)
def test_commands_have_their_data(
    installed: Installed, folder: Path, arguments: tuple[str, ...], expected: str
) -> None:
    done = installed.run("eks-hardware", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert " error " not in done.stderr  # warnings are on stderr
    assert re.search(expected, done.stdout)


def test_render_writes_what_the_checkout_writes(installed: Installed, folder: Path) -> None:
    done = installed.run("eks-hardware", "render", "gpu-inference", "--output", "rendered", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert cli.run("render", SHIPPED / "gpu-inference.yaml", "--output", folder / "from-the-checkout").code == 0

    def written(below: str) -> dict[str, bytes]:
        files = (file for file in (folder / below).rglob("*") if file.is_file())
        return {str(file.relative_to(folder / below)): file.read_bytes() for file in files}

    found = written("rendered")
    assert {"install.sh", "values/karpenter.yaml"} <= set(found)
    assert found == written("from-the-checkout")


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [(("doctor", "development"), "doctor"), (("demo", "development"), "local"), (("instances", "refresh"), "local")],
    ids=lambda each: each[0] if isinstance(each, tuple) else each,
)
def test_a_command_that_needs_an_extra_names_it(
    installed: Installed, folder: Path, arguments: tuple[str, ...], extra: str
) -> None:
    (folder / "cdktf.json").write_text('{"app": "python -m eks_hardware"}', encoding="utf-8")
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    done = installed.run("eks-hardware", *arguments, cwd=folder)
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    # From the wheel that is installed, because no index may have it.
    assert re.search(rf"pip install 'eks-hardware\[{extra}\] @ file://\S+\.whl'", said)
