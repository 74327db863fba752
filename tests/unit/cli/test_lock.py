"""``eks-hardware lock``: its output, its files, and its exit codes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from eks_hardware.advisor import recommend as real
from helpers import cli
from helpers.cases import in_one_test
from helpers.locking import WORKLOAD, FakeRecommender, candidate, group_line, write_strategy

outcome = partial(cli.outcome, "lock")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EKS_HARDWARE_STRATEGIES", raising=False)
    monkeypatch.delenv("EKS_HARDWARE_OVERLAY", raising=False)


@pytest.fixture
def chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    use_recommender(monkeypatch, FakeRecommender("g6e.xlarge"))


def use_recommender(monkeypatch: pytest.MonkeyPatch, recommender: FakeRecommender) -> None:
    monkeypatch.setattr(real, "recommend", recommender)


@pytest.mark.usefixtures("chooses")
def test_from_missing_to_locked() -> None:
    write_strategy(Path(), group_line())
    code, said = cli.outcome("validate", "demo.yaml")
    assert code == 1
    assert "run `eks-hardware lock demo.yaml` and commit demo.lock.json" in said
    code, said = outcome("demo.yaml")
    assert code == 0
    assert "node_groups[llm]  chosen: g6e.xlarge, on-demand, 1.00 USD/h (2026-07-20)" in said
    assert "demo.lock.json written; commit it" in said
    assert cli.outcome("validate", "demo.yaml") == (0, "1 file: 0 errors, 0 warnings\n")
    code, said = outcome("demo.yaml")
    assert (code, said.splitlines()[-1]) == (0, "demo.lock.json is up to date")


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    use_recommender(monkeypatch, FakeRecommender("g6e.xlarge"))
    write_strategy(Path(), group_line())
    done = cli.run("lock", "--json", "demo.yaml")
    document = json.loads(done.out)
    assert (done.code, document["version"], Path("demo.lock.json").is_file()) == (0, 1, True)
    (file,) = document["files"]
    (choice,) = file["choices"]
    assert (file["file"], file["changed"], file["removed"]) == ("demo.yaml", True, [])
    assert (choice["path"], choice["state"], choice["before"]) == ("node_groups[llm]", "new", None)
    assert choice["locked"]["chosen"]["instance_types"] == ["g6e.xlarge"]

    use_recommender(monkeypatch, FakeRecommender("g6e.2xlarge"))
    done = cli.run("lock", "--check", "--json", "demo.yaml")
    (file,) = json.loads(done.out)["files"]
    assert (done.code, file["changed"], file["choices"][0]["state"]) == (1, False, "kept")
    assert file["choices"][0]["today"]["chosen"]["instance_types"] == ["g6e.2xlarge"]


@pytest.mark.usefixtures("chooses")
def test_another_answer_today_changes_nothing_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    write_strategy(Path(), group_line())
    outcome("demo.yaml")
    before = Path("demo.lock.json").read_bytes()
    assert outcome("--check", "demo.yaml")[0] == 0
    use_recommender(monkeypatch, FakeRecommender("g6e.2xlarge"))
    code, said = outcome("--check", "demo.yaml")
    assert code == 1
    assert "locked: g6e.xlarge" in said
    assert "today: g6e.2xlarge" in said
    assert "eks-hardware lock --upgrade demo.yaml" in said
    assert outcome("demo.yaml")[0] == 0
    assert Path("demo.lock.json").read_bytes() == before
    assert cli.outcome("validate", "demo.yaml")[0] == 0
    code, said = outcome("--upgrade", "demo.yaml")
    assert code == 0
    assert "changed: g6e.2xlarge" in said
    assert "was g6e.xlarge" in said
    assert outcome("--check", "demo.yaml")[0] == 0


@pytest.mark.usefixtures("chooses")
def test_check_finds_a_lock_file_that_is_behind_and_writes_nothing() -> None:
    write_strategy(Path(), group_line())
    code, said = outcome("--check", "demo.yaml")
    assert code == 1
    assert "not locked" in said
    assert not Path("demo.lock.json").exists()
    outcome("demo.yaml")
    write_strategy(Path(), group_line(workload=WORKLOAD.replace("8B", "70B")))
    code, said = outcome("--check", "demo.yaml")
    assert code == 1
    assert "model.parameters is 70000000000, was 8000000000" in said


def test_one_group_is_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    write_strategy(Path(), group_line("a"), group_line("b"))
    use_recommender(monkeypatch, FakeRecommender("g6e.xlarge"))
    outcome("demo.yaml")
    use_recommender(monkeypatch, FakeRecommender("g6e.2xlarge"))
    code, said = outcome("--upgrade", "--group", "b", "demo.yaml")
    assert code == 0
    assert "node_groups[a]  kept: g6e.xlarge" in said
    assert "node_groups[b]  changed: g6e.2xlarge" in said


@pytest.mark.usefixtures("chooses")
def test_nothing_to_lock() -> None:
    write_strategy(Path())
    code, said = outcome("demo.yaml")
    assert code == 0
    assert said.startswith("demo.yaml: nothing to lock")
    assert not Path("demo.lock.json").exists()


@pytest.mark.usefixtures("chooses")
def test_what_nobody_asks_any_more_is_removed() -> None:
    write_strategy(Path(), group_line())
    outcome("demo.yaml")
    write_strategy(Path())
    code, said = outcome("demo.yaml")
    assert code == 0
    assert "node_groups[llm]  removed" in said
    assert not Path("demo.lock.json").exists()


@pytest.mark.usefixtures("chooses")
def test_every_strategy_of_a_folder_and_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("strategies").mkdir()
    for name in ("one", "two"):
        write_strategy(Path("strategies"), group_line(), name=name)
    assert outcome("strategies")[0] == 0
    assert sorted(each.name for each in Path("strategies").glob("*.json")) == ["one.lock.json", "two.lock.json"]
    monkeypatch.setenv("EKS_HARDWARE_STRATEGIES", "strategies")
    assert outcome("--check")[0] == 0
    assert outcome("two")[0] == 0


@pytest.mark.usefixtures("chooses")
def test_where_one_strategy_is_wrong_none_is_locked() -> None:
    Path("strategies").mkdir()
    write_strategy(Path("strategies"), group_line(), name="one")
    write_strategy(Path("strategies"), group_line(capacity="spot"), name="two")
    code, said = outcome("strategies")
    assert code == 1
    assert "WORKLOAD_SPOT" in said
    assert list(Path("strategies").glob("*.json")) == []


@pytest.mark.usefixtures("chooses")
def test_a_file_that_cannot_be_read_as_a_strategy() -> None:
    write_strategy(Path(), group_line(scalling="{max: 2}"))
    code, said = outcome("demo.yaml")
    assert code == 1
    assert "FIELD_UNKNOWN" in said


def test_nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    use_recommender(monkeypatch, FakeRecommender())
    write_strategy(Path(), group_line())
    code, said = outcome("demo.yaml")
    assert code == 1
    assert "WORKLOAD_NOTHING_FITS" in said


def test_a_job_of_more_nodes_than_the_group_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    use_recommender(monkeypatch, FakeRecommender(candidate("p4d.24xlarge", nodes=3)))
    write_strategy(Path(), group_line())
    code, said = outcome("demo.yaml")
    assert code == 1
    assert "WORKLOAD_NODES" in said
    assert not Path("demo.lock.json").exists()


@pytest.mark.usefixtures("chooses")
def test_a_broken_lock_file() -> None:
    write_strategy(Path(), group_line())
    Path("demo.lock.json").write_text("<<<<<<< HEAD", encoding="utf-8")
    code, said = outcome("demo.yaml")
    assert code == 1
    assert "demo.lock.json: error LOCK_INVALID" in said
    assert Path("demo.lock.json").read_text(encoding="utf-8") == "<<<<<<< HEAD"


@pytest.mark.usefixtures("chooses")
def test_a_folder_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    write_strategy(Path(), group_line())

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "replace", refuse)
    code, said = outcome("demo.yaml")
    assert code == 2
    assert "error: demo.lock.json: cannot be written" in said
    assert "read-only file system" in said


@in_one_test(
    ("arguments", "said"),
    [
        (["--check", "--upgrade"], "remove one of them"),
        (["--group", "llm"], "requires --upgrade"),
        (["--upgrade", "--group", "nobody"], '--group: unknown group "nobody"; known: llm'),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    write_strategy(Path(), group_line())
    code, output = outcome(*arguments, "demo.yaml")
    assert code == 2
    assert said in output


@pytest.mark.usefixtures("chooses")
def test_a_file_that_is_not_there() -> None:
    code, said = outcome("nowhere.yaml")
    assert code == 2
    assert "does not exist" in said


@pytest.mark.usefixtures("chooses")
def test_overlays_are_locked_beside_each_other() -> None:
    write_strategy(Path(), group_line())
    Path("overlays").mkdir()
    Path("overlays/east.yaml").write_text("region: us-east-1\n", encoding="utf-8")
    outcome("demo.yaml")
    assert "--overlay east`" in cli.outcome("validate", "--overlay", "east", "demo.yaml")[1]
    assert outcome("--overlay", "east", "demo.yaml")[0] == 0
    assert cli.outcome("validate", "--overlay", "east", "demo.yaml")[0] == 0
    assert cli.outcome("validate", "demo.yaml")[0] == 0
