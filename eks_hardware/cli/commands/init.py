"""``eks-hardware init``: a first strategy, from questions or from options, in a project that can deploy it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.exceptions import Exit

from eks_hardware.cli import completion, parameters
from eks_hardware.cli.errors import FAILED, WRONG_USAGE, fail, fail_with, tell
from eks_hardware.cli.streams import width
from eks_hardware.printable import reason

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Recommendation
    from eks_hardware.findings import Finding
    from eks_hardware.new_project import ProjectFile

_DEFAULT_REGION = "us-west-2"
_DEFAULT_MODEL = "8B"
_TASKS = ("inference", "training", "fine-tuning", "development")
_KINDS = ("gpu", "trainium", "inferentia", "cpu", "mixed")


class _NobodyThereError(Exception):
    """A question without a terminal to answer it."""


@dataclass
class _Answers:
    """The answers so far; None for questions that are still open."""

    hardware: str | None
    model: str | None
    task: str | None
    region: str | None


@click.command()
@click.argument("name", help="Name of the strategy, its stack and its cluster.")
@click.option("--hardware", type=click.Choice(_KINDS), help="Kind of hardware, if you know it.")
@click.option(
    "--model",
    metavar="SIZE|FILE",
    help="Model to choose hardware for: its number of parameters, such as 8B, or its config.json.",
)
@click.option("--task", type=click.Choice(_TASKS), help="Workload of the nodes.")
@click.option(
    "--region",
    metavar="REGION",
    shell_complete=completion.from_catalogue("regions"),
    help=f"AWS region; default: {_DEFAULT_REGION}.",
)
@click.option(
    "--out",
    type=parameters.FILE,
    default=".",
    metavar="FOLDER",
    help="Project folder, or the folder for NAME.yaml alone; default: the current folder.",
)
@click.option(
    "--project/--no-project",
    default=None,
    help="Create a CDKTF project for the strategy, or not; default: create one unless a cdktf.json exists.",
)
@click.option("--yes", is_flag=True, help="Do not ask; use defaults for missing options.")
@parameters.force("Overwrite NAME.yaml if it exists.")
def init(
    name: str,
    hardware: str | None,
    model: str | None,
    task: str | None,
    region: str | None,
    out: Path,
    project: bool | None,
    yes: bool,
    force: bool,
) -> None:
    """Write a first strategy, for a kind of hardware or for a model.

    The strategy is strategies/NAME.yaml in a project with cdktf.json, requirements, and a workflow for pull requests.
    In a folder without a project, init creates one. Existing files are kept. In the folder of another CDKTF app, init
    writes only NAME.yaml.

    At a terminal, init asks for missing options. Exit codes: 0 success; 1 no hardware fits; 2 wrong usage, or the
    file exists.

    \b
    Examples:
      eks-hardware init demo --hardware gpu --task inference
      eks-hardware init chat --model 8B --task inference --region us-east-2
    """
    from eks_hardware.advisor.strategies.strategy_text import WriteError, refuse_name
    from eks_hardware.advisor.strategies.write import write_new
    from eks_hardware.new_project import runs_strategies, strategy_path, write_project

    if hardware and model:
        raise click.UsageError(
            "--hardware and --model cannot be combined: --model chooses the hardware; remove one of them"
        )
    place = _place(out, project)
    file = out / f"{name}.yaml" if place == "none" else strategy_path(out, name)
    around: list[tuple[ProjectFile, bool]] = []
    try:
        refuse_name(name)
        if file.exists() and not force:
            raise WriteError(f"{file}: already exists; choose another name, or use --force")
        answers = _ask(_Answers(hardware, model, task, region), yes=yes)
        text = _strategy(name, answers)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_new(file, text, force=force)
        # With an explicit --project, also write the files that an interrupted run did not reach.
        if place == "new" or (project and runs_strategies(out)):
            around.extend(write_project(out, name))
    except WriteError as error:
        fail(str(error), WRONG_USAGE)
    except OSError as error:
        fail(f"{file.parent}: {reason(error)}", WRONG_USAGE)
    except _NobodyThereError as question:
        raise click.UsageError(
            f'cannot ask without a terminal: "{question}" Use --model (such as {_DEFAULT_MODEL}) or '
            f"--hardware ({', '.join(_KINDS)}), and --task ({', '.join(_TASKS)}); or --yes for the defaults"
        ) from None
    _report(name, file, out, place, around)


def _place(folder: Path, project: bool | None) -> Literal["new", "ours", "none"]:
    """Return whether the strategy gets a new project, joins one, or is written alone."""
    from eks_hardware.new_project import project_above, runs_strategies

    if project is False:
        return "none"
    above = project_above(folder)
    if above == folder.absolute():
        return "ours" if project or runs_strategies(folder) else "none"
    return "none" if above and not project else "new"


# --- questions


def _ask(answers: _Answers, *, yes: bool) -> _Answers:
    """Return every missing answer, from the user at the terminal or from the defaults."""
    by_flag = bool(answers.hardware or answers.model)
    if not by_flag:
        known = _choice("What do you know, the model or the hardware?", ("model", "hardware"), yes=yes)
        if known == "model":
            answers.model = _text("How many parameters does the model have?", _DEFAULT_MODEL, yes=yes)
        else:
            answers.hardware = _choice("Which hardware?", _KINDS, yes=yes)
    if answers.task is None and answers.hardware != "mixed":
        answers.task = _choice("What are the nodes for?", _tasks(answers.hardware), yes=yes)
    if answers.region is None:
        # If options answered the other questions, use the default region without asking.
        answers.region = _text("Which region?", _DEFAULT_REGION, yes=yes or by_flag)
    return answers


def _tasks(hardware: str | None) -> Sequence[str]:
    if hardware is None:
        return _TASKS
    from eks_hardware.advisor.strategies.starters import KINDS, purposes

    return purposes(next(each for each in KINDS if each == hardware))


def _choice(question: str, choices: Sequence[str], *, yes: bool) -> str:
    if len(choices) == 1:
        return choices[0]
    while True:
        answer = _text(f"{question} ({', '.join(choices)})", choices[0], yes=yes).strip()
        if answer in choices:
            return answer
        click.echo(f"choose one of: {', '.join(choices)}")


def _text(question: str, default: str, *, yes: bool) -> str:
    if yes:
        return default
    if not _somebody_is_there():
        raise _NobodyThereError(question)
    return str(click.prompt(question, default=default))


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()


# --- the strategy


def _strategy(name: str, answers: _Answers) -> str:
    from eks_hardware.advisor.strategies.strategy_text import WriteError
    from eks_hardware.catalogue import load
    from eks_hardware.suggestions import did_you_mean

    region, regions = answers.region or _DEFAULT_REGION, load().regions
    if region not in regions:
        raise WriteError(f'the catalogue does not list the region "{region}"; {did_you_mean(region, regions)}')
    if answers.hardware:
        from eks_hardware.advisor.strategies.starters import KINDS, starter_groups
        from eks_hardware.advisor.strategies.strategy_text import strategy_text

        kind = KINDS[KINDS.index(answers.hardware)]
        groups = starter_groups(kind, answers.task, region)
        return strategy_text(name, region, groups, heading=(f"A first strategy for {kind}.",))
    from eks_hardware.advisor.strategies.write import strategy_yaml

    return strategy_yaml(_recommended(answers, region), name=name)


def _recommended(answers: _Answers, region: str) -> Recommendation:
    import json

    from eks_hardware.advisor.model import Request, ShapeError
    from eks_hardware.advisor.recommend import recommend
    from eks_hardware.advisor.shapes.shape import shape_of
    from eks_hardware.findings import StrategyError
    from eks_hardware.loader import load_document
    from eks_hardware.models import WorkloadSpec

    assert answers.model
    asked = {"task": answers.task, "model": parameters.model_of(answers.model)}
    try:
        # Built as from a file, to get the same error messages.
        document = load_document(json.dumps(asked), WorkloadSpec, file="--model")
        shape = shape_of(document.value.model)
    except StrategyError as error:
        fail_with((_of_option(each) for each in error.findings), WRONG_USAGE)
    except ShapeError as error:
        tell(f"error {error.code} --model: {error.message}")
        raise Exit(WRONG_USAGE) from None
    found = recommend(Request(workload=document.value, shape=shape, regions=(region,)))
    if not found.candidates:
        nearest = found.nearest[0] if found.nearest else None
        said = f"; closest is {nearest.kind.name}: {nearest.text} {nearest.remedy or ''}".rstrip() if nearest else ""
        fail(f"no hardware in {region} fits{said}")
    return found


def _of_option(finding: Finding) -> Finding:
    """Return a finding about a field of the workload as one about the option that set it."""
    from dataclasses import replace

    option = "--task" if finding.path == "task" else "--model"
    return replace(finding, path=option, position=None)


# --- what to do next


def _report(name: str, file: Path, folder: Path, place: str, around: Sequence[tuple[ProjectFile, bool]]) -> None:
    from eks_hardware.printable import counted
    from eks_hardware.validation import validate
    from eks_hardware.validation.terminal import as_text

    found = validate([file])
    click.echo(f"{file} written: {counted(len(found.errors), 'error')}, {counted(len(found.warnings), 'warning')}")
    if found.shown:
        click.echo(as_text(found.shown, width()))
    if around:
        click.echo("\nProject files:")
        for each, written in around:
            click.echo(each.line(written=written))
    click.echo("\nNext:")
    for line in _next(name, file, folder, place):
        click.echo(f"  {line}")
    if found.errors:
        raise Exit(FAILED)


def _next(name: str, file: Path, folder: Path, place: str) -> Iterator[str]:
    """Yield the next commands, one per line, ready to paste."""
    path = shlex.quote(str(file if place == "none" else file.relative_to(folder)))
    if place != "none" and folder.resolve() != Path.cwd():
        yield f"cd {shlex.quote(str(folder))}"
    if place == "new":
        if not (folder / ".venv" / "bin" / "python").exists():
            yield "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
        yield "npm install"
    # The project's own, because this one may not be on the PATH.
    program = ".venv/bin/eks-hardware" if place == "new" else "eks-hardware"
    yield f"{program} validate {path}"
    yield f"{program} cost {path}"
    yield f"npx cdktf deploy {name}" if place != "none" else f"EKS_HARDWARE_STRATEGIES={path} npx cdktf deploy {name}"
