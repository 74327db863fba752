"""Write a strategy for a recommendation: the hardware of one candidate, with the reasons in comments."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from eks_hardware import atomic_files, facts, software
from eks_hardware.advisor.model import Candidate, Recommendation
from eks_hardware.advisor.ranking.reasons import short
from eks_hardware.advisor.shapes.public import public_name
from eks_hardware.advisor.strategies.choose import needs_of, types_and_efa
from eks_hardware.advisor.strategies.strategy_text import (
    Group,
    Settings,
    WriteError,
    refuse_name,
    strategy_text,
)
from eks_hardware.catalogue import InstanceType
from eks_hardware.interrupts import raise_in_block
from eks_hardware.loader.yaml_files import SUFFIXES, display_name
from eks_hardware.models import WorkloadSpec
from eks_hardware.printable import counted, reason, shown
from eks_hardware.resolve.disks import has_usable_disks
from eks_hardware.spellings import RESERVED, Capacity
from eks_hardware.versions import parts

__all__ = ["WriteError", "by_family", "last_sdk", "name_of", "strategy_yaml", "write_new"]


def by_family(recommendation: Recommendation) -> Recommendation:
    """Return the recommendation with the best candidate of each family first, as tables number them."""
    from eks_hardware.advisor.recommend import best_of_families  # slow; files are also written without it

    best = best_of_families(recommendation.candidates)
    # The other sizes follow, for a group with several instance types.
    rest = [candidate for candidate in recommendation.candidates if candidate not in best]
    return replace(recommendation, candidates=(*best, *rest))


def strategy_yaml(recommendation: Recommendation, settings: Settings, *, name: str, candidate: int = 0) -> str:
    """Return a strategy with one of the recommended candidates, counted from 0.

    Raises:
        WriteError: there is no such candidate, or the name is not valid.
    """
    if not 0 <= candidate < len(recommendation.candidates):
        raise WriteError(
            f"there is no candidate {candidate + 1}; the recommendation has {len(recommendation.candidates)}"
            if recommendation.candidates
            else "nothing fits, so there is no strategy to write"
        )
    chosen = recommendation.candidates[candidate]
    heading = (
        f"{_work(recommendation)}: hardware chosen by `eks-hardware recommend`.",
        f"Number {candidate + 1} of {len(recommendation.candidates)}: {chosen.fit.kind.name}, scored "
        f"{chosen.score:.0f} of 100.",
    )
    return strategy_text(name, chosen.region, (_group(recommendation, chosen),), settings, heading=heading)


# --- the recommended group


def _group(recommendation: Recommendation, chosen: Candidate) -> Group:
    workload, fit = recommendation.request.workload, chosen.fit
    names, efa = types_and_efa(recommendation, chosen, spot=chosen.purchase == "spot")
    needs = needs_of(workload, chosen).model_dump(exclude_none=True)
    sdk = last_sdk(fit.kind, needs.get("framework"), workload.purpose)
    copies = 2 if workload.task == "inference" else 1
    return Group(
        name=workload.purpose,
        workload=workload.purpose,
        instance_types=names,
        most=chosen.nodes * copies,
        fewest=_fewest(workload, chosen),
        efa=efa,
        capacity=_bought(chosen.purchase),
        zone_id=next(iter(chosen.zone_ids), None),
        needs={**needs, **({"neuron_sdk": sdk} if sdk else {})},
        disk_gib=_disk_gib(recommendation, fit.kind),
        comments=tuple(_why(recommendation, chosen)),
        scaling_comment=_scaling_comment(workload, chosen),
    )


def _bought(purchase: str) -> Capacity:
    """Return the capacity of a group for a purchasing option."""
    ways: dict[str, Capacity] = {"spot": "spot", "capacity-block": "capacity-block", "reserved": "reserved"}
    return ways.get(purchase, "on-demand")


def _fewest(workload: WorkloadSpec, chosen: Candidate) -> int:
    """Return the nodes of a served model: nothing else starts them. A Capacity Block starts later, so it gets 0."""
    serves = workload.task == "inference" and chosen.purchase != "capacity-block"
    return chosen.nodes if serves else 0


def _scaling_comment(workload: WorkloadSpec, chosen: Candidate) -> str:
    nodes = chosen.nodes
    if chosen.replicas:
        return f"{workload.users} users need {counted(chosen.replicas, 'replica')}, on {counted(nodes, 'node')}"
    if workload.task == "inference":
        one = "one node" if nodes == 1 else f"{nodes} nodes"
        return f"one replica needs {one}"
    return f"a job needs {nodes} nodes; set desired: {nodes} while it runs"


def last_sdk(kind: InstanceType, framework: str | None, purpose: str) -> str | None:
    """Return the newest Neuron SDK with a framework; None if the newest SDK of all has it, or if none is known."""
    ranges = software.sdk_ranges(kind, framework, purpose) if framework and kind.hardware.is_neuron else None
    newest = facts.software()["frameworks"]["newest_sdk"]
    if not ranges or any(cuda_range.has(newest) for cuda_range in ranges):
        return None
    return max((cuda_range.last for cuda_range in ranges if cuda_range.last), key=parts, default=None)


def _disk_gib(recommendation: Recommendation, kind: InstanceType) -> int | None:
    """Return the space for images and twice the weights; None if the default is enough, or nodes have local disks."""
    if has_usable_disks(kind):
        return None
    weights_gib = recommendation.request.shape.parameters * 2 / 2**30
    needed = math.ceil((100 + 2 * weights_gib) / 100) * 100
    return min(needed, 16_384) if needed > facts.choices()["accelerated_disk"]["size_gib"] else None


def _work(recommendation: Recommendation) -> str:
    """Return a description of the workload: ``Fine-tuning (lora) of llama-3.1-8b with 8.03B parameters``."""
    workload, shape = recommendation.request.workload, recommendation.request.shape
    what = {"training": "Training", "fine-tuning": "Fine-tuning", "inference": "Serving", "development": "Development"}
    how = workload.method or workload.serving
    model = f"a {shown(shape.architecture, 60)} model" if shape.architecture else "a model"
    model = public_name(workload.model) or model
    return (
        f"{what[workload.task]}{f' ({how})' if how else ''} {'of ' if workload.task != 'inference' else ''}{model} "
        f"with {short(shape.parameters)} parameters"
    )


def _why(recommendation: Recommendation, chosen: Candidate) -> Iterator[str]:
    fit = chosen.fit
    parts = ", ".join(f"{part.name} {part.gib:.1f}" for part in fit.memory)
    on = "a device" if fit.devices else "a node"
    yield f"Memory on {on}: {fit.memory_gib:.1f} of {fit.available_gib:.1f} GiB ({parts})."
    if fit.devices > 1 or fit.nodes > 1:
        laid = fit.parallelism
        of = f"{fit.devices} devices" if fit.devices else f"{fit.nodes} nodes"
        experts = f"expert {laid.expert}, " if laid.expert > 1 else ""
        yield (
            f"Layout on {of}: data {laid.data}, {experts}tensor {laid.tensor}, pipeline {laid.pipeline}, "
            f"sharding {laid.sharding}."
        )
    if chosen.usd_per_hour is None:
        yield f"Price in {chosen.region}: unknown."
    else:
        nodes = "a node" if chosen.nodes == 1 else f"{chosen.nodes} nodes"
        as_of = f" as of {chosen.price_as_of}" if chosen.price_as_of else ""
        yield f"Price of {nodes} in {chosen.region}: {chosen.usd_per_hour:,.2f} USD per hour, {chosen.purchase}{as_of}."
    yield from dict.fromkeys(map(_sentence, (*chosen.reasons, *fit.notes)))
    assumed = dict.fromkeys((*recommendation.request.shape.estimated, *chosen.assumptions))
    yield from (_sentence(f"assumed: {assumption}") for assumption in assumed)
    if _bought(chosen.purchase) in RESERVED:
        yield "Replace the reservation id and zone below, which are examples, with your own."


def _sentence(text: str) -> str:
    text = shown(text, 500).strip()
    if text.partition(" ")[0].rstrip(":,").isalpha():  # a word, and not the name of a type
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


# --- files


def name_of(file: Path) -> str:
    """Return the name of a strategy in a file: ``team/llm.yaml`` -> ``llm``.

    Raises:
        WriteError: the name is not valid, or the file would not be a strategy.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise WriteError(f"{display_name(file)}: a strategy file must be called NAME.yaml")
    refuse_name(file.stem, f"the name of {display_name(file)}")
    return file.stem


@raise_in_block()
def write_new(file: Path, text: str, *, force: bool = False) -> None:
    """Write a new file; with ``force`` replace an existing file or link.

    Raises:
        WriteError: it exists, or cannot be written.
    """
    if file.is_dir():
        raise WriteError(f"{display_name(file)}: is a folder; name a file")
    try:
        if force:
            atomic_files.replace(file, text.encode())
        else:
            with file.open("x", encoding="utf-8") as stream:
                _put(stream, text, file)
    except FileExistsError:
        raise WriteError(f"{display_name(file)}: already exists; name another file, or use --force") from None
    except OSError as error:
        raise WriteError(f"{display_name(file)}: {reason(error)}") from None


def _put(stream: TextIO, text: str, file: Path) -> None:
    """Write the whole text, or leave no file."""
    try:
        stream.write(text)
        stream.flush()
    except BaseException:
        with contextlib.suppress(OSError):
            file.unlink()
        raise
