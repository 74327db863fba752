"""Every command has the same exit codes, and its help says so: 0 success, 1 it found something, 2 it could not run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from docs.hooks.reference import commands
from eks_hardware.cli import failures
from helpers import cli
from helpers.cases import in_one_test
from helpers.paths import TESTS
from helpers.strategies import group, write_document

ALL = commands()

GOOD, BAD = "good.yaml", "bad.yaml"
# A command line for each meaning of 1 in a command's help.
FINDS: dict[str, list[str]] = {
    "recommend": ["recommend --task training --model 900T --region us-west-2", "recommend --from bad-workload.yaml"],
    "init": ["init demo --task training --model 900T --yes --api-access private"],
    "validate": [f"validate {BAD}", f"validate {GOOD} {BAD}"],
    "lock": ["lock strategy-with-a-typo.yaml"],
    "explain": [f"explain {BAD}"],
    "cost": [f"cost {BAD}"],
    "diff": [f"diff {GOOD} {BAD}"],
    "report": [f"report {BAD} --output x.html"],
    "render": [f"render {BAD} --output x"],
    "workload": [f"workload {BAD} --group gpu --kind job"],
    "check-model": ["check-model bert.json --target trainium --framework vllm"],
    "doctor": [f"doctor {BAD}"],
    "orphans": [f"orphans {BAD}"],
    "demo": [f"demo {BAD}"],
}
# Names, files and values that do not exist.
CANNOT_RUN: dict[str, list[str]] = {
    "recommend": [
        "recommend --task nope --model 8B",
        "recommend --task inference --model 8B --region us-west-9",
        "recommend --task inference --model none.json",
        "recommend --from nope.yaml",
        "recommend --task inference --model 8B --region us-west-2 --output x.txt",
    ],
    "init": ["init demo --hardware nope", "init demo --hardware gpu --task inference --region us-west-9 --yes"],
    "validate": ["validate nope", "validate nope.yaml good.yaml", "validate good.yaml --overlay nope"],
    "lock": ["lock nope", "lock good.yaml --upgrade --group nope"],
    "explain": ["explain nope", "explain good.yaml --group nope", "explain good.yaml --section nope"],
    "cost": ["cost nope", "cost good.yaml --overlay nope", "cost ."],
    "diff": ["diff nope good.yaml", "diff good.yaml good.yaml --fail-on nope"],
    "report": ["report nope --output x.html", "report good.yaml --output x.yaml"],
    "render": ["render nope --output x", "render good.yaml --output .", "render good.yaml -o x --outputs good.yaml"],
    "workload": ["workload nope --group g --kind job", "workload good.yaml --group nope --kind job"],
    "check-model": ["check-model nope.json --target gpu", "check-model bert.json --target gpu --framework nope"],
    "rules": ["rules NOPE"],
    "instances": ["instances --family nope", "instances --region us-west-9", "instances --accelerator nope"],
    "instances refresh": ["instances refresh --from nope"],
    "prices": ["prices nope"],
    "prices refresh": ["prices refresh --region us-west-9"],
    "schema": ["schema nope"],
    "doctor": ["doctor nope"],
    "orphans": ["orphans nope", "orphans good.yaml"],
    "demo": ["demo nope"],
    "completion": ["completion nope"],
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_document(tmp_path / GOOD, group("g6.xlarge", name="gpu"))
    write_document(tmp_path / BAD, group("g6.xlargee", name="gpu"))
    Path("bad-workload.yaml").write_text("version: 1\ntask: nope\n", encoding="utf-8")
    Path("strategy-with-a-typo.yaml").write_text("version: 1\nnmae: demo\n", encoding="utf-8")
    bert = {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
    Path("bert.json").write_text(json.dumps(bert | {"vocab_size": 30522, "intermediate_size": 3072}), encoding="utf-8")


def test_every_command_is_here() -> None:
    finding = {name for name, each in ALL.items() if "; 1 " in (each.epilog or "")}
    assert set(CANNOT_RUN) == set(ALL)
    assert set(FINDS) == finding - {"instances refresh", "prices refresh"}  # in tests/unit/cli/test_instances.py


@in_one_test("name", ["", *ALL])
def test_the_help_ends_with_them(name: str) -> None:
    said = cli.run(*name.split(), "--help").out.rpartition("\n\n")[2]
    last = " ".join(said.split())
    assert re.fullmatch(r"Exit codes: 0 success; (1 .+; )?2 wrong usage, or the command could not run(; 3 .+)?\.", last)


@in_one_test("line", [line for lines in FINDS.values() for line in lines])
def test_1_if_it_finds_something(line: str) -> None:
    assert cli.run(*line.split()).code == 1


@in_one_test("line", [line for lines in CANNOT_RUN.values() for line in lines])
def test_2_if_it_could_not_run(line: str) -> None:
    found = cli.run(*line.split())
    assert found.code == 2, found
    # One style: no code, names in double quotes.
    assert re.match(r"(nope.yaml: error FILE_UNREADABLE|error): \S", found.err.strip()), found.err
    assert "'nope" not in found.err


@in_one_test("name", ALL)
def test_2_for_an_unknown_option(name: str) -> None:
    found = cli.run(*name.split(), "--qqqqqq")
    assert found.code == 2
    assert found.err == f"error: unknown option --qqqqqq (`eks-hardware {name} -h` shows the options)\n"


def test_a_cost_above_the_budget_is_an_error_in_the_document() -> None:
    found = cli.run("cost", TESTS / "corpus" / "bad" / "budget-exceeded.yaml", "--json")
    content = json.loads(found.out)
    assert (found.code, "error BUDGET_EXCEEDED" in content["error"], "lines" in content) == (1, True, True)


def test_a_document_has_every_error() -> None:
    for command in (["cost"], ["validate"], ["doctor"]):
        content = json.loads(cli.run(*command, BAD, "--json").out)
        assert content["error"].startswith(f"{BAD}:")
        assert [each["code"] for each in content["findings"] if each["severity"] == "error"] == [
            "INSTANCE_TYPE_UNKNOWN"
        ]
    assert "error" not in json.loads(cli.run("validate", GOOD, "--json").out)


def test_nothing_is_recorded_outside_a_command() -> None:
    assert click.get_current_context(silent=True) is None
    assert failures.document() == {}
