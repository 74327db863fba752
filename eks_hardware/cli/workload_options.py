"""Options of ``recommend`` and ``init`` that describe a workload, and the request for the recommender."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.failures import as_typed
from eks_hardware.cli.parameters import Function
from eks_hardware.printable import joined, quoted
from eks_hardware.spellings import DEFAULT_FORMAT, DEFAULT_PRIORITY, Method, Priority, Task, WeightFormat
from eks_hardware.units import TOKENS

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Request
    from eks_hardware.findings import Finding


class Number(click.ParamType[int]):
    """A whole number. In token counts, k is 1,024 and M is 1,024 k: 16k for 16384."""

    name = "integer"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        number = in_full(str(value))
        if not number.removeprefix("-").isdecimal():
            self.fail(f"must be a whole number such as 8192 or 16k, got {quoted(value)}", param, ctx)
        return int(number)


def in_full(text: str) -> str:
    """Return ``16384`` for ``16k``, ``1048576`` for ``1M``, and other texts as they are."""
    unit = TOKENS.get(text[-1:].lower())
    return str(int(text[:-1]) * unit) if unit and text[:-1].isdecimal() else text


OPTIONS = {
    "task": ("--task",),
    "model": ("--model",),
    "model.name": ("--model",),
    "model.parameters": ("--model",),
    "model.hf_config": ("--model",),
    "context_length": ("--context",),
    "sequence_length": ("--context",),
    "concurrent_sequences": ("--concurrency",),
    "users": ("--users",),
    "training_tokens": ("--tokens",),
    "within": ("--within",),
    "nodes": ("--nodes",),
    "precision": ("--precision",),
    "budget": ("--priority", "--budget"),
    "region": ("--region",),
    "regions": ("--region",),
    "purchase": ("--capacity",),
    "quotas": ("--quotas",),
}
"""Fields of a workload file, and the names of their options."""

_FIELD = re.compile(r"'(\w+)'|(?<=or remove )(\w+)$")
"""A field that a message names."""

METHODS = get_args(Method)
"""Fine-tuning methods, which ``--task`` also accepts."""

_DECORATORS = (
    click.option(
        "--task",
        metavar="TASK",
        shell_complete=completers.words_of("task", "method"),
        help=f"{joined(get_args(Task), 'or')}; {joined(METHODS, 'or')} means fine-tuning with that method.",
    ),
    click.option(
        "--model",
        metavar="NAME|SIZE|FILE",
        shell_complete=completers.models,
        help="Public model, such as llama-3.1-70b or Qwen/Qwen3-32B; parameters, such as 8B; or a Hugging Face "
        "config.json.",
    ),
    click.option(
        "--context",
        "context_length",
        type=Number(),
        metavar="TOKENS",
        help="Tokens of prompt and output together, or of a training sequence, such as 8192 or 16k.",
    ),
    click.option(
        "--concurrency",
        "concurrent_sequences",
        type=int,
        metavar="N",
        help="Inference: requests that one replica serves at the same moment.",
    ),
    click.option(
        "--users",
        type=int,
        metavar="N",
        help="Inference: people who use the model at the same time, instead of --concurrency.",
    ),
    click.option("--tokens", "training_tokens", metavar="N", help="Training: tokens to train on, such as 15B."),
    click.option(
        "--within", metavar="TIME", help="Training: maximum duration of the run, such as 12h or 30d; default: 90d."
    ),
    click.option(
        "--nodes",
        type=int,
        metavar="N",
        help="Training: number of nodes; default: the fewest that fit, or finish in time with --tokens or --within.",
    ),
    click.option(
        "--precision",
        metavar="FORMAT",
        shell_complete=completers.words_of("precision"),
        help=f"Weight format: {joined(get_args(WeightFormat), 'or')}; default: {DEFAULT_FORMAT}, or the checkpoint's.",
    ),
    click.option(
        *OPTIONS["budget"],
        "budget",
        metavar="AIM",
        shell_complete=completers.words_of("budget"),
        help=f"Aim of the ranking: {joined(get_args(Priority), 'or')}; default: {DEFAULT_PRIORITY}.",
    ),
)


def workload_options(function: Function) -> Function:
    """Add the options that describe a workload, from ``--task`` to ``--priority``."""
    for decorator in reversed(_DECORATORS):
        function = decorator(function)
    return function


def given_fields(options: Mapping[str, object]) -> dict[str, object]:
    """Return the given options, by the names of the workload file's fields."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    fields: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    if fields.get("model"):
        fields["model"] = parameters.model_of(fields["model"])
    if "task" in fields:
        fields |= task_fields(fields["task"])
    return fields


def task_fields(task: str) -> dict[str, object]:
    """Return the fields for a task or a fine-tuning method."""
    return {"task": "fine-tuning", "method": task} if task in METHODS else {"task": task}


def request_of_fields(fields: Mapping[str, object], *, folder: Path | None = None) -> tuple[Request, tuple[str, ...]]:
    """Return the request for fields of a workload file, and the hardware to choose from.

    Raises:
        StrategyError: a field is invalid. The findings name options instead of fields.
    """
    from dataclasses import replace

    from eks_hardware.advisor.ranking.workload_file import OPTIONS_FILE, read_workload, request_of
    from eks_hardware.findings import StrategyError

    try:
        document = read_workload(json.dumps({"version": 1, **_with_sequences(fields)}))
        return request_of(document, folder=folder), document.value.only
    except StrategyError as error:
        findings = [
            finding
            if finding.position and finding.position.file != OPTIONS_FILE  # in a file that an option names
            else replace(finding, path=option_of(finding.path), message=_of_option(finding), position=None)
            for finding in error.findings
        ]
        raise StrategyError(findings) from None


def _with_sequences(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields with the tokens of ``--context`` as ``sequence_length`` if the task is training."""
    if fields.get("task") not in ("training", "fine-tuning") or "context_length" not in fields:
        return fields
    others = {name: value for name, value in fields.items() if name != "context_length"}
    return {**others, "sequence_length": fields["context_length"]}


def _of_option(finding: Finding) -> str:
    """Return the message of a finding, with options instead of fields.

    Unlike the field ``model.name``, ``--model`` accepts more than a name.
    """
    if finding.code != "MODEL_NAME":
        return _FIELD.sub(_option_named, finding.message)
    from eks_hardware.advisor.shapes.public import MUST

    return finding.message.replace(MUST, "must be parameters such as 8B, a public model or a config.json", 1)


def _option_named(match: re.Match[str]) -> str:
    field = match[1] or match[2]
    return option_of(field) if field in OPTIONS else match[0]


def option_of(path: str) -> str:
    """Return the option for a field as the user typed it, or the field itself if only a file can set it."""
    found = (names for field, names in OPTIONS.items() if path == field or path.startswith(f"{field}["))
    return as_typed(next(found, (path,)))
