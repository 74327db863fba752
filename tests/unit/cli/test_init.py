"""``eks-hardware init``: a first strategy from flags or questions, without waiting for input that cannot come.

``test_init_project.py`` tests the project around it.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import get_args
from urllib.error import URLError

import pytest

from eks_hardware.cli import cluster_settings
from eks_hardware.cli.cluster_settings import caller_address
from eks_hardware.cli.hardware_questions import KINDS
from eks_hardware.models import S3BackendSpec, SpendingLimit
from eks_hardware.spellings import TRAINED_FORMATS, Precision, Priority, Task, WeightFormat
from eks_hardware.validation import load_strategy, validate
from helpers import cli
from helpers.advisor import config_file
from helpers.cases import in_one_test
from helpers.strategies import TODAY

outcome = partial(cli.outcome, "init", "--no-project")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    # In the package, this name is the command itself.
    monkeypatch.setattr(sys.modules["eks_hardware.cli.commands.init"], "at_terminal", lambda: True)


@pytest.fixture
def without_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_settings, "caller_address", lambda: None)


def types_in(file: str = "demo.yaml") -> list[str]:
    found = validate([file], today=TODAY)
    assert found.errors == ()
    assert found.warnings == ()
    return [name for group in load_strategy(file).strategy.node_groups for name in group.instance_types]


FLAGS = {
    "gpu": (["--hardware", "gpu", "--task", "training"], "p4d.24xlarge"),
    "trainium": (["--hardware", "trainium", "--task", "training", "--region", "us-east-2"], "trn1.32xlarge"),
    "inferentia": (["--hardware", "inferentia", "--task", "inference"], "inf2.xlarge"),
    "cpu": (["--hardware", "cpu", "--task", "inference", "--region", "eu-central-1"], "c7i.4xlarge"),
    "mixed": (["--hardware", "mixed"], "trn1.32xlarge"),
    "a model": (["--model", "8B", "--task", "inference"], None),
    "a public model": (["--model", "Qwen/Qwen3-8B", "--task", "inference"], None),
    "adapters": (["--model", "llama-3.1-8b", "--task", "lora"], None),
    "a large model": (["--model", "70B", "--task", "training", "--region", "us-east-1"], None),
    "defaults": (["--yes"], None),
}


@pytest.mark.parametrize(("arguments", "name"), FLAGS.values(), ids=FLAGS)
def test_by_flags(arguments: list[str], name: str | None) -> None:
    code, said = outcome("demo", *arguments)
    assert code == 0, said
    assert "demo.yaml written: 0 errors, 0 warnings" in said
    assert name in types_in() if name else len(types_in()) >= 2


@pytest.mark.parametrize("project", [True, False])
def test_the_next_commands_are_printed(project: bool) -> None:
    if project:
        Path("cdktf.json").write_text("{}", encoding="utf-8")
    _, said = outcome("demo", "--hardware", "gpu", "--task", "inference", "--output", "my strategies")
    following = said.partition("Next:")[2].partition("No nodes yet:")[0]
    *commands, last = [line.strip() for line in following.splitlines() if line.strip()]
    assert commands == [
        "eks-hardware validate 'my strategies/demo.yaml'",
        "eks-hardware cost 'my strategies/demo.yaml'",
    ]
    assert last == (
        "EKS_HARDWARE_STRATEGIES='my strategies/demo.yaml' npx cdktf deploy demo"
        if project
        else "repeat the command with --project to create a project that can deploy it"
    )


def test_by_a_config_of_hugging_face() -> None:
    shutil.copyfile(config_file("llama-3.1-70b"), "config.json")
    code, said = outcome("demo", "--model", "config.json", "--task", "inference")
    assert code == 0, said
    assert "llama" in Path("demo.yaml").read_text(encoding="utf-8")


# Model or hardware; task; for a model requests, context, precision, priority; region; limit; number; networks, roles,
# state.
ANSWERS = {
    "a model": ("8B\ninference\n16\n8192\nint8\ncost\nus-east-1\n\n1\n" + "\n" * 3, None),
    "training": ("7B\ntraining\nbf16\nperformance\nus-east-1\n\n\n" + "\n" * 3, None),
    "hardware": ("inferentia\ninference\nus-east-1\n\n2\n" + "\n" * 3, "inf2.8xlarge"),
    "mixed hardware has no task and no choice": ("mixed\nus-west-2\n\n" + "\n" * 3, "inf2.xlarge"),
    "every default": ("\n" * 12, None),
    "qlora of a model": ("llama-3.1-8b\nqlora\n" + "\n" * 8, None),
}


@pytest.mark.usefixtures("at_a_terminal")
@pytest.mark.parametrize(("answers", "name"), ANSWERS.values(), ids=ANSWERS)
def test_by_questions(answers: str, name: str | None) -> None:
    done = cli.run("init", "--no-project", "demo", stdin=answers)
    assert done.code == 0, done.err
    assert done.err.count("]: ") == answers.count("\n")
    assert name in types_in() if name else len(types_in()) >= 2


@pytest.mark.usefixtures("at_a_terminal")
def test_lists_have_the_order_of_the_schema_and_name_their_default() -> None:
    tasks, formats, priorities = (", ".join(get_args(each)) for each in (Task, WeightFormat, Priority))
    asked = cli.run("init", "--no-project", "demo", stdin="\n" * 12, COLUMNS="300").err
    assert f"Task ({tasks}, lora, qlora) [inference]: " in asked
    assert f"Precision of the weights ({formats}) [bf16]: " in asked
    assert f"Priority ({priorities}) [balanced]: " in asked
    trained = [each for each in get_args(WeightFormat) if each in TRAINED_FORMATS]
    training = cli.run("init", "--no-project", "b", "--task", "training", stdin="\n" * 9, COLUMNS="300").err
    assert f"Precision of the weights ({', '.join(trained)}) [bf16]: " in training
    for command in ("init", "recommend"):
        said = " ".join(cli.run(command, "-h").out.split()).replace(" or ", ", ")
        assert [
            words in said for words in (f"{tasks}; ", f"{formats}; default: bf16", f"{priorities}; default: b")
        ] == [True] * 3
    shared = [each for each in get_args(Precision) if each in get_args(WeightFormat)]
    assert shared == [each for each in get_args(WeightFormat) if each in shared]


@pytest.mark.usefixtures("at_a_terminal")
def test_the_default_context_is_one_that_the_model_supports() -> None:
    asked = cli.run("init", "--no-project", "demo", "--model", "bert-large", stdin="\n" * 12, COLUMNS="300").err
    assert "Longest context (tokens of prompt and output, such as 16k) [512]: " in asked


@pytest.mark.usefixtures("at_a_terminal")
@in_one_test(("kind", "default"), [(each, "training" if each == "trainium" else "inference") for each in KINDS[:-1]])
def test_one_default_task(kind: str, default: str) -> None:
    """The same for a model and for hardware, unless the hardware is for training alone."""
    done = cli.run("init", "--no-project", "asked", "--hardware", kind, "--force", stdin="\n" * 9)
    assert (done.code, done.err.count("Task ("), f") [{default}]: " in done.err) == (0, 1, True)
    assert outcome("asked", "--yes", "--hardware", kind, "--api-access", "93.184.216.34", "--force")[0] == 0
    names = [each.workload for each in load_strategy("asked.yaml").strategy.node_groups]
    assert names == ["system", default]


# Each dialog with the messages of its wrong answers, in order.
DIALOGS = {
    "eight|gone.json|8B|infer|inference|0|many|16|-5|8192|fp7|fp8|cheap|cost|us-wset-2|us-west-2": (
        "a model must be parameters such as 8B, a public model or a config.json, got",
        "gone.json",
        'must be training, fine-tuning, inference, development, lora or qlora, got "infer"',
        "must be at least 1, got 0",
        "must be a whole number",
        "must be at least 1, got -5",
        'must be one of fp32, fp16, bf16, fp8, nvfp4, mxfp4, int8, int4, got "fp7"',
        "must be one of cost, balanced, performance",
        "did you mean us-west-2?",
    ),
    "8B|training|int8|fp16": ("must be fp32, fp16, bf16 or fp8 for training",),
    "trainium||eu-west-1|us-east-1": ("choose another region",),
    "gpu||||9|3": ('must be a number from 1 to 4, got "9"',),
    "gpu|training||45000|2|1": ("must be 1 or 3, got 2: with p5.48xlarge, the cluster costs ",),
    "mixed||many|1e6|9999999999|0|$400,000.50 USD|10.0.0.0/8|everybody|1|93.184.216.0/24"
    "|platform|arn:aws:iam::111122223333:role/platform|Our_State|our-state": (
        'must be a number of US dollars such as 5000, or none, got "many"',
        'or none, got "1e6"',
        "must be at most 1000000000, got 9999999999",
        "must be at least ",
        "never a client's address on the internet",
        "must be one or more CIDR ranges such as 93.184.216.34/32, or private",
        'or private, got "1"',
        "must be the ARN of an IAM role or user",
        "must be a bucket name",
    ),
}


@pytest.mark.usefixtures("at_a_terminal")
@in_one_test("answers", DIALOGS)
def test_a_wrong_answer_is_asked_again(answers: str) -> None:
    code, said = outcome("demo", "--force", stdin=answers.replace("|", "\n") + "\n" * 13)
    assert code == 0, said
    for message in DIALOGS[answers]:
        _, found, said = said.partition(message)
        assert found, message


@pytest.mark.usefixtures("at_a_terminal")
def test_answers_are_in_the_strategy() -> None:
    first, second = (f"arn:aws:iam::111122223333:role/{name}" for name in ("platform", "a,b"))
    answers = f"mixed\n\n400,000.5\n93.184.216.34, 93.184.217.0/24\n{first}, {second}\ns3://our-state\n"
    assert outcome("demo", stdin=answers)[0] == 0
    strategy = load_strategy("demo.yaml").strategy
    assert strategy.cluster.endpoint.public_cidrs == ("93.184.216.34/32", "93.184.217.0/24")
    assert strategy.cluster.admins == (first, second)
    assert strategy.budget == SpendingLimit(usd_per_month_at_max=400_000.5)
    assert strategy.backend == S3BackendSpec(type="s3", bucket="our-state", region="us-west-2")


OPTIONS = (
    *("--model", "8B", "--task", "inference", "--concurrency", "16", "--context", "8192", "--precision", "int8"),
    *(
        "--priority",
        "cost",
        "--region",
        "us-west-2",
        "--max-usd-per-month",
        "9000",
        "--pick",
        "2",
        "--api-access",
        "private",
        "--state",
        "our-state",
    ),
    *("--admin-role", "arn:aws:iam::111122223333:role/platform"),
)


@pytest.mark.usefixtures("at_a_terminal")
def test_every_answer_is_an_option() -> None:
    done = cli.run("init", "--no-project", "demo", *OPTIONS)
    assert (done.code, done.err) == (0, "")
    asked = "8B\n\n16\n8192\nint8\ncost\n\n9000\n2\nprivate\narn:aws:iam::111122223333:role/platform\nour-state\n"
    assert outcome("asked", stdin=asked)[0] == 0
    text = Path("demo.yaml").read_text(encoding="utf-8")
    assert Path("asked.yaml").read_text(encoding="utf-8") == text.replace("name: demo", "name: asked")
    assert "delivery: manifests" in text


def test_it_shows_and_writes_what_recommend_does() -> None:
    """The same table, and the same strategy apart from roles and state."""
    said = ("--model", "8B", "--task", "inference", "--concurrency", "16", "--budget", "cost", "--region", "us-east-1")
    shown = cli.run("init", "--no-project", "demo", *said, "--pick", "3").out
    other = cli.run("recommend", *said, "--top", "4", "-o", "other.yaml", "--pick", "3").out
    rows = [line for line in shown.splitlines() if line.lstrip()[:2] in ("#", "1 ", "2 ", "3 ", "4 ")]
    assert len(rows) == 4
    assert [line for line in rows if line not in [each.lstrip("✓ ") for each in other.splitlines()]] == []
    text = Path("demo.yaml").read_text(encoding="utf-8")
    assert Path("other.yaml").read_text(encoding="utf-8") == text.replace("name: demo", "name: other")


@pytest.mark.usefixtures("at_a_terminal")
def test_only_what_the_options_leave_open_is_asked() -> None:
    options = ("--api-access", "93.184.216.34", "--admin-role", "arn:aws:iam::111122223333:role/a", "--state", "local")
    done = cli.run("init", "--no-project", "demo", "--hardware", "gpu", "--pick", "1", *options, stdin="training\n\n\n")
    assert done.code == 0, done.err
    assert done.err.count("]: ") == 3


@pytest.mark.usefixtures("at_a_terminal")
@in_one_test("answers", ["", "8B\n", "8B\n" + "\n" * 9])
def test_questions_that_end_early_write_nothing(answers: str) -> None:
    done = cli.run("init", "demo", stdin=answers)
    assert (done.code, list(Path().iterdir())) == (130, [])
    assert done.err.endswith("\nInterrupted; nothing was written.\n")


# --- hardware


def groups_below() -> dict[str, tuple[int, int | None]]:
    """Return the minimum and desired number of nodes of each group but the first."""
    groups = load_strategy("demo.yaml").strategy.node_groups[1:]
    return {each.name: (each.scaling.min, each.scaling.desired) for each in groups}


@pytest.mark.parametrize(
    ("options", "scaling", "note"),
    [
        ("--model 8B --task inference", {"inference": (1, None)}, None),
        (
            "--model 8B --task training",
            {"training": (0, None)},
            "No nodes yet: training. To start them, set `desired`",
        ),
        ("--hardware gpu --task inference", {"gpu-inference": (0, None)}, "No nodes yet: gpu-inference."),
    ],
)
def test_a_served_model_has_nodes_and_other_groups_say_that_they_have_none(
    options: str, scaling: dict[str, tuple[int, int | None]], note: str | None
) -> None:
    code, said = outcome("demo", *options.split())
    assert code == 0
    assert groups_below() == scaling
    assert note in said if note else "No nodes yet" not in said


def test_mixed_shows_the_next_best_of_each_group() -> None:
    lines = outcome("demo", "--hardware", "mixed")[1].splitlines()
    after = lines.index("   gpu-inference") + 1
    assert [line.split()[:2] for line in lines[after : after + 4]] == [
        ["1", "g6.2xlarge"],
        ["2", "g5.2xlarge"],
        ["3", "g6e.2xlarge"],
        ["4", "g4dn.2xlarge"],
    ]
    assert all(re.search(r" \d[\d.]+$", line) for line in lines[after : after + 4])
    assert "Each group uses the first type listed. To use another, change instance_types in the file." in lines
    assert "g6.2xlarge" in types_in()


# --- access to the API


def test_the_address_of_the_caller_is_the_default() -> None:
    code, said = outcome("demo", "--yes")
    assert code == 0
    assert "API access: 93.184.216.34/32, your address (https://checkip.amazonaws.com)\n" in said
    assert load_strategy("demo.yaml").strategy.cluster.endpoint.public_cidrs == ("93.184.216.34/32",)


@pytest.mark.usefixtures("without_address")
@pytest.mark.parametrize(
    "command", ["init demo --yes --no-project", "recommend --task inference --model 8B -o demo.yaml"]
)
def test_without_an_address_the_option_is_required(command: str) -> None:
    done = cli.run(*command.split())
    assert (done.code, Path("demo.yaml").exists()) == (2, False)
    assert done.err.startswith("error: --api-access is missing, and https://checkip.amazonaws.com did not return")
    assert done.err.count("\n") == 1
    assert cli.run(*command.split(), "--api-access", "0.0.0.0/0").code == 0
    assert load_strategy("demo.yaml").strategy.cluster.endpoint.public_cidrs == ("0.0.0.0/0",)


@pytest.mark.usefixtures("at_a_terminal", "without_address")
def test_without_an_address_it_is_asked_without_a_default() -> None:
    done = cli.run("init", "--no-project", "demo", "--hardware", "mixed", stdin="\n\n\n93.184.217.1\n\n\n")
    assert done.code == 0
    assert load_strategy("demo.yaml").strategy.cluster.endpoint.public_cidrs == ("93.184.217.1/32",)
    assert "https://checkip.amazonaws.com did not return your address." in done.err
    assert '  must be one or more CIDR ranges such as 93.184.216.34/32, or private, got ""\n' in done.err


@in_one_test(
    ("answer", "expected"),
    [(b"93.184.216.34\n", "93.184.216.34"), (b"<html>log in", None), (b"2606:2800::1\n", None), (b"\xff", None)],
)
def test_what_the_service_returns(answer: bytes, expected: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float]] = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        asked.append((url, timeout))
        return io.BytesIO(answer)

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    assert caller_address() == expected
    assert asked == [(cluster_settings.CHECKIP, 3)]


def test_without_a_network_there_is_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def urlopen(*_: object, **__: object) -> None:
        raise URLError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    assert caller_address() is None


# --- wrong usage


@in_one_test("arguments", [[], ["--hardware", "gpu"], ["--model", "8B"]])
def test_without_a_terminal_the_flags_are_named(arguments: list[str]) -> None:
    code, said = outcome("demo", *arguments)
    assert code == 2
    assert "cannot ask without a terminal" in said
    assert all(flag in said for flag in ("--hardware", "--model", "--task", "--yes"))
    assert not Path("demo.yaml").exists()


WRONG = {
    "two ways at once": (["--hardware", "gpu", "--model", "8B", "--task", "training"], "remove one of them"),
    "no number": (["--model", "8X", "--task", "inference"], "a number such as 8B"),
    "no model": (["--model", "lama-3.1-8b", "--task", "inference"], "did you mean llama-3.1-8b"),
    "nothing": (["--model", "0B", "--task", "inference"], "is not a valid number of parameters"),
    "no region": (["--yes", "--region", "us-wset-2"], "did you mean us-west-2?"),
    "hardware that the region lacks": (
        ["--hardware", "trainium", "--task", "training", "--region", "eu-west-1"],
        "choose another region",
    ),
    "concurrency without a model": (
        ["--hardware", "gpu", "--task", "inference", "--concurrency", "4"],
        "--concurrency requires --model, got --hardware",
    ),
    "another precision": (
        ["--model", "8B", "--task", "training", "--precision", "int8"],
        "error: --precision must be fp32, fp16, bf16 or fp8 for training",
    ),
    "no such row": (
        ["--hardware", "trainium", "--task", "training", "--pick", "4"],
        "--pick must be 1, got 4",
    ),
    "no network": (
        ["--yes", "--api-access", ""],
        'error: --api-access must be one or more CIDR ranges such as 93.184.216.34/32, or private, got ""',
    ),
    "a private network": (
        ["--yes", "--api-access", "10.0.0.0/8"],
        "error: --api-access: 10.0.0.0/8",
    ),
    "no role": (["--yes", "--admin-role", "platform"], "--admin-role must be the ARN of an IAM role or user"),
    "code in a role": (["--yes", "--admin-role", "a]\nname: b"], "--admin-role must be the ARN"),
    "a task for mixed hardware": (
        ["--hardware", "mixed", "--task", "training"],
        "error: --task must be omitted for mixed hardware, got training",
    ),
    "no amount": (
        ["--yes", "--max-usd-per-month", "many"],
        "error: --max-usd-per-month must be a number of US dollars such as 5000, or none, got",
    ),
    "no bucket": (["--yes", "--state", "Our_State"], "--state must be a bucket name"),
    "hardware for another task": (
        ["--hardware", "inferentia", "--task", "training"],
        "error: --task must be inference or development for Inferentia, got training",
    ),
}


@in_one_test(("arguments", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_usage(arguments: list[str], expected: str) -> None:
    code, said = outcome("demo", *arguments)
    assert (code, Path("demo.yaml").exists()) == (2, False)
    assert expected in said


@pytest.mark.usefixtures("at_a_terminal")
@in_one_test(
    "options",
    [
        "--task serving",
        "--task training --precision int8",
        "--concurrency 0",
        "--budget cheap",
        "--region us-wset-2",
        "--hardware trainium --task inference",
        "--max-usd-per-month many",
        "--api-access everybody",
        "--api-access 10.0.0.0/8",
        "--admin-role platform",
        "--state Our_State",
    ],
)
def test_wrong_options_are_refused_before_the_first_question(options: str) -> None:
    done = cli.run("init", "demo", *options.split(), stdin="")
    assert (done.code, done.out, list(Path().iterdir())) == (2, "", [])
    option = next(each for each in reversed(options.split()) if each.startswith("--"))
    assert done.err.startswith(f"error: {option}")


@pytest.mark.usefixtures("at_a_terminal")
def test_hardware_for_another_task_is_asked_again() -> None:
    code, said = outcome("demo", "--task", "training", stdin="inferentia\ngpu\n" + "\n" * 8)
    assert code == 0
    assert "  --task must be inference or development for Inferentia, got training\n" in said


def test_a_config_that_cannot_be_read() -> None:
    code, said = outcome("demo", "--model", "nowhere.json", "--task", "inference")
    assert (code, Path("demo.yaml").exists()) == (2, False)
    assert "--model" in said
    assert "nowhere.json" in said


def test_a_model_that_fits_nowhere() -> None:
    code, said = outcome("demo", "--model", "900T", "--task", "training")
    assert code == 1
    assert "no hardware in us-west-2 fits" in said
    assert not Path("demo.yaml").exists()


@in_one_test("name", ["a b", "../demo", "-x", "", "a" * 101])
def test_what_cannot_be_a_name(name: str) -> None:
    code, said = outcome("--yes", "--", name)
    assert code == 2
    assert said.startswith("error: NAME must be at most 100 letters, digits, hyphens and underscores")


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
    code, said = outcome("demo", "--yes", "--output", "file/folder")
    assert code == 2
    assert said == "error: file/folder: not a directory\n"


@pytest.mark.usefixtures("at_a_terminal")
def test_a_read_only_folder_is_refused_before_the_first_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)  # tests may run as root
    done = cli.run("init", "demo")
    assert (done.code, done.err) == (2, "error: strategies: permission denied\n")
