"""The command line as a whole: help, mistyped arguments and completion."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from click.testing import CliRunner

from eks_hardware.cli import COMMANDS, app
from eks_hardware.data import FOLDER
from helpers import cli
from helpers.cases import in_one_test
from helpers.paths import ROOT


@in_one_test("arguments", [("--help",), ("-h",), ()])
def test_help_has_every_command(arguments: tuple[str, ...]) -> None:
    found = cli.run(*arguments)
    shown = found.out + found.err
    files = {file.stem.replace("_", "-") for file in (ROOT / "eks_hardware" / "cli" / "commands").glob("*.py")}
    assert files - {"--init--"} == set(COMMANDS)
    assert all(f"\n  {name} " in shown for name in COMMANDS)
    assert max(map(len, shown.splitlines())) <= 80
    assert "\n    eks-hardware init my-cluster\n" in shown
    assert "\b" not in shown
    assert "\\b" not in shown
    assert "..." not in shown.partition("Commands:")[2].replace("{...}", "")


@in_one_test("name", [*COMMANDS, "instances refresh", "prices refresh"])
def test_help_of_a_command_fits_and_names_every_option_whole(name: str) -> None:
    found = cli.run(*name.split(), "-h")
    assert found.code == 0
    assert max(map(len, found.out.splitlines())) <= 80
    assert name == "completion" or re.search(r"\n  Examples?:\n    eks-hardware ", found.out)
    command: Any = app
    for word in name.split():
        command = command.get_command(None, word)
    assert all(option in found.out for each in command.params for option in each.opts if option.startswith("-"))
    listed = re.findall(r"^  (\S.*?)(?:  |$)", found.out.partition("\nPositional arguments:")[2], re.MULTILINE)
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (("validat",), "did you mean validate?"),
        (("validate", "--strct"), "unknown option --strct; did you mean --strict?"),
    ],
)
def test_a_misspelt_word_has_a_suggestion(arguments: tuple[str, ...], suggestion: str) -> None:
    found = cli.run(*arguments)
    assert found.code == 2
    assert suggestion in found.err


@in_one_test("name", ["init", "recommend", "render", "report", "instances refresh", "prices refresh"])
def test_the_option_for_output_has_one_name(name: str) -> None:
    options = [set(each.opts) for each in dict(_every())[name].params]
    assert {"-o", "--output"} in options
    assert "--out" not in set().union(*options)


def _every() -> list[tuple[str, Any]]:
    """Return every command with its words on the command line."""
    names = [(name, app.get_command(None, name)) for name in COMMANDS]  # type: ignore[arg-type]
    groups = [names[COMMANDS.index(name)] for name in ("instances", "prices")]
    return [*names, *((f"{name} refresh", each.commands["refresh"]) for name, each in groups)]  # type: ignore[union-attr]


@in_one_test("name", [name for name, _ in _every()])
def test_the_help_of_every_command_has_examples_that_parse(name: str) -> None:
    command = dict(_every())[name]
    examples = [
        line.strip() for line in cli.run(*name.split(), "-h").out.splitlines() if f"    eks-hardware {name}" in line
    ]
    if name == "completion":  # its examples are shell commands
        return
    assert examples
    for example in examples:
        arguments = shlex.split(re.split(" [<>] ", example)[0])[1 + len(name.split()) :]
        command.make_context(name, arguments)


@in_one_test(
    ("arguments", "said"),
    [
        (("cst",), 'error: unknown command "cst"; did you mean cost?\n'),
        (("zzz",), 'error: unknown command "zzz"; known: recommend, init, validate, '),
        (("cost",), "error: STRATEGY is missing; add it (`eks-hardware cost -h` shows the options)"),
        (("cost", "x", "--format", "xml"), 'error: --format must be one of text, json, got "xml"'),
        (("workload", "x", "--group", "g"), "error: --kind is missing; choose one of job, deployment, "),
        (("cost", "x", "--strct"), "error: unknown option --strct (`eks-hardware cost -h` shows the options)"),
        (("cost", "x", "y"), 'error: unexpected argument "y"; remove it\n'),
        (("cost", "--overlay"), "error: --overlay must have a value, got none; add one"),
        (("cost", "x", "--all=1"), "error: --all must not have a value; remove it"),
        (("recommend", "--top", "0"), "error: --top must be from 1 to 100, got 0\n"),
        (("recommend", "--pick", "0"), "error: --pick must be at least 1, got 0\n"),
        (("recommend", "--top", "x"), 'error: --top must be a whole number, got "x"\n'),
        (
            ("recommend", "--context", "x"),
            'error: --context must be a whole number such as 8192 or 16k, got "x',
        ),
        (("render", "x", "-o", "y", "--outputs", "none"), 'error: --outputs "none": no such file or directory\n'),
        (("schema", "x"), 'error: KIND must be one of strategy, adoption, measurements, policy, got "x"\n'),
        (("instances", "refres"), 'error: unknown command "refres"; did you mean refresh?\n'),
        (("instances", "--family", "g77"), 'error: --family: unknown family "g77"; did you mean g7'),
        (("rules", "NOSUCH"), 'error: CODE: unknown code "NOSUCH"; `eks-hardware rules` lists the codes'),
        (("rules", "efa"), 'error: CODE: unknown code "EFA"; names that start with EFA: EFA_'),
        (("rules", "EFA_UNSUPORTED"), 'error: CODE: unknown code "EFA_UNSUPORTED"; did you mean EFA_UNSUPPORTED'),
        (("explain", "mixed-hardware", "--group", "gpu"), 'error: --group: unknown group "gpu"; did you mean gpu-tr'),
        (("instances", "--hardware", "nvidia"), 'error: --hardware: unknown hardware "nvidia"; did you mean nvidia-gp'),
        (("completion",), "error: SHELL is missing; choose one of bash, zsh, fish (`eks-hardware completion -h` shows"),
        (("completion", "csh"), 'error: SHELL must be one of bash, zsh, fish, got "csh"\n'),
        (("recommend", "--model", "8B"), "error: --task is missing; choose one of training, fine-tuning, "),
        (("recommend", "--task", "inference", "--model", "8Q"), "error: --model must be a number"),
        (("init", "x", "--model", "8Q", "--task", "inference"), "error: --model must be a number"),
        (
            ("recommend", "--task", "inference", "--model", "8B", "--budget", "x"),
            "error: --budget must be one of cost,",
        ),
        (
            ("recommend", "--task", "inference", "--model", "8B", "--priority=x"),
            "error: --priority must be one of cost",
        ),
        (("init", "x", "--yes", "--budget=x"), "error: --budget must be one of cost, balanced, performance"),
        (("init", "x", "--hardware", "gpu", "--yes", "--budget=cost"), "error: --budget requires --model, got --hardw"),
        (("recommend", "--budget"), "error: --budget must have a value, got none; add one"),
        (("check-model", "no.json", "--target", "gpu"), "error: CONFIG: no.json does not exist"),
    ],
)
def test_errors_have_one_format(arguments: tuple[str, ...], said: str) -> None:
    found = cli.run(*arguments)
    assert found.code == 2
    assert (found.out, found.err.startswith(said)) == ("", True), found.err
    assert found.err.count("\n") == 1


@in_one_test(
    "command",
    ["cost", "explain", "lock", "validate", "doctor", "orphans", "report --output x.html", "render --output x"],
)
def test_an_unknown_strategy_lists_those_there_are(command: str) -> None:
    found = cli.run(*command.split(), "gpu-trainin")
    assert found.code == 2
    assert found.err.startswith(
        'error: "gpu-trainin" is not a file or the name of a strategy; did you mean gpu-training? '
        "(strategies: cpu-inference, development, "
    )


@in_one_test(
    "command",
    [
        "validate mixed-hardware",
        "explain mixed-hardware",
        "cost mixed-hardware",
        "recommend --task inference --model 1B --region us-west-2",
        "rules",
        "rules EFA_SPOT",
        "instances --family g6",
    ],
)
def test_json_is_a_document_with_a_version(command: str) -> None:
    short, long = (cli.run(*command.split(), *option) for option in (["--json"], ["--format", "json"]))
    assert short == long
    assert next(iter(json.loads(short.out).items())) == ("version", 1)


FAILING = {
    "recommend": "--task inference --model 8B --region nowhere",
    "validate": "nosuch",
    "lock": "nosuch",
    "explain": "mixed-hardware --group nosuch",
    "cost": "nosuch",
    "diff": "nosuch nosuch",
    "render": "nosuch --output x",
    "workload": "mixed-hardware --group gpu-training --kind job --nodes 0",
    "check-model": "nosuch.json --target gpu",
    "rules": "NOSUCH",
    "instances": "--family nosuch",
    "prices": "nosuch",
    "doctor": "nosuch",
    "orphans": "nosuch",
}


def test_every_command_with_json_fails_with_a_document() -> None:
    with_json = [name for name, each in _every() if any("--json" in option.opts for option in each.params)]
    assert sorted(FAILING) == sorted(with_json)


@in_one_test("name", FAILING)
def test_a_failure_with_json_is_a_document(name: str) -> None:
    text = cli.run(name, *FAILING[name].split())
    assert text.code == 2
    for option in (["--json"], ["--format", "json"], ["--format=json"]):
        found = cli.run(name, *FAILING[name].split(), *option)
        document = json.loads(found.out)
        assert (found.code, document["version"]) == (text.code, 1)
        assert text.err.endswith(f"error: {document['error']}\n")
        assert all(each["message"] in document["error"] for each in document["findings"])


@in_one_test("arguments", [("cost", "--json"), ("cost", "x", "--json", "--strct"), ("diff", "x", "--format", "json")])
def test_wrong_usage_with_json_is_a_document(arguments: tuple[str, ...]) -> None:
    found = cli.run(*arguments)
    assert found.code == 2
    assert found.err == f"error: {json.loads(found.out)['error']}\n"


def test_schema_is_the_one_of_the_strategies() -> None:
    found = cli.run("schema")
    assert (found.code, found.err) == (0, "")
    assert json.loads(found.out) == json.loads((FOLDER / "strategy.schema.json").read_text(encoding="utf-8"))


def test_schema_of_adoptions() -> None:
    assert json.loads(cli.run("schema", "adoption").out)["title"] == "eks-hardware adoption"
    assert json.loads(cli.run("schema", "measurements").out)["title"] == "eks-hardware measurements"
    assert json.loads(cli.run("schema", "policy").out)["title"] == "eks-hardware policy"
    assert cli.run("schema", "pools").code == 2


def test_help_breaks_no_line_within_an_option() -> None:
    for width in range(50, 81):
        found = CliRunner().invoke(app, ["diff", "-h"], terminal_width=width)
        assert found.output.count("--fail-on") == 3, width


# --- completion


@in_one_test("shell", ["bash", "zsh", "fish"])
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
        (("explain", "mixed-hardware", "--group", "tr"), ["trainium-training"]),
        (("explain", "mixed-hardware", "--pool", "tr"), ["trainium"]),
        (("workload", "mixed-hardware", "--group", "tr"), ["trainium-training", "trainium"]),
        (("explain", "no-such-strategy", "--group", ""), []),
        (("explain", "--group", ""), []),
        (("instances", "--family", "p4"), ["p4d", "p4de"]),
        (("instances", "--accelerator", "a100"), ["a100"]),
        (("recommend", "--region", "us-west"), ["us-west-1", "us-west-2"]),
        (("recommend", "--task", "in"), ["inference"]),
        (("recommend", "--task", "q"), ["qlora"]),
        (("recommend", "--model", "llama-3.1-4"), ["llama-3.1-405b", "llama-3.1-405b-fp8"]),
        (("init", "demo", "--model", "openai/gpt"), ["openai/gpt-oss-120b", "openai/gpt-oss-20b"]),
        (("recommend", "--precision", "bf"), ["bf16"]),
        (("recommend", "--capacity", "s"), ["spot"]),
        (("rules", "efa_uns"), ["EFA_UNSUPPORTED"]),
        (("diff", "a", "b", "--format", "m"), ["markdown"]),
    ],
)
def test_what_is_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered
