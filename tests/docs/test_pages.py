"""The instructions on the pages work: strategies are accepted, commands and options exist, Python is valid."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.hooks.reference import commands
from eks_hardware.advisor.measured.file import read_measurements
from eks_hardware.advisor.ranking.policy_file import read_policy
from eks_hardware.cli import app
from eks_hardware.validation import validate
from helpers.cases import in_one_test
from helpers.pages import FENCED, NAMES, STRATEGIES, WRONG, code_blocks, complete_strategies, page_text
from helpers.paths import GOLDEN, ROOT, TESTS
from helpers.shown import missing_lines

_CALL = re.compile(r"(?m)(?:^|[|;&(] *)(?:\.venv/bin/)?eks-hardware +([^\n|>&;#]+)")
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")

OPTIONS = {
    name: {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help"}
    for name, command in commands().items()
}
# Read from the command line itself.
OPTIONS[""] = {"--version", "--help"}


def typed(text: str) -> str:
    """Return all commands on a page: lines after a prompt, commands of workflows, code in sentences."""
    prompts = [line for block in code_blocks(text, "console") for line in re.findall(r"(?m)^\$ (.*)$", block)]
    steps = [
        line
        for block in code_blocks(text, "yaml")
        for line in re.findall(r"(?m)^[ -]*(?:run:|entry:)? *(\S.*)$", block)
    ]
    return "\n".join([*prompts, *steps, *_INLINE.findall(FENCED.sub("", text))])


def invocations(text: str) -> Iterator[list[str]]:
    """Return every call of ``eks-hardware``, as words."""
    for call in re.findall(_CALL, typed(text.replace("\\\n", " "))):
        try:
            yield shlex.split(call)
        except ValueError:  # a quote that ends in another line, or after a pipe
            yield call.split()


@pytest.mark.parametrize(
    ("name", "text"), STRATEGIES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(STRATEGIES)]
)
def test_whole_strategies_are_accepted(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "strategy.yaml"
    file.write_text(text, encoding="utf-8")
    found = {finding.code for finding in validate([file]).errors}
    # A command on the page writes a lock file.
    assert found - {"LOCK_MISSING"} == WRONG.get(name, set())


def test_policies_and_measurements_of_the_guide_are_valid() -> None:
    blocks = code_blocks(page_text("docs/guides/recommend.md"), "yaml")
    (own_policy,) = (each for each in blocks if "\ntrees:" in each)
    (rows,) = (each for each in blocks if "\nrows:" in each)
    assert read_policy(own_policy).name == "platform policy"
    assert all(each.ratio for each in read_measurements(rows).rows)


@pytest.mark.parametrize("name", ["docs/guides/capacity-blocks.md", "docs/guides/efa.md", "docs/guides/explain.md"])
def test_what_commands_are_shown_to_print(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A strategy of the page is in a file of its name; each line below a command is printed by it, in that order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for text in complete_strategies(page_text(name)):
        (file,) = re.findall(r"(?m)^name: (\S+)", text)
        (tmp_path / f"{file}.yaml").write_text(text, encoding="utf-8")
    ran = 0
    for block in code_blocks(page_text(name), "console"):
        for command, shown in re.findall(r"(?m)^\$ eks-hardware (.+)\n((?:(?!\$ ).+\n)+)", block):
            done = CliRunner().invoke(app, shlex.split(command))
            assert (done.exit_code, missing_lines(shown, done.stdout)) == (0, [])
            ran += 1
    assert ran


def test_what_check_model_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = page_text("docs/guides/check-model.md")
    (command,) = re.findall(r"(?m)^\$ eks-hardware (.+)$", page)
    command = command.replace("bert/config.json", str(TESTS / "unit" / "advisor" / "configs" / "bert-base.json"))
    done = CliRunner().invoke(app, shlex.split(command))
    assert missing_lines(code_blocks(page, "text")[0], done.stdout) == []


def test_what_the_home_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    page = page_text("docs/index.md")
    (text,) = complete_strategies(page)
    (tmp_path / "research.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text(text.replace("p5.48xlarge", "g6.4xlarge"), encoding="utf-8")
    ran = set()
    for command, shown in re.findall(r"(?m)^\$ eks-hardware (.+)\n((?:(?!\$ |```).*\n)+)", page):
        if not command.startswith("demo"):  # tests/deploy
            assert missing_lines(shown, CliRunner().invoke(app, shlex.split(command)).stdout) == []
            ran.add(command.split()[0])
    assert ran == {"validate", "explain", "cost"}


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/guides/try-without-aws.md"])
def test_the_number_of_resources_in_the_demo(name: str) -> None:
    addresses = (GOLDEN / "mixed-hardware" / "addresses.txt").read_text(encoding="utf-8").split()
    resources = sum(each.startswith("aws_") for each in addresses)
    assert set(re.findall(r"([0-9]+) resources (?:created|destroyed)", page_text(name))) == {str(resources)}


def test_there_are_strategies_on_the_pages_that_write_one() -> None:
    assert {"docs/index.md", "docs/guides/efa.md", "docs/guides/capacity-blocks.md", "docs/guides/air-gapped.md"} <= {
        name for name, _ in STRATEGIES
    }


@in_one_test("name", NAMES)
def test_commands_and_their_options_exist(name: str) -> None:
    for words in invocations(page_text(name)):
        named = next((each for each in (" ".join(words[:2]), words[0]) if each in OPTIONS), None)
        if named is None:
            assert words[0].startswith("-") or words[0].isupper(), f"no command: {words}"
            named = ""
        options = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        assert options <= OPTIONS[named], f"eks-hardware {' '.join(words)}"


def test_calls_are_found() -> None:
    text = (
        "Run `eks-hardware explain FILE --derived`, say eks-hardware, and:\n\n"
        "```console\n$ .venv/bin/eks-hardware workload a --group b \\\n    --kind job | kubectl apply -f -\n```\n"
    )
    assert list(invocations(text)) == [
        ["workload", "a", "--group", "b", "--kind", "job"],
        ["explain", "FILE", "--derived"],
    ]


@in_one_test("name", NAMES)
def test_python_can_be_read(name: str) -> None:
    for block in code_blocks(page_text(name), "python"):
        ast.parse(block)


@in_one_test("name", NAMES)
def test_targets_of_make_exist(name: str) -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", page_text("Makefile")))
    assert set(re.findall(r"(?m)^(?:[A-Z_]+=\S+ )*make ([a-z-]+)", typed(page_text(name)))) <= targets


def test_variables_are_read_somewhere() -> None:
    read = {
        variable
        for folder in ("eks_hardware", "config", "examples", "stacks", "tests")
        for file in (ROOT / folder).rglob("*.*")
        if file.suffix in (".py", ".js", ".yml")
        for variable in re.findall(r"EKS_HARDWARE_[A-Z_]+", file.read_text(encoding="utf-8"))
    }
    named = {variable for name in NAMES for variable in re.findall(r"EKS_HARDWARE_[A-Z_]+", page_text(name))}
    assert named <= read
