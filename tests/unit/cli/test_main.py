"""The command line as a whole: one command is put together without the others, and a full disk is no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eks_hardware.cli import app
from helpers.paths import ROOT


def run(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    program = f"import sys; from eks_hardware.cli import main\ntry: main()\nfinally: {code or 'pass'}"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_named_command_is_put_together_without_the_others() -> None:
    done = run("rules", "EFA_UNSUPPORTED", code="print([m for m in sys.modules if m.startswith('eks_hardware.cli.')])")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "['eks_hardware.cli.rules']"


@pytest.mark.parametrize("arguments", [("--help",), ()])
def test_help_has_every_command(arguments: tuple[str, ...]) -> None:
    names = {file.stem for file in (ROOT / "eks_hardware" / "cli").glob("*.py")}
    commands = names - {"__init__", "quotas", "recommend_output", "strategies"}
    shown = CliRunner().invoke(app, list(arguments)).output + run(*arguments).stdout
    assert all(f"│ {name.replace('_', '-')} " in shown for name in commands)


def test_a_misspelt_command_has_a_suggestion() -> None:
    done = run("validat")
    assert done.returncode == 2
    assert "Did you mean 'validate'" in done.stderr


@pytest.mark.parametrize("command", ["cost", "explain", "validate"])
def test_a_full_disk_is_said_in_a_line(command: str) -> None:
    strategy = "config/strategies/development.yaml"
    program = "from eks_hardware.cli import main; main()"
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-c", program, command, strategy],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "error: the output cannot be written: no space left on device" in done.stderr
