"""``eks-hardware check-model``: whether a model can move to Trainium, Inferentia or GPUs, and what has to change."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eks_hardware.advisor.fitting.migration import ChipCheck, ModelCheck
    from eks_hardware.advisor.model import Fit, Request

_MOST_MISSES = 6


class Target(str, Enum):
    """Where the model is to go."""

    TRAINIUM = "trainium"
    INFERENTIA = "inferentia"
    GPU = "gpu"


class Task(str, Enum):
    """What is done with it there."""

    TRAINING = "training"
    INFERENCE = "inference"


def check_model(
    hf_config: Annotated[
        Path, typer.Option(help="The model's config.json, as Hugging Face has it.", show_default=False)
    ],
    target: Annotated[Target, typer.Option(help="Where it is to run.", show_default=False)],
    task: Annotated[
        Task | None,
        typer.Option(help="What for; default: training on Trainium, inference elsewhere.", show_default=False),
    ] = None,
    framework: Annotated[
        str | None, typer.Option(help="Framework or server, as pytorch-xla or vllm.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every source.")] = False,
) -> None:
    """Check whether a model can run on other hardware, from its config.json.

    Exit code 0: yes, with changes, or unknown; 1: no, or the config.json cannot be used; 2: wrong usage.
    """
    from eks_hardware.advisor.fitting.migration import check_model as check

    request = _request(hf_config, _task(task, target), framework)
    found = check(request, target.value)
    if as_json:
        typer.echo(json.dumps(check_content(found), indent=2, ensure_ascii=False))
    else:
        _print(found)
    if found.verdict == "no":
        raise typer.Exit(1)


def _task(task: Task | None, target: Target) -> Task:
    return task or (Task.TRAINING if target is Target.TRAINIUM else Task.INFERENCE)


def _request(path: Path, task: Task, framework: str | None) -> Request:
    """What is asked; ends with exit code 1 for a config.json that cannot be used, 2 for an unknown framework."""
    from eks_hardware.advisor.model import Request, ShapeError
    from eks_hardware.advisor.shapes.hf_config import read_hf_config
    from eks_hardware.models import WorkloadSpec
    from eks_hardware.models.needs import Framework
    from eks_hardware.models.workload import ModelShape

    known = get_args(Framework)
    if framework is not None and framework not in known:
        from eks_hardware.suggestions import did_you_mean

        hint = did_you_mean(framework, known, f"known: {', '.join(known)}")
        _fail(f"Error: unknown framework {framework!r}; {hint}", 2)
    try:
        shape = read_hf_config(path)
    except ShapeError as error:
        _fail(f"error {error.code} {error.field}: {error.message}", 1)
    said: Any = {"task": task.value, "framework": framework}
    # However it is bought: what it costs is not in question here.
    said |= {"purchase": ("on-demand", "spot", "capacity-block"), "interruptible": True}
    workload = WorkloadSpec(model=ModelShape(parameters=str(shape.parameters)), **said)
    return Request(workload=workload, shape=shape, regions=())


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


# --- JSON


def check_content(found: ModelCheck) -> dict[str, Any]:
    """The answer for programs."""
    from dataclasses import asdict

    return {
        "verdict": found.verdict,
        "reason": found.reason,
        "target": found.target,
        "task": found.request.workload.task,
        "model": asdict(found.request.shape),
        "accelerators": [asdict(chip) for chip in found.chips],
        "fits": [
            {
                "instance_type": each.kind.name,
                "nodes": each.nodes,
                "devices": each.devices,
                "parallelism": asdict(each.parallelism),
                "memory": [asdict(part) for part in each.memory],
                "memory_gib": each.memory_gib,
                "available_gib": each.available_gib,
                "replicas_per_node": each.replicas_per_node,
                "notes": each.notes,
            }
            for each in found.fits
        ],
        "misses": [
            {"instance_type": each.kind.name, "missing_gib": each.missing_gib, "text": each.text, "remedy": each.remedy}
            for each in found.misses
        ],
        "changes": found.changes,
    }


# --- text


def _print(found: ModelCheck) -> None:
    from rich.console import Console

    console = Console()
    for each in _shown(found):
        console.print(each)


def _shown(found: ModelCheck) -> list[RenderableType]:
    shape, workload = found.request.shape, found.request.workload
    style = {"yes": "green", "with changes": "yellow", "no": "red", "unknown": "yellow"}[found.verdict]
    heads = f"{shape.attention_heads} attention heads"
    if shape.kv_heads != shape.attention_heads:
        heads += f", {shape.kv_heads} of keys and values"
    name = shape.architecture or "a model without a type"
    lines = [
        ("Model", f"{name}, {_count(shape.parameters)} parameters, {shape.layers} layers, {heads}"),
        ("Asked", f"{workload.task} on {found.target}" + (f" with {workload.framework}" if workload.framework else "")),
        ("Verdict", f"[{style}]{found.verdict}[/]: {found.reason}"),
        *(("Estimated", each) for each in shape.estimated),
    ]
    shown: list[RenderableType] = [_facts(lines)]
    shown += _chips(found)
    if found.fits:
        shown += ["", _table(found.fits)]
    if found.misses:
        shown += [
            "",
            "[bold]Does not fit[/]",
            _facts([(each.kind.name, _miss(each)) for each in found.misses[:_MOST_MISSES]]),
        ]
        if (more := len(found.misses) - _MOST_MISSES) > 0:
            shown.append(f"and {more} more; --json has all")
    if found.changes:
        shown += ["", "[bold]What changes[/]", _facts([(f"{at}.", each) for at, each in enumerate(found.changes, 1)])]
    return shown


def _count(parameters: int) -> str:
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M")):
        if parameters >= size:
            return f"{parameters / size:.3g}{unit}"
    return str(parameters)


def _facts(lines: list[tuple[str, str]]) -> RenderableType:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in lines:
        table.add_row(name, text)
    return table


def _chips(found: ModelCheck) -> list[RenderableType]:
    if found.target == "gpu":
        return []
    shown: list[RenderableType] = []
    for chip in found.chips:
        shown += ["", f"[bold]{chip.accelerator}[/]", _facts(list(_of_chip(chip)))]
    return shown


def _of_chip(chip: ChipCheck) -> list[tuple[str, str]]:
    marks = {True: "[green]yes[/]", False: "[red]no[/]", None: "[yellow]?[/]"}
    lines = [(marks[gate.passed], gate.text) for gate in chip.gates]
    lines += [("", each) for each in chip.libraries[1:]]
    degrees = ", ".join(map(str, chip.degrees))
    alone = "its heads are not shared by NeuronCores evenly: each core has to hold the whole model"
    lines.append((marks[bool(degrees)], f"heads are shared by {degrees} NeuronCores" if degrees else alone))
    mark = {"mature": "[green]yes[/]", "unknown": marks[None]}.get(chip.maturity, "[yellow]![/]")
    lines.append((mark, f"{chip.maturity}: {chip.maturity_text}"))
    return lines


def _table(fits: tuple[Fit, ...]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Fits on", no_wrap=True)
    for name in ("Nodes", "Devices"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("GiB a device", justify="right", no_wrap=True)
    table.add_column("How", overflow="fold")
    for each in fits:
        table.add_row(
            each.kind.name,
            str(each.nodes),
            str(each.devices),
            f"{each.memory_gib:.1f} of {each.available_gib:.1f}",
            _how(each),
        )
    return table


def _how(fitted: Fit) -> str:
    layout = fitted.parallelism
    words = [layout.sharding] if layout.sharding != "none" else []
    words += [f"{name} {size}" for name in ("data", "tensor", "pipeline") if (size := getattr(layout, name)) > 1]
    if fitted.replicas_per_node > 1:
        words.append(f"{fitted.replicas_per_node} replicas a node")
    return ", ".join(words) or "one device"


def _miss(miss: Any) -> str:
    text = miss.text.removeprefix(f"{miss.kind.name}: ")
    return f"{text}; {miss.remedy}" if miss.remedy else text
