"""``eks-hardware lock``: what it prints and writes, and its exit codes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from eks_hardware.advisor import recommend as real
from eks_hardware.cli.lock import lock
from eks_hardware.cli.validate import validate
from helpers.locking import WORKLOAD, FakeRecommender, candidate, group_line, write_strategy

app = typer.Typer()
app.command()(lock)
app.command()(validate)

WIDE = {"COLUMNS": "300", "NO_COLOR": "1"}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EKS_HARDWARE_STRATEGIES", raising=False)
    monkeypatch.delenv("EKS_HARDWARE_OVERLAY", raising=False)


@pytest.fixture
def chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, FakeRecommender("g6e.xlarge"))


def answer(monkeypatch: pytest.MonkeyPatch, recommender: FakeRecommender) -> None:
    monkeypatch.setattr(real, "recommend", recommender)


def run(*arguments: str, command: str = "lock") -> tuple[int, str]:
    result = CliRunner().invoke(app, [command, *arguments], env=WIDE)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.usefixtures("chooses")
def test_from_missing_to_locked() -> None:
    write_strategy(Path(), group_line())
    code, said = run("demo.yaml", command="validate")
    assert code == 1
    assert "run `eks-hardware lock demo.yaml` and commit demo.lock.json" in said
    code, said = run("demo.yaml")
    assert code == 0
    assert "node_groups[llm]  chosen: g6e.xlarge, on-demand, 1.00 USD/h (2026-07-20)" in said
    assert "demo.lock.json written; commit it" in said
    assert run("demo.yaml", command="validate") == (0, "1 file: 0 errors, 0 warnings\n")
    code, said = run("demo.yaml")
    assert (code, said.splitlines()[-1]) == (0, "demo.lock.json is up to date")


@pytest.mark.usefixtures("chooses")
def test_another_answer_today_changes_nothing_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    write_strategy(Path(), group_line())
    run("demo.yaml")
    before = Path("demo.lock.json").read_bytes()
    assert run("--check", "demo.yaml")[0] == 0
    answer(monkeypatch, FakeRecommender("g6e.2xlarge"))
    code, said = run("--check", "demo.yaml")
    assert code == 1
    assert "locked: g6e.xlarge" in said
    assert "today: g6e.2xlarge" in said
    assert "eks-hardware lock --upgrade demo.yaml" in said
    assert run("demo.yaml")[0] == 0
    assert Path("demo.lock.json").read_bytes() == before
    assert run("demo.yaml", command="validate")[0] == 0
    code, said = run("--upgrade", "demo.yaml")
    assert code == 0
    assert "changed: g6e.2xlarge" in said
    assert "was g6e.xlarge" in said
    assert run("--check", "demo.yaml")[0] == 0


@pytest.mark.usefixtures("chooses")
def test_check_finds_a_lock_file_that_is_behind_and_writes_nothing() -> None:
    write_strategy(Path(), group_line())
    code, said = run("--check", "demo.yaml")
    assert code == 1
    assert "not locked" in said
    assert not Path("demo.lock.json").exists()
    run("demo.yaml")
    write_strategy(Path(), group_line(workload=WORKLOAD.replace("8B", "70B")))
    code, said = run("--check", "demo.yaml")
    assert code == 1
    assert "model.parameters is 70000000000, was 8000000000" in said


def test_one_group_is_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    write_strategy(Path(), group_line("a"), group_line("b"))
    answer(monkeypatch, FakeRecommender("g6e.xlarge"))
    run("demo.yaml")
    answer(monkeypatch, FakeRecommender("g6e.2xlarge"))
    code, said = run("--upgrade", "--group", "b", "demo.yaml")
    assert code == 0
    assert "node_groups[a]  kept: g6e.xlarge" in said
    assert "node_groups[b]  changed: g6e.2xlarge" in said


@pytest.mark.usefixtures("chooses")
def test_nothing_to_lock() -> None:
    write_strategy(Path())
    code, said = run("demo.yaml")
    assert code == 0
    assert said.startswith("demo.yaml: nothing to lock")
    assert not Path("demo.lock.json").exists()


@pytest.mark.usefixtures("chooses")
def test_what_nobody_asks_any_more_is_removed() -> None:
    write_strategy(Path(), group_line())
    run("demo.yaml")
    write_strategy(Path())
    code, said = run("demo.yaml")
    assert code == 0
    assert "node_groups[llm]  removed" in said
    assert not Path("demo.lock.json").exists()


@pytest.mark.usefixtures("chooses")
def test_every_strategy_of_a_folder_and_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("strategies").mkdir()
    for name in ("one", "two"):
        write_strategy(Path("strategies"), group_line(), name=name)
    assert run("strategies")[0] == 0
    assert sorted(each.name for each in Path("strategies").glob("*.json")) == ["one.lock.json", "two.lock.json"]
    monkeypatch.setenv("EKS_HARDWARE_STRATEGIES", "strategies")
    assert run("--check")[0] == 0
    assert run("two")[0] == 0


@pytest.mark.usefixtures("chooses")
def test_where_one_strategy_is_wrong_none_is_locked() -> None:
    Path("strategies").mkdir()
    write_strategy(Path("strategies"), group_line(), name="one")
    write_strategy(Path("strategies"), group_line(capacity="spot"), name="two")
    code, said = run("strategies")
    assert code == 1
    assert "WORKLOAD_SPOT" in said
    assert "nothing was locked" in said
    assert list(Path("strategies").glob("*.json")) == []


@pytest.mark.usefixtures("chooses")
def test_a_file_that_cannot_be_read_as_a_strategy() -> None:
    write_strategy(Path(), group_line(scalling="{max: 2}"))
    code, said = run("demo.yaml")
    assert code == 1
    assert "FIELD_UNKNOWN" in said


def test_nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, FakeRecommender())
    write_strategy(Path(), group_line())
    code, said = run("demo.yaml")
    assert code == 1
    assert "WORKLOAD_NOTHING_FITS" in said


def test_a_job_of_more_nodes_than_the_group_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, FakeRecommender(candidate("p4d.24xlarge", nodes=3)))
    write_strategy(Path(), group_line())
    code, said = run("demo.yaml")
    assert code == 1
    assert "WORKLOAD_NODES" in said
    assert not Path("demo.lock.json").exists()


@pytest.mark.usefixtures("chooses")
def test_a_broken_lock_file() -> None:
    write_strategy(Path(), group_line())
    Path("demo.lock.json").write_text("<<<<<<< HEAD", encoding="utf-8")
    code, said = run("demo.yaml")
    assert code == 1
    assert "demo.lock.json: error LOCK_INVALID" in said
    assert Path("demo.lock.json").read_text(encoding="utf-8") == "<<<<<<< HEAD"


@pytest.mark.usefixtures("chooses")
def test_a_folder_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    write_strategy(Path(), group_line())

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "fsync", refuse)
    code, said = run("demo.yaml")
    assert code == 2
    assert "demo.lock.json: error LOCK_UNWRITABLE" in said
    assert "read-only file system" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--check", "--upgrade"], "give one of the two"),
        (["--group", "llm"], "add --upgrade"),
        (["--upgrade", "--group", "nobody"], "no group or pool nobody"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    write_strategy(Path(), group_line())
    code, output = run(*arguments, "demo.yaml")
    assert code == 2
    assert said in output


@pytest.mark.usefixtures("chooses")
def test_a_file_that_is_not_there() -> None:
    code, said = run("nowhere.yaml")
    assert code == 1
    assert "STRATEGY_PATH" in said


@pytest.mark.usefixtures("chooses")
def test_overlays_are_locked_beside_each_other() -> None:
    write_strategy(Path(), group_line())
    Path("overlays").mkdir()
    Path("overlays/east.yaml").write_text("region: us-east-1\n", encoding="utf-8")
    run("demo.yaml")
    assert "--overlay east`" in run("--overlay", "east", "demo.yaml", command="validate")[1]
    assert run("--overlay", "east", "demo.yaml")[0] == 0
    assert run("--overlay", "east", "demo.yaml", command="validate")[0] == 0
    assert run("demo.yaml", command="validate")[0] == 0
