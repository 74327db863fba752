"""The number of a strategy's warnings is printed once, on stderr, after what the user asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from eks_hardware.cli import app
from helpers.cases import in_one_test
from helpers.strategies import write_document

_OPEN = {"creator_is_admin": True, "endpoint": {"public_cidrs": ["0.0.0.0/0"]}}
_COUNT = "1 warning; see `eks-hardware validate a.yaml`\n"


@pytest.fixture(autouse=True)
def _two_strategies_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        write_document(tmp_path / f"{name}.yaml", name=name, cluster=_OPEN)


def _output(line: str) -> tuple[int, str]:
    """Return the exit code, and stdout and stderr in the order in which they are printed."""
    found = CliRunner().invoke(app, line.split(), env={"COLUMNS": "80", "NO_COLOR": "1"})
    return found.exit_code, found.output


@in_one_test(
    "line",
    [
        "cost a.yaml",
        "cost a.yaml --json",
        "explain a.yaml",
        "explain a.yaml --json",
        "report a.yaml --output a.html",
        "render a.yaml --output rendered --force",
    ],
)
def test_it_is_the_last_line(line: str) -> None:
    code, output = _output(line)
    assert code == 0, output
    assert output.endswith(f"\n{_COUNT}")
    assert output.count(" warning") - output.count(" warnings") == 1


def test_two_strategies_are_in_the_order_of_the_command_line() -> None:
    code, output = _output("diff a.yaml b.yaml")
    assert code == 0
    assert output.endswith(f"\n{_COUNT}{_COUNT.replace('a.yaml', 'b.yaml')}")


def test_it_follows_the_errors_of_a_refused_strategy() -> None:
    write_document(Path("a.yaml"), cluster=_OPEN, network={"cidr": "10.0.0.0/30"})
    code, output = _output("cost a.yaml")
    assert code == 1
    assert output.endswith(f"\n{_COUNT}")


def test_a_command_that_could_not_run_says_only_why() -> None:
    assert _output("explain a.yaml --group none") == (
        2,
        'error: --group: unknown group "none"; known: system\n',
    )
