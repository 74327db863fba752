"""``eks-hardware init``: a first strategy from flags or questions, without waiting for input that cannot come.

``test_init_project.py`` tests the project around it.
"""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from pathlib import Path

import pytest

from eks_hardware.validation import load_strategy, validate
from helpers import cli
from helpers.strategies import TODAY

outcome = partial(cli.outcome, "init", "--no-project")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    # In the package, this name is the command itself.
    monkeypatch.setattr(sys.modules["eks_hardware.cli.commands.init"], "_somebody_is_there", lambda: True)


def types_in(file: str = "demo.yaml") -> list[str]:
    found = validate([file], today=TODAY)
    assert found.errors == ()
    assert {each.code for each in found.warnings} <= {"ENDPOINT_OPEN"}
    return [name for group in load_strategy(file).strategy.node_groups for name in group.instance_types]


FLAGS = {
    "gpu": (["--hardware", "gpu", "--task", "training"], "p4d.24xlarge"),
    "trainium": (["--hardware", "trainium", "--task", "training", "--region", "us-east-2"], "trn1.32xlarge"),
    "inferentia": (["--hardware", "inferentia", "--task", "inference"], "inf2.xlarge"),
    "cpu": (["--hardware", "cpu", "--task", "inference", "--region", "eu-central-1"], "c7i.4xlarge"),
    "mixed": (["--hardware", "mixed"], "trn1.32xlarge"),
    "a model": (["--model", "8B", "--task", "inference"], None),
    "a large model": (["--model", "70B", "--task", "training", "--region", "us-east-1"], None),
    "defaults": (["--yes"], None),
}


@pytest.mark.parametrize(("arguments", "name"), FLAGS.values(), ids=FLAGS)
def test_by_flags(arguments: list[str], name: str | None) -> None:
    code, said = outcome("demo", *arguments)
    assert code == 0, said
    assert "demo.yaml written: 0 errors, 1 warning" in said
    assert name in types_in() if name else len(types_in()) >= 2


def test_the_next_commands_are_said() -> None:
    _, said = outcome("demo", "--hardware", "gpu", "--task", "inference", "--out", "my strategies")
    commands = [line.strip() for line in said.partition("Next:")[2].splitlines() if line.strip()]
    assert [shlex.split(each)[-1] for each in commands] == [
        "my strategies/demo.yaml",
        "my strategies/demo.yaml",
        "demo",
    ]
    assert commands[0].startswith("eks-hardware validate ")
    assert commands[1].startswith("eks-hardware cost ")
    assert "cdktf deploy demo" in commands[2]


def test_by_a_config_of_hugging_face() -> None:
    content = {
        "model_type": "llama",
        "hidden_size": 8192,
        "intermediate_size": 28672,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
    }
    Path("config.json").write_text(json.dumps(content), encoding="utf-8")
    code, said = outcome("demo", "--model", "config.json", "--task", "inference")
    assert code == 0, said
    assert "llama" in Path("demo.yaml").read_text(encoding="utf-8")


ANSWERS = {
    "a model": ("model\n8B\ninference\nus-east-1\n", None),
    "hardware": ("hardware\ninferentia\ninference\nus-east-1\n", "inf2.xlarge"),
    "mixed hardware has no task": ("hardware\nmixed\nus-west-2\n", "inf2.xlarge"),
    "every default": ("\n\n\n\n", None),
    "a slip": ("hardwear\nhardware\ncpu\ninference\n\n", "c7i.4xlarge"),
}


@pytest.mark.usefixtures("at_a_terminal")
@pytest.mark.parametrize(("answers", "name"), ANSWERS.values(), ids=ANSWERS)
def test_by_questions(answers: str, name: str | None) -> None:
    code, said = outcome("demo", stdin=answers)
    assert code == 0, said
    assert name in types_in() if name else len(types_in()) >= 2


@pytest.mark.usefixtures("at_a_terminal")
def test_only_what_the_flags_do_not_say_is_asked() -> None:
    code, said = outcome("demo", "--hardware", "gpu", stdin="training\n")
    assert code == 0, said
    assert said.count("?") == 1


@pytest.mark.parametrize("arguments", [[], ["--hardware", "gpu"], ["--model", "8B"]])
def test_without_a_terminal_the_flags_are_named(arguments: list[str]) -> None:
    code, said = outcome("demo", *arguments)
    assert code == 2
    assert "cannot ask without a terminal" in said
    assert all(flag in said for flag in ("--hardware", "--model", "--task", "--yes"))
    assert not Path("demo.yaml").exists()


WRONG = {
    "two ways at once": (["--hardware", "gpu", "--model", "8B", "--task", "training"], "remove one of them"),
    "no number": (["--model", "eight", "--task", "inference"], "a number such as 8B"),
    "nothing": (["--model", "0B", "--task", "inference"], "not a number of parameters"),
    "no file": (["--model", "nowhere.json", "--task", "inference"], "nowhere.json"),
    "no region": (["--yes", "--region", "us-wset-2"], "did you mean us-west-2?"),
    "hardware that the region lacks": (
        ["--hardware", "trainium", "--task", "training", "--region", "eu-west-1"],
        "choose another region",
    ),
    "hardware for another task": (
        ["--hardware", "inferentia", "--task", "training"],
        "no starter for inferentia and training",
    ),
}


@pytest.mark.parametrize(("arguments", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_usage(arguments: list[str], expected: str) -> None:
    code, said = outcome("demo", *arguments)
    assert (code, Path("demo.yaml").exists()) == (2, False)
    assert expected in said


def test_a_model_that_fits_nowhere() -> None:
    code, said = outcome("demo", "--model", "900T", "--task", "training")
    assert code == 1
    assert "no hardware in us-west-2 fits" in said
    assert not Path("demo.yaml").exists()


@pytest.mark.parametrize("name", ["a b", "../demo", "-x", "", "a" * 101])
def test_what_cannot_be_a_name(name: str) -> None:
    code, said = outcome("--yes", "--", name)
    assert code == 2
    assert "is not a valid cluster name" in said


def test_a_file_that_is_there_stays() -> None:
    Path("demo.yaml").write_text("mine\n", encoding="utf-8")
    code, said = outcome("demo", "--yes")
    assert code == 2
    assert "--force" in said
    assert Path("demo.yaml").read_text(encoding="utf-8") == "mine\n"
    assert outcome("demo", "--yes", "--force")[0] == 0
    assert len(types_in()) >= 2


def test_a_folder_that_cannot_be_made() -> None:
    Path("file").touch()
    code, said = outcome("demo", "--yes", "--out", "file/folder")
    assert code == 2
    assert "error: file/folder" in said
