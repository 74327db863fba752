"""``eks-hardware recommend``: which hardware suits a workload, why, and a strategy with it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.exceptions import Exit

from eks_hardware import atomic_files
from eks_hardware.cli import completers, parameters
from eks_hardware.cli.cluster_settings import UnknownAddressError, api_access_option, with_api_access
from eks_hardware.cli.errors import FAILED, exit_codes, fail, tell
from eks_hardware.cli.next_steps import show_files, show_next
from eks_hardware.cli.output import print_json
from eks_hardware.cli.questions import at_terminal, confirmed, interrupted
from eks_hardware.cli.sections import SectionedCommand
from eks_hardware.cli.workload_options import given_fields, request_of_fields, workload_options
from eks_hardware.printable import reason

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Recommendation, Request
    from eks_hardware.advisor.ranking.workload_file import WorkloadFile
    from eks_hardware.loader import Document

_STDIN = "-"


def _print_policy(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from eks_hardware.data import FOLDER

        click.echo((FOLDER / "policy" / "selection_guide.json").read_text(encoding="utf-8"), nl=False)
        context.exit()


_SECTIONS = {
    "More about the workload": ("file", "users", "training_tokens"),
    "Ranking and estimates": ("quotas", "measurements", "policy", "print_policy"),
    "Display": ("top", "everything", "help"),
    "The written strategy": ("pick", "api_access", "project", "force"),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS, epilog=exit_codes("no hardware fits, or errors in a file"))
@workload_options
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="REGION",
    shell_complete=completers.from_catalogue("regions"),
    help="AWS region; can be repeated. Default: compare five regions.",
)
@click.option(
    "--capacity",
    "purchase",
    multiple=True,
    metavar="HOW",
    shell_complete=completers.words_of("purchase"),
    help="on-demand, spot, reserved, capacity-block; can be repeated. Default: on-demand. "
    "Use spot only if the workload survives the loss of a node.",
)
@click.option(
    "--from",
    "file",
    type=parameters.FILE,
    metavar="FILE",
    help="Workload file, which can set more fields than the options; - is stdin.",
)
@click.option(
    "--quotas",
    type=parameters.FILE,
    multiple=True,
    metavar="FILE",
    help="The account's quotas, which limit the plans: the output of `aws service-quotas list-service-quotas "
    "--service-code ec2`; can be repeated, for other regions.",
)
@click.option(
    "--measurements",
    type=parameters.FILE,
    metavar="FILE",
    help="Your measurements of memory and speed, such as rows of `python -m benchmarks.gpu`; they correct estimates.",
)
@click.option(
    "--policy",
    type=parameters.FILE,
    metavar="FILE",
    help="Decision trees that name hardware for workloads, in place of the shipped ones.",
)
@click.option(
    "--print-policy",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_policy,
    help="Print the shipped decision trees, as a start for a --policy file, and exit.",
)
@click.option(
    "--top", type=click.IntRange(1, 100), metavar="N", default=5, show_default=True, help="Number of families to show."
)
@click.option(
    "--explain",
    "--all",
    "everything",
    is_flag=True,
    help="Show all reasons, scores, assumptions, regions, rejected families and notes.",
)
@parameters.output_format(text="Output format; JSON includes everything.")
@parameters.output("FILE.yaml", "Write a strategy with the best candidate.")
@click.option(
    "--pick",
    type=click.IntRange(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Candidate to write, by its number in the table.",
)
@api_access_option()
@click.option(
    "--project/--no-project",
    default=None,
    help="Write the strategy into a new CDKTF project, or not; default: ask at a terminal if there is no project.",
)
@parameters.force("Overwrite the output file.")
def recommend(
    file: Path | None,
    top: int,
    everything: bool,
    format_: str,
    output: Path | None,
    pick: int,
    api_access: str | None,
    project: bool | None,
    force: bool,
    **options: object,
) -> None:
    """Recommend hardware for a model: what fits, what it costs, and why other types do not fit.

    A workload file has the same fields and more: method, latency, framework, software maturity, hardware to choose
    from. Options override the file.

    If nothing fits, the closest types are shown.

    \b
    Examples:
      eks-hardware recommend --task inference --model llama-3.1-70b --context 8k
      eks-hardware recommend --task training --model 7B --tokens 1T --within 30d
      eks-hardware recommend --task lora --model 8B
      eks-hardware recommend --from workload.yaml -o llm.yaml --project
    """
    from eks_hardware.advisor.recommend import cheaper_way, recommend
    from eks_hardware.cli.output import recommendation, recommendation_json
    from eks_hardware.new_project import strategy_path

    needing = {"--pick": pick > 1, "--api-access": api_access, "--force": force, "--project": project}
    if output is None and any(needing.values()):
        fail(f"{next(name for name, given in needing.items() if given)} requires --output FILE")
    request, only = _with_files(options, file)
    ranked = recommend(request, only=only)
    cheaper = cheaper_way(ranked, only=only)
    writes = output and ranked.candidates
    if output and writes and project:
        output.parent.mkdir(parents=True, exist_ok=True)
    asks = api_access is None and at_terminal()
    # Users read the ranking before they answer. Without a question, the file is written first: it exists even if stdout
    # closes early, and errors are not hidden below a long table.
    written = _written(ranked, output, pick, api_access, force) if output and writes and not asks else None
    if format_ == "json":
        print_json(recommendation_json.content(ranked, cheaper))
    else:
        recommendation.show(ranked, top=top, everything=everything, pick=pick, cheaper=cheaper)
    if output and writes and asks:
        written = _written(ranked, output, pick, api_access, force)
    if isinstance(written, UnknownAddressError):
        raise written
    if not ranked.candidates:
        raise Exit(FAILED)
    if output and written:
        summary, private_in = written
        tell(f"\n{summary}")
        folder = _project_around(output, project, private_in, force=force)
        file = strategy_path(folder, output.stem) if folder else output
        show_next(output.stem, file, folder, created=folder is not None, private_in=private_in, err=True)


# --- what is asked


def _with_files(options: dict[str, Any], file: Path | None) -> tuple[Request, tuple[str, ...]]:
    """Return the request with the files of the options, and the hardware to choose from."""
    from eks_hardware.advisor.measured.file import read_measurements
    from eks_hardware.advisor.ranking.policy_file import read_policy

    measurements, policy = options.pop("measurements"), options.pop("policy")
    options["quotas"] = tuple(str(path.absolute()) for path in options["quotas"])  # not relative to the workload file
    request, only = _request(given_fields(options), file)
    return replace(
        request,
        measured=read_measurements(measurements) if measurements else None,
        policy=read_policy(policy) if policy else None,
    ), only


def _request(fields: dict[str, Any], file: Path | None) -> tuple[Request, tuple[str, ...]]:
    """Return the request, and the hardware to choose from."""
    from eks_hardware.advisor.ranking.workload_file import request_of
    from eks_hardware.models.workload import OF_USERS
    from eks_hardware.resolve.mappings import merged

    folder = file.parent if file else None
    required = {name: value for name, value in fields.items() if name in ("task", "model")}
    document = _read(file, required) if file else None
    if document and not fields:
        return request_of(document, folder=folder), document.value.only
    if document is None and "task" not in fields:
        if fields:
            from eks_hardware.spellings import Task

            fail(f"--task is missing; choose one of {', '.join(get_args(Task))}")
        fail("no workload given; use --task and --model, or --from FILE")
    if document is None and "model" not in fields:
        fail("--model is missing; give a public model such as llama-3.1-8b, parameters such as 8B, or a config.json")
    before = document.value.model_dump(mode="json", exclude_unset=True) if document else {}
    if "regions" in fields:
        before.pop("region", None)
    if "model" in fields:
        before["model"] = _described(before.get("model", {}), fields["model"])
    for name, other in (("users", "concurrent_sequences"), ("concurrent_sequences", "users")):
        if name in fields and other not in fields:
            before.pop(other, None)
            for of_users in OF_USERS if other == "users" else ():
                before.pop(of_users, None)
    if "spot" in fields.get("purchase", ()):
        before.setdefault("interruptible", True)
    return request_of_fields(merged(before, fields), folder=folder)


def _described(model: dict[str, object], fields: dict[str, object]) -> dict[str, object]:
    """Return the fields of the file's model that also apply to the model of ``--model``."""
    if "parameters" not in fields:  # another model
        return {}
    return {name: value for name, value in model.items() if name not in ("name", "hf_config")}


def _read(file: Path, defaults: dict[str, Any]) -> Document[WorkloadFile]:
    from eks_hardware.advisor.ranking.workload_file import read_workload

    if str(file) == _STDIN:
        return read_workload(sys.stdin.read(), file="<stdin>", defaults=defaults)
    return read_workload(file, defaults=defaults)


# --- what is answered


def _written(
    recommendation: Recommendation, file: Path, pick: int, api_access: str | None, force: bool
) -> tuple[str, str | None] | UnknownAddressError:
    """Write the strategy as ``_write`` does; return the error if only the address is missing.

    The command raises this error after it shows the ranking.
    """
    try:
        return _write(recommendation, file, pick, api_access, force)
    except UnknownAddressError as error:
        return error
    except click.Abort:
        interrupted("nothing was written")


def _write(
    recommendation: Recommendation, file: Path, pick: int, api_access: str | None, force: bool
) -> tuple[str, str | None]:
    """Write the strategy, and return the sentences about it, and its region if the API is private."""
    from eks_hardware.advisor.recommend import best_of_families
    from eks_hardware.advisor.strategies.write import WriteError, by_family, name_of, strategy_yaml, write_new
    from eks_hardware.new_project import has_schema, with_schema

    shown = best_of_families(recommendation.candidates)
    parameters.refuse_pick_above(len(shown), pick)
    chosen = shown[pick - 1]
    try:
        name = name_of(file)
        settings, reach = with_api_access(api_access, chosen.region, asks=at_terminal())
        text = strategy_yaml(by_family(recommendation), settings, name=name, candidate=pick - 1)
        write_new(file, with_schema(text) if has_schema(file) else text, force=force)
    except WriteError as error:
        fail(str(error))
    summary = f"Wrote {file}: {chosen.hardware} in {chosen.region}.\n{reach}".rstrip()
    return summary, None if settings.public_cidrs else chosen.region


def _project_around(file: Path, wanted: bool | None, private_in: str | None, *, force: bool) -> Path | None:
    """Create a project for a written strategy if the user wants one, move the strategy there, and return the folder."""
    from eks_hardware.advisor.strategies.strategy_text import WriteError
    from eks_hardware.new_project import project_above, strategy_path, with_schema, write_project

    folder = file.parent.parent if file.parent.name == "strategies" else file.parent
    if wanted is False or (wanted is None and project_above(folder)):
        return None
    if wanted is None and not _yes(f"{folder.absolute()} is not a CDKTF project; deploying needs one. Create it?"):
        return None
    moved = strategy_path(folder, file.stem)
    try:
        if moved.absolute() != file.absolute():
            if moved.exists() and not force:
                raise WriteError(f"{moved}: already exists; {file} is not moved there")
            moved.parent.mkdir(exist_ok=True)
            file.rename(moved)
            tell(f"Moved {file} to {moved}.")
        atomic_files.replace(moved, with_schema(moved.read_text(encoding="utf-8")).encode())
        show_files(list(write_project(folder, file.stem, private_in)), err=True)
    except WriteError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{moved.parent}: {reason(error)}")
    return folder


def _yes(question: str) -> bool:
    """Ask, if someone can answer; without a terminal the answer is no."""
    if not at_terminal():
        return False
    tell("")
    return confirmed(question)
