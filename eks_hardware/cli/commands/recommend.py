"""``eks-hardware recommend``: which hardware suits a workload, why, and a strategy with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.exceptions import Exit

from eks_hardware.cli import completion, parameters
from eks_hardware.cli.errors import FAILED, WRONG_USAGE, fail, fail_with, tell
from eks_hardware.cli.output import print_json
from eks_hardware.printable import reason

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Candidate, Recommendation, Request
    from eks_hardware.advisor.ranking.workload_file import WorkloadFile
    from eks_hardware.findings import StrategyError
    from eks_hardware.loader import Document

_STDIN = "-"
# Field of a workload file -> its option.
_OPTIONS = {
    "task": "--task",
    "model": "--model",
    "model.parameters": "--model",
    "model.hf_config": "--model",
    "context_length": "--context",
    "concurrent_sequences": "--concurrency",
    "precision": "--precision",
    "budget": "--budget",
    "region": "--region",
    "regions": "--region",
    "purchase": "--capacity",
}


@click.command()
@click.option(
    "--task",
    metavar="TASK",
    shell_complete=completion.words_of("task"),
    help="training, fine-tuning, inference or development.",
)
@click.option("--model", metavar="SIZE|FILE", help="Parameters, such as 8B or 350M, or a Hugging Face config.json.")
@click.option(
    "--context", "context_length", type=int, metavar="TOKENS", help="Inference: tokens of prompt and output together."
)
@click.option(
    "--concurrency", "concurrent_sequences", type=int, metavar="N", help="Inference: concurrent requests per replica."
)
@click.option(
    "--precision",
    metavar="FORMAT",
    shell_complete=completion.words_of("precision"),
    help="Format of the weights: fp32, bf16, fp16, fp8, int8, int4.",
)
@click.option(
    "--budget",
    metavar="AIM",
    shell_complete=completion.words_of("budget"),
    help="cost, balanced or performance; default: balanced.",
)
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="REGION",
    shell_complete=completion.from_catalogue("regions"),
    help="AWS region; can be repeated. Default: compare five regions.",
)
@click.option(
    "--capacity",
    "purchase",
    multiple=True,
    metavar="HOW",
    shell_complete=completion.words_of("purchase"),
    help="on-demand, spot, reserved, capacity-block; can be repeated. Default: on-demand. "
    "Use spot only if the workload survives the loss of a node.",
)
@click.option(
    "--from",
    "file",
    type=parameters.FILE,
    metavar="FILE",
    help="Workload file with these and further fields; - is stdin.",
)
@click.option(
    "--top", type=click.IntRange(1, 100), metavar="N", default=5, show_default=True, help="Number of families to show."
)
@click.option(
    "--all",
    "--explain",
    "everything",
    is_flag=True,
    help="Show all reasons, scores, assumptions, regions, rejected families and notes.",
)
@parameters.output_format(text="Output format; JSON includes everything.")
@click.option(
    "-o", "--output", type=parameters.FILE, metavar="FILE.yaml", help="Write a strategy with the best candidate."
)
@click.option(
    "--pick",
    type=click.IntRange(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Candidate to write, by its number in the table.",
)
@click.option(
    "--project/--no-project",
    default=None,
    help="Write the strategy into a new CDKTF project, or not; default: ask at a terminal where there is none.",
)
@parameters.force("Overwrite the output file.")
def recommend(
    file: Path | None,
    top: int,
    everything: bool,
    format_: str,
    output: Path | None,
    pick: int,
    project: bool | None,
    force: bool,
    **options: Any,
) -> None:
    """Recommend hardware for a model: what fits, what it costs, and why other types do not fit.

    A workload file has the same fields and more: method, latency, framework, tokens of a training run, hardware to
    choose from. Options override the file.

    Exit codes: 0 success; 1 nothing fits (the closest types are shown), or errors in a file; 2 wrong usage.

    \b
    Examples:
      eks-hardware recommend --task inference --model 8B --context 8192
      eks-hardware recommend --from workload.yaml -o llm.yaml --project
    """
    from eks_hardware.advisor.recommend import recommend
    from eks_hardware.cli.output import recommendation

    if output is None and (pick > 1 or force or project):
        given = "--pick" if pick > 1 else "--force" if force else "--project"
        fail(f"{given} requires --output FILE", WRONG_USAGE)
    request, only = _request(_said(options), file)
    found = recommend(request, only=only)
    if output and project:
        output.parent.mkdir(parents=True, exist_ok=True)
    # Written first: the file exists even if stdout closes early, and errors are not hidden below a long table.
    chosen = _write(found, output, pick, force) if output and found.candidates else None
    if format_ == "json":
        print_json(recommendation.content(found))
    else:
        recommendation.show(found, top=top, everything=everything, written=output is not None)
    if not found.candidates:
        raise Exit(FAILED)
    if output and chosen:
        _say_written(output, chosen)
        _say_next(output, _project_around(output, project, force=force))


# --- what is asked


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by the names of the workload file's fields."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    said: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    if said.get("model"):
        said["model"] = parameters.model_of(said["model"])
    return said


def _request(said: dict[str, Any], file: Path | None) -> tuple[Request, tuple[str, ...]]:
    """Return the request, and the hardware to choose from."""
    from eks_hardware.advisor.ranking.workload_file import read_workload, request_of
    from eks_hardware.findings import StrategyError
    from eks_hardware.resolve.mappings import merged

    folder = file.parent if file else None
    try:
        document = _read(file) if file else None
        if document and not said:
            return request_of(document, folder=folder), document.value.only
    except StrategyError as error:
        _stop_for(error)
    if document is None and "task" not in said:
        fail("no workload given; use --task and --model, or --from FILE", WRONG_USAGE)
    if document is None and "model" not in said:
        fail("--model is missing; give the number of parameters, such as 8B, or the model's config.json", WRONG_USAGE)
    before = document.value.model_dump(mode="json", exclude_unset=True) if document else {"version": 1}
    if "regions" in said:
        before.pop("region", None)
    if "spot" in said.get("purchase", ()):
        before.setdefault("interruptible", True)
    try:
        both = read_workload(json.dumps(merged(before, said)))
        return request_of(both, folder=folder), both.value.only
    except StrategyError as error:
        _stop_for_options(error)


def _read(file: Path) -> Document[WorkloadFile]:
    from eks_hardware.advisor.ranking.workload_file import read_workload

    if str(file) == _STDIN:
        return read_workload(sys.stdin.read(), file="<stdin>")
    return read_workload(file)


# --- what is answered


def _write(found: Recommendation, file: Path, pick: int, force: bool) -> Candidate:
    from dataclasses import replace

    from eks_hardware.advisor.recommend import best_of_families
    from eks_hardware.advisor.strategies.write import WriteError, name_of, strategy_yaml, write_new

    shown = best_of_families(found.candidates)
    if pick > len(shown):
        fail(f"--pick {pick}: the table has {len(shown)} candidates", WRONG_USAGE)
    chosen = shown[pick - 1]
    # Other sizes of the picked family follow, for a group with several instance types.
    rest = [each for each in found.candidates if each not in shown]
    try:
        text = strategy_yaml(replace(found, candidates=(*shown, *rest)), name=name_of(file), candidate=pick - 1)
        write_new(file, text, force=force)
    except WriteError as error:
        fail(str(error), WRONG_USAGE)
    return chosen


def _say_written(file: Path, chosen: Candidate) -> None:
    nodes = f"{chosen.fit.nodes} x " if chosen.fit.nodes > 1 else ""
    tell(f"\nWrote {file}: {nodes}{chosen.fit.kind.name} in {chosen.region}.")


def _project_around(file: Path, wanted: bool | None, *, force: bool) -> Path | None:
    """Create a project for a written strategy if the user wants one, and return the strategy's path in it."""
    from eks_hardware.advisor.strategies.strategy_text import WriteError
    from eks_hardware.new_project import project_above, strategy_path, write_project

    folder = file.parent.parent if file.parent.name == "strategies" else file.parent
    if wanted is False or (wanted is None and project_above(folder)):
        return None
    if wanted is None and not _yes(f"{folder.absolute()} is not a CDKTF project, which deploying needs. Create one?"):
        return None
    moved = strategy_path(folder, file.stem)
    try:
        if moved.absolute() != file.absolute():
            if moved.exists() and not force:
                raise WriteError(f"{moved}: already exists; {file} is not moved there")
            moved.parent.mkdir(exist_ok=True)
            file.rename(moved)
        for each, written in write_project(folder, file.stem):
            click.echo(each.line(written=written), err=True)
    except WriteError as error:
        fail(str(error), WRONG_USAGE)
    except OSError as error:
        fail(f"{moved.parent}: {reason(error)}", WRONG_USAGE)
    return moved


def _yes(question: str) -> bool:
    """Ask, if someone can answer; without a terminal the answer is no."""
    return _somebody_is_there() and click.confirm(f"\n{question}", default=True, err=True)


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _say_next(file: Path, moved: Path | None) -> None:
    """Print the next commands, one per line, ready to paste."""
    import shlex

    from eks_hardware.advisor.strategies.write import name_of
    from eks_hardware.new_project import project_above

    path = shlex.quote(str(moved or file))
    lines = [f"eks-hardware validate {path}"]
    if moved:
        folder = moved.parent.parent
        lines = [f"cd {shlex.quote(str(folder))}"] if folder.resolve() != Path.cwd() else []
        lines += [
            "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
            "npm install",
            f".venv/bin/eks-hardware validate {shlex.quote(str(moved.relative_to(folder)))}",
            f"npx cdktf deploy {file.stem}",
        ]
    elif project_above(file.parent):
        lines.append(f"EKS_HARDWARE_STRATEGIES={path} npx cdktf deploy {name_of(file)}")
    else:
        lines.append("repeat the command with --project to create a project that can deploy it")
    for label, line in zip(["Next:", *[""] * len(lines)], lines, strict=False):
        tell(f"{label:<5} {line}")


# --- errors


def _stop_for(error: StrategyError) -> NoReturn:
    fail_with(error.findings)


def _stop_for_options(error: StrategyError) -> NoReturn:
    """Print findings with the names of the options. Exit with 1 for a faulty config.json, otherwise 2."""
    from dataclasses import replace

    code = FAILED if any(each.code.startswith("HF_CONFIG") for each in error.findings) else WRONG_USAGE
    fail_with((replace(each, path=_option(each.path), position=None) for each in error.findings), code)


def _option(path: str) -> str:
    """Return the option for a field, or the field itself if only a file can set it."""
    found = (option for field, option in _OPTIONS.items() if path == field or path.startswith(f"{field}["))
    return next(found, path)
