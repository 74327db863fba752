"""The hardware of a first strategy: questions about the workload, and a table to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from eks_hardware.cli.errors import FAILED, fail
from eks_hardware.cli.parameters import model_of
from eks_hardware.cli.questions import WrongAnswerError, ask, choose
from eks_hardware.cli.workload_options import OPTIONS, in_full, request_of_fields, request_or_stop
from eks_hardware.printable import quoted

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Recommendation, Request
    from eks_hardware.advisor.strategies.starters import Kind
    from eks_hardware.advisor.strategies.strategy_text import Settings

DEFAULT_REGION = "us-west-2"
DEFAULT_MODEL = "8B"
TASKS = ("inference", "training", "fine-tuning", "development")
KINDS = ("gpu", "trainium", "inferentia", "cpu", "mixed")
SHOWN = 4
"""Rows of the table: the best type, and the three next best."""


@dataclass(frozen=True)
class Hardware:
    """The chosen hardware: its region, and a function from the strategy's name and settings to its text."""

    region: str
    text: Callable[[str, Settings], str]


def choose_hardware(
    kind: str | None, fields: dict[str, Any], region: str | None, pick: int | None, *, asks: bool, yes: bool
) -> Hardware:
    """Return the hardware for the options; ask for missing ones, or use their defaults with ``yes``.

    Raises:
        WriteError: there is no hardware for the task in the region.
    """
    other = next((each for each in fields if each != "task"), None)
    if kind and "model" in fields:
        raise click.UsageError(
            "--hardware and --model cannot be combined: --model chooses the hardware; remove one of them"
        )
    if kind and other:
        raise click.UsageError(f"{OPTIONS[other]} requires --model, got --hardware; remove one of them")
    decided = (kind or "model" in fields) and ("task" in fields or kind == "mixed")
    if not (decided or asks or yes):
        raise click.UsageError(
            f"cannot ask without a terminal; use --model (such as {DEFAULT_MODEL}) or --hardware ({', '.join(KINDS)}), "
            f"and --task ({', '.join(TASKS)}); or --yes for the defaults"
        )
    if not kind and "model" not in fields:
        kind = _model_or_kind(fields, asks=asks)
    return _of_kind(kind, fields, region, pick, asks) if kind else _of_model(fields, region, pick, asks)


def _model_or_kind(fields: dict[str, Any], *, asks: bool) -> str | None:
    """Add the model to the fields, or return the kind of hardware."""

    def read(said: str) -> str | None:
        if said in KINDS:
            return said
        fields["model"] = model_of(said)
        try:
            _checked({"task": "inference", "model": fields["model"]}, "model")
        except WrongAnswerError as error:
            raise WrongAnswerError(f"a model {error}; or {', '.join(KINDS)}") from None
        return None

    question = f"Model (70B, config.json), or {', '.join(KINDS)}"
    return ask(question, DEFAULT_MODEL, read) if asks else read(DEFAULT_MODEL)


def _checked(fields: dict[str, Any], field: str) -> Request | None:
    """Return the request for the fields so far, or raise the fault in one of them."""
    from eks_hardware.findings import StrategyError

    try:
        return request_of_fields(fields)[0]
    except StrategyError as error:
        for each in error.findings:
            if each.path == OPTIONS[field]:
                raise WrongAnswerError(each.message) from None
        return None


# --- a model


def _of_model(fields: dict[str, Any], region: str | None, pick: int | None, asks: bool) -> Hardware:
    from eks_hardware.advisor.recommend import best_of_families, recommend
    from eks_hardware.advisor.strategies.write import by_family, strategy_yaml
    from eks_hardware.cli.output.recommendation import show_choices

    fields.setdefault("task", choose("Task", TASKS) if asks and "task" not in fields else TASKS[0])
    request, _ = request_or_stop(fields)
    for field, question, default in _questions(request) if asks else ():
        if field not in fields and (value := _value(fields, field, question, default)) is not None:
            fields[field] = value
    region = _region(region, asks)
    found = recommend(request_or_stop({**fields, "region": region})[0])
    if not found.candidates:
        fail(f"no hardware in {region} fits{_nearest(found)}", FAILED)
    show_choices(found, top=SHOWN)
    number = _picked(len(best_of_families(found.candidates)[:SHOWN]), pick, asks)
    return Hardware(region, lambda name, use: strategy_yaml(by_family(found), use, name=name, candidate=number - 1))


def _questions(request: Request) -> list[tuple[str, str, str]]:
    """Return the fields that matter for a task, with the question and the recommender's default."""
    from eks_hardware.advisor.fitting.defaults import concurrent_sequences, context_length

    workload = request.workload
    formats = ("bf16", "fp16", "fp32") if workload.trains else ("bf16", "fp16", "fp32", "fp8", "int8", "int4")
    serving = [
        (
            "concurrent_sequences",
            "Requests served at the same moment, per replica",
            str(concurrent_sequences(workload)),
        ),
        ("context_length", "Longest context (tokens of prompt and output, such as 16k)", str(context_length(workload))),
    ]
    return [
        *(serving if workload.task == "inference" else ()),
        ("precision", f"Precision of the weights ({', '.join(formats)})", request.shape.quantized_to or formats[0]),
        ("budget", "Priority (balanced, cost, performance)", workload.budget),
    ]


def _value(fields: dict[str, Any], field: str, question: str, default: str) -> str | int | None:
    """Return the answer; None for the default, which the recommender uses anyway."""

    def read(said: str) -> str | int | None:
        if said == default:
            return None
        number = in_full(said)
        value = int(number) if number.removeprefix("-").isdecimal() else said
        _checked({**fields, field: value}, field)
        return value

    return ask(question, default, read)


def _nearest(found: Recommendation) -> str:
    nearest = found.nearest[0] if found.nearest else None
    return f"; closest is {nearest.kind.name}: {nearest.text} {nearest.remedy or ''}".rstrip() if nearest else ""


# --- a kind of hardware


_CALLED: Mapping[str, str] = {
    "gpu": "GPUs",
    "trainium": "Trainium",
    "inferentia": "Inferentia",
    "cpu": "CPUs",
    "mixed": "mixed hardware",
}


def _of_kind(named: str, fields: dict[str, Any], region: str | None, pick: int | None, asks: bool) -> Hardware:
    from eks_hardware.advisor.strategies.starters import (
        KINDS,
        mixed_types,
        purposes,
        refuse_purpose,
        starter_groups,
        starter_types,
    )
    from eks_hardware.advisor.strategies.strategy_text import strategy_text
    from eks_hardware.cli.output.recommendation import show_types

    kind: Kind = KINDS[KINDS.index(named)]
    task: str | None = fields.get("task")
    if task is None and (tasks := purposes(kind)):
        task = choose("Task", tasks) if asks else tasks[0]
    refuse_purpose(kind, task)
    region = _region(region, asks, lambda said: starter_types(kind, task, said))
    types = starter_types(kind, task, region)[:SHOWN]
    mixed = {name: each[:SHOWN] for name, each in mixed_types(region).items()}
    show_types({"": types} if types else mixed, region)
    number = _picked(len(types), pick, asks)

    def text(name: str, settings: Settings) -> str:
        groups = starter_groups(kind, task, region, pick=number)
        return strategy_text(name, region, groups, settings, heading=(f"A first strategy for {_CALLED[kind]}.",))

    return Hardware(region, text)


# --- both


def _region(region: str | None, asks: bool, refuse: Callable[[str], object] = str) -> str:
    """Return a region that the catalogue lists and that is not refused."""
    from eks_hardware.advisor.strategies.strategy_text import WriteError
    from eks_hardware.catalogue import load

    def known(said: str) -> str:
        if said not in load().regions:
            raise WriteError(f"--region: {load().not_listed(said)}")
        refuse(said)
        return said

    def read(said: str) -> str:
        try:
            return known(said)
        except WriteError as error:
            raise WrongAnswerError(str(error).removeprefix("--region: ")) from None

    return ask("Region", DEFAULT_REGION, read) if asks and region is None else known(region or DEFAULT_REGION)


def _picked(rows: int, pick: int | None, asks: bool) -> int:
    """Return the number of the chosen row."""

    def read(said: str) -> int:
        if said not in map(str, range(1, rows + 1)):
            raise WrongAnswerError(f"must be a number from 1 to {rows}, got {quoted(said)}")
        return int(said)

    if asks and pick is None and rows > 1:
        return ask(f"Hardware (1 to {rows})", "1", read)
    if pick is not None and pick > max(rows, 1):
        limits = f"from 1 to {rows}" if rows > 1 else "1"
        raise click.BadParameter(f"must be {limits}, got {pick}", param_hint="--pick")
    return pick or 1
