"""The hardware of a first strategy: questions about the workload, and a table to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click

from eks_hardware.cli.errors import FAILED, fail
from eks_hardware.cli.parameters import model_of
from eks_hardware.cli.questions import WrongAnswerError, ask, choose
from eks_hardware.cli.spending_limit import Offer, amount_of_option, limit_and_number
from eks_hardware.cli.workload_options import in_full, option_of, request_of_fields, task_fields
from eks_hardware.printable import joined
from eks_hardware.spellings import (
    DEFAULT_FORMAT,
    DEFAULT_TASK,
    TRAINED_FORMATS,
    Method,
    Priority,
    Task,
    WeightFormat,
)

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Recommendation, Request
    from eks_hardware.advisor.strategies.starters import Kind
    from eks_hardware.advisor.strategies.strategy_text import Settings

DEFAULT_REGION = "us-west-2"
DEFAULT_MODEL = "8B"
TASKS: tuple[Task, ...] = get_args(Task)
TUNED: tuple[Method, ...] = ("lora", "qlora")
"""Fine-tuning methods that the question about the task also accepts."""
KINDS = ("gpu", "trainium", "inferentia", "cpu", "mixed")
SHOWN = 4
"""Rows of the table: the best type, and the three next best."""


class Options(NamedTuple):
    """The hardware options other than those of the workload; None if omitted."""

    kind: str | None
    region: str | None
    max_usd_per_month: str | None
    pick: int | None


class Hardware(NamedTuple):
    """The chosen hardware: its region, the spending limit, and a function from name and settings to the strategy."""

    region: str
    max_usd_per_month: float | None
    text: Callable[[str, Settings], str]


def choose_hardware(options: Options, fields: dict[str, object], *, asks: bool, yes: bool) -> Hardware:
    """Return the hardware for the options; ask for missing ones, or use their defaults with ``yes``.

    Raises:
        WriteError: there is no hardware for the task in the region.
    """
    kind = options.kind
    other = next((field for field in fields if field not in ("task", "method")), None)
    if kind and "model" in fields:
        raise click.UsageError(
            "--hardware and --model cannot be combined: --model chooses the hardware; remove one of them"
        )
    if kind and other:
        raise click.UsageError(f"{option_of(other)} requires --model, got --hardware; remove one of them")
    decided = (kind or "model" in fields) and ("task" in fields or kind == "mixed")
    if not (decided or asks or yes):
        raise click.UsageError(
            f"cannot ask without a terminal; use --model (such as {DEFAULT_MODEL}) or --hardware ({', '.join(KINDS)}), "
            f"and --task ({', '.join(TASKS)}); or --yes for the defaults"
        )
    if fields:  # errors in options are printed before the first question
        request_of_fields({"task": DEFAULT_TASK, "model": {"parameters": DEFAULT_MODEL}, **fields})
    if kind and (fault := _task_fault(kind, fields)):
        raise click.BadParameter(fault, param_hint="--task")
    if options.max_usd_per_month is not None:
        amount_of_option(options.max_usd_per_month)
    if not kind and "model" not in fields:
        kind = _model_or_kind(fields, asks=asks)
    return _of_kind(kind, fields, options, asks) if kind else _of_model(fields, options, asks)


def _model_or_kind(fields: dict[str, object], *, asks: bool) -> str | None:
    """Add the model to the fields, or return the kind of hardware."""

    def read(answer: str) -> str | None:
        if answer in KINDS:
            if fault := _task_fault(answer, fields):
                raise WrongAnswerError(f"--task {fault}")
            return answer
        fields["model"] = model_of(answer)
        try:
            _checked({"task": DEFAULT_TASK, "model": fields["model"]}, "model")
        except WrongAnswerError as error:
            raise WrongAnswerError(f"a model {error}; or {', '.join(KINDS)}") from None
        return None

    question = f"Model (llama-3.1-8b, 70B, config.json), or {', '.join(KINDS)}"
    return ask(question, DEFAULT_MODEL, read) if asks else read(DEFAULT_MODEL)


def _checked(fields: dict[str, object], field: str) -> Request | None:
    """Return the request for the fields so far; reject the answer if ``field`` is invalid; None if others are."""
    from eks_hardware.findings import StrategyError

    try:
        return request_of_fields(fields)[0]
    except StrategyError as error:
        for finding in error.findings:
            if finding.path == option_of(field):
                raise WrongAnswerError(finding.message) from None
        return None


# --- a model


def _of_model(fields: dict[str, object], options: Options, asks: bool) -> Hardware:
    from eks_hardware.advisor.recommend import best_of_families, recommend
    from eks_hardware.advisor.strategies.write import by_family, strategy_yaml
    from eks_hardware.cli.output.recommendation import show_choices

    if "task" not in fields:
        fields |= task_fields(_task((*TASKS, *TUNED), asks=asks))
    request, _ = request_of_fields(fields)
    for field, question, default in _questions(request) if asks else ():
        if field not in fields and (value := _value(fields, field, question, default)) is not None:
            fields[field] = value
    region = _region(options.region, asks)
    recommendation = recommend(request_of_fields({**fields, "region": region})[0])
    if not recommendation.candidates:
        fail(f"no hardware in {region} fits{_nearest(recommendation)}", FAILED)
    show_choices(recommendation, top=SHOWN)
    ranked = by_family(recommendation)

    def text(number: int, name: str, settings: Settings) -> str:
        return strategy_yaml(ranked, settings, name=name, candidate=number - 1)

    best = best_of_families(recommendation.candidates)[:SHOWN]
    offers = [Offer(each.fit.kind.name, partial(text, number)) for number, each in enumerate(best, 1)]
    return _chosen(offers, options, region, asks=asks)


def _questions(request: Request) -> list[tuple[str, str, str]]:
    """Return the fields that matter for a task, with the question and the recommender's default."""
    from eks_hardware.advisor.fitting.defaults import concurrent_sequences, context_of

    workload = request.workload
    formats = TRAINED_FORMATS if workload.trains else get_args(WeightFormat)
    default = (not workload.trains and request.shape.quantized_to) or DEFAULT_FORMAT
    serving = [
        (
            "concurrent_sequences",
            "Requests served at the same moment, per replica",
            str(concurrent_sequences(workload)),
        ),
        ("context_length", "Longest context (tokens of prompt and output, such as 16k)", str(context_of(request))),
    ]
    return [
        *(serving if workload.task == "inference" else ()),
        ("precision", f"Precision of the weights ({', '.join(formats)})", default),
        ("budget", f"Priority ({', '.join(get_args(Priority))})", workload.budget),
    ]


def _value(fields: dict[str, object], field: str, question: str, default: str) -> str | int | None:
    """Return the answer; None for the default, which the recommender uses anyway."""

    def read(answer: str) -> str | int | None:
        if answer == default:
            return None
        number = in_full(answer)
        value = int(number) if number.removeprefix("-").isdecimal() else answer
        _checked({**fields, field: value}, field)
        return value

    return ask(question, default, read)


def _nearest(recommendation: Recommendation) -> str:
    nearest = recommendation.nearest[0] if recommendation.nearest else None
    return f"; closest is {nearest.kind.name}: {nearest.text} {nearest.remedy or ''}".rstrip() if nearest else ""


# --- a kind of hardware


_CALLED: Mapping[str, str] = {
    "gpu": "GPUs",
    "trainium": "Trainium",
    "inferentia": "Inferentia",
    "cpu": "CPUs",
    "mixed": "mixed hardware",
}


def _task_fault(kind: str, fields: Mapping[str, object]) -> str:
    """Return why a kind of hardware cannot be used for the task of the options; empty if it can."""
    from eks_hardware.advisor.strategies.starters import KINDS, purposes

    task, tasks = fields.get("task"), purposes(KINDS[KINDS.index(kind)])
    if task is None or task in tasks:
        return ""
    allowed = f"must be {joined(tasks, 'or')}" if tasks else "must be omitted"
    return f"{allowed} for {_CALLED[kind]}, got {task}"


def _of_kind(named: str, fields: dict[str, Any], options: Options, asks: bool) -> Hardware:
    from eks_hardware.advisor.strategies.starters import (
        KINDS,
        mixed_types,
        purposes,
        starter_groups,
        starter_types,
    )
    from eks_hardware.advisor.strategies.strategy_text import strategy_text
    from eks_hardware.cli.output.recommendation import show_types

    kind: Kind = KINDS[KINDS.index(named)]
    task: str | None = fields.get("task")
    if task is None and (tasks := purposes(kind)):
        task = _task(tasks, asks=asks)
    region = _region(options.region, asks, lambda said: starter_types(kind, task, said))
    types = starter_types(kind, task, region)[:SHOWN]
    mixed = {name: each[:SHOWN] for name, each in mixed_types(region).items()}
    show_types({"": types} if types else mixed, region)

    def text(number: int, name: str, settings: Settings) -> str:
        groups = starter_groups(kind, task, region, pick=number)
        return strategy_text(name, region, groups, settings, heading=(f"A first strategy for {_CALLED[kind]}.",))

    offers = [Offer(each, partial(text, number)) for number, each in enumerate(types or (_CALLED[kind],), 1)]
    return _chosen(offers, options, region, asks=asks)


# --- both


def _chosen(offers: Sequence[Offer], options: Options, region: str, *, asks: bool) -> Hardware:
    limit, number = limit_and_number(options.max_usd_per_month, offers, options.pick, region, asks=asks)
    return Hardware(region, limit, offers[number - 1].text)


def _task(tasks: Sequence[str], *, asks: bool) -> str:
    """Return the task; by default inference, if the hardware supports it."""
    default = DEFAULT_TASK if DEFAULT_TASK in tasks else tasks[0]
    return choose("Task", tasks, default) if asks else default


def region_of(options: Options) -> str:
    """Return the region from the options, or the default region.

    Raises:
        WriteError: the catalogue does not list it.
    """
    return _region(options.region, asks=False)


def _region(region: str | None, asks: bool, refuse: Callable[[str], object] = str) -> str:
    """Return a region that the catalogue lists and ``refuse`` does not reject."""
    from eks_hardware.advisor.strategies.strategy_text import WriteError
    from eks_hardware.catalogue import load

    def read(answer: str) -> str:
        if answer not in load().regions:
            raise WrongAnswerError(load().not_listed(answer))
        try:
            refuse(answer)
        except WriteError as error:
            raise WrongAnswerError(str(error)) from None
        return answer

    if asks and region is None:
        return ask("Region", DEFAULT_REGION, read)
    chosen = region or DEFAULT_REGION
    if chosen not in load().regions:
        raise WriteError(f"--region: {load().not_listed(chosen)}")
    refuse(chosen)
    return chosen
