"""The result of ``check-model`` as text of 80 columns, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from eks_hardware.cli.output import console, facts, table
from eks_hardware.cli.output.narrow import fitted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from eks_hardware.advisor.fitting.migration import ChipCheck, ModelCheck
    from eks_hardware.advisor.model import Fit, Miss

_MOST_MISSES = 6

# --- JSON


def content(check: ModelCheck) -> dict[str, object]:
    """Return the result with stable keys."""
    return {
        "verdict": check.verdict,
        "reason": check.reason,
        "target": check.target,
        "task": check.request.workload.task,
        "model": asdict(check.request.shape),
        "accelerators": [asdict(chip) for chip in check.chips],
        "fits": [
            {
                "instance_type": fit.kind.name,
                "nodes": fit.nodes,
                "devices": fit.devices,
                "parallelism": fit.parallelism._asdict(),
                "memory": [part._asdict() for part in fit.memory],
                "memory_gib": fit.memory_gib,
                "available_gib": fit.available_gib,
                "replicas_per_node": fit.replicas_per_node,
                "notes": fit.notes,
            }
            for fit in check.fits
        ],
        "misses": [
            {"instance_type": miss.kind.name, "missing_gib": miss.missing_gib, "text": miss.text, "remedy": miss.remedy}
            for miss in check.misses
        ],
        "changes": check.changes,
    }


# --- text


def show(check: ModelCheck) -> None:
    """Print the result."""
    out = console(highlight=True)
    for each in _shown(check, out):
        out.print(each)


def _shown(check: ModelCheck, out: Console) -> Iterator[RenderableType]:
    shape, workload = check.request.shape, check.request.workload
    style = {"yes": "green", "with changes": "yellow", "no": "red", "unknown": "yellow"}[check.verdict]
    heads = f"{shape.attention_heads} attention heads"
    if shape.kv_heads != shape.attention_heads:
        heads += f", {shape.kv_heads} key-value heads"
    name = shape.architecture or "model without a model_type"
    framework = f" with {workload.framework}" if workload.framework else ""
    yield facts(
        [
            ("Model", f"{name}, {_count(shape.parameters)} parameters, {shape.layers} layers, {heads}"),
            ("Request", f"{workload.task} on {check.target}{framework}"),
            ("Verdict", f"[{style}]{check.verdict}[/]: {check.reason}"),
            *(("Estimated", field) for field in shape.estimated),
        ]
    )
    for chip in () if check.target == "gpu" else check.chips:
        yield from ("", f"[bold]{chip.accelerator}[/]", facts(_of_chip(chip)))
    if check.fits:
        yield from ("", fitted(_table(check.fits), out))
    if check.misses:
        misses = facts((miss.kind.name, _miss(miss)) for miss in check.misses[:_MOST_MISSES])
        yield from ("", "[bold]Does not fit[/]", misses)
        if (more := len(check.misses) - _MOST_MISSES) > 0:
            yield f"and {more} more; --format json lists all"
    if check.changes:
        changes = facts((f"{at}.", each) for at, each in enumerate(check.changes, 1))
        yield from ("", "[bold]Required changes[/]", changes)


def _count(parameters: int) -> str:
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M")):
        if parameters >= size:
            return f"{parameters / size:.3g}{unit}"
    return str(parameters)


def _of_chip(chip: ChipCheck) -> Iterator[tuple[str, str]]:
    marks = {True: "[green]yes[/]", False: "[red]no[/]", None: "[yellow]?[/]"}
    yield from ((marks[gate.passed], gate.text) for gate in chip.gates)
    yield from (("", library) for library in chip.libraries[1:])
    degrees = ", ".join(map(str, chip.degrees))
    alone = "NeuronCores cannot share the attention heads evenly: each core needs memory for the whole model"
    yield marks[bool(degrees)], f"attention heads can be split over {degrees} NeuronCores" if degrees else alone
    mark = {"mature": marks[True], "unknown": marks[None]}.get(chip.maturity, "[yellow]![/]")
    yield mark, f"{chip.maturity}: {chip.maturity_text}"


def _table(fits: tuple[Fit, ...]) -> Table:
    numbers = ("Nodes", "Devices", "GiB/device")
    candidates_table = table(("Fits on", *numbers, "Layout"), right=numbers, fold=("Layout",))
    for fit in fits:
        memory = f"{fit.memory_gib:.1f} of {fit.available_gib:.1f}"
        candidates_table.add_row(fit.kind.name, str(fit.nodes), str(fit.devices), memory, _how(fit))
    return candidates_table


def _how(fitted: Fit) -> str:
    layout = fitted.parallelism
    words = [layout.sharding] if layout.sharding != "none" else []
    words += layout.ways
    if fitted.replicas_per_node > 1:
        words.append(f"{fitted.replicas_per_node} replicas per node")
    return ", ".join(words) or "one device"


def _miss(miss: Miss) -> str:
    text = miss.detail or miss.text
    return f"{text}; {miss.remedy}" if miss.remedy else text
