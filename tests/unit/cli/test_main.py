"""The command line as a whole: help, mistyped arguments and completion."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from eks_hardware.cli import COMMANDS, app
from helpers import cli
from helpers.cases import in_one_test
from helpers.paths import ROOT


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ()])
def test_help_has_every_command(arguments: tuple[str, ...]) -> None:
    found = cli.run(*arguments)
    shown = found.out + found.err
    files = {file.stem.replace("_", "-") for file in (ROOT / "eks_hardware" / "cli" / "commands").glob("*.py")}
    assert files - {"--init--"} == set(COMMANDS)
    assert all(f"\n  {name} " in shown for name in COMMANDS)
    assert max(map(len, shown.splitlines())) <= 80
    assert "..." not in shown.partition("Commands:")[2].replace("{...}", "")


@in_one_test("name", [*COMMANDS, "instances refresh"])
def test_help_of_a_command_fits_and_names_every_option_whole(name: str) -> None:
    found = cli.run(*name.split(), "-h")
    assert found.code == 0
    assert max(map(len, found.out.splitlines())) <= 80
    command: Any = app
    for word in name.split():
        command = command.get_command(None, word)
    assert all(option in found.out for each in command.params for option in each.opts if option.startswith("-"))


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [(("validat",), "Did you mean 'validate'?"), (("validate", "--strct"), "Did you mean '--strict'?")],
)
def test_a_misspelt_word_has_a_suggestion(arguments: tuple[str, ...], suggestion: str) -> None:
    found = cli.run(*arguments)
    assert found.code == 2
    assert suggestion in found.err


# --- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str) -> None:
    found = cli.run("completion", shell)
    assert (found.code, found.err) == (0, "")
    assert f"_EKS_HARDWARE_COMPLETE={shell}_complete" in found.out


def completed(*words: str) -> list[str]:
    """Return bash's completions for the last argument."""
    environ = {
        "_EKS_HARDWARE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["eks-hardware", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = CliRunner().invoke(app, prog_name="eks-hardware", env=environ)
    return [value for kind, _, value in (line.partition(",") for line in done.stdout.splitlines()) if kind == "plain"]


@in_one_test(
    ("words", "offered"),
    [
        (("val",), ["validate"]),
        (("validate", "mixed"), ["mixed-hardware"]),
        (("validate", "--str"), ["--strict"]),
        (("explain", "--overlay", "priv"), ["private"]),
        (("instances", "--family", "p4"), ["p4d", "p4de"]),
        (("instances", "--accelerator", "a100"), ["a100"]),
        (("recommend", "--region", "us-west"), ["us-west-1", "us-west-2"]),
        (("recommend", "--task", "in"), ["inference"]),
        (("recommend", "--precision", "bf"), ["bf16"]),
        (("recommend", "--capacity", "s"), ["spot"]),
        (("rules", "efa_uns"), ["EFA_UNSUPPORTED"]),
        (("diff", "a", "b", "--format", "m"), ["markdown"]),
    ],
)
def test_what_is_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered
