"""Rules about frameworks and Neuron SDKs: which chips support them, and in which versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eks_hardware import facts, software
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.rules.needs import called, each_need, lacks, with_capabilities
from eks_hardware.rules.registry import Breach, Context, Node, error, warning
from eks_hardware.suggestions import several
from eks_hardware.versions import older, parts


def _verb(workload: str) -> str:
    return {"training": "for training", "inference": "for inference"}.get(workload, "for training or inference")


@error("NEEDS_FRAMEWORK")
def _framework(context: Context) -> Iterator[Breach]:
    for lack in lacks(context, "framework", _runs):
        row = facts.software()["frameworks"]["by_name"][lack.value]
        names = with_capabilities(lack.bad)
        if lack.bad[0].hardware is Hardware.NVIDIA_GPU:
            what = f"{lack.value} requires {software.shown(row.get('gate', {}))}, got {names}"
        else:
            what = f"Neuron does not support {row['neuron_name']} {_verb(lack.node.purpose)} on {names}"
        yield lack.path, f"{what}{lack.others}; choose other types or another framework"


def _runs(kind: InstanceType, framework: str, node: Node) -> bool | None:
    """Return whether a framework runs on a type; None if another rule decides, or if unknown."""
    if kind.hardware is Hardware.NVIDIA_GPU:
        gate = facts.software()["frameworks"]["by_name"][framework].get("gate", {})
        return software.passes(gate, software.capability(kind))
    ranges = software.sdk_ranges(kind, framework, node.purpose) if kind.hardware.is_neuron else None
    return None if ranges is None else bool(ranges)


@warning("NEEDS_FRAMEWORK_STATUS")
def _framework_status(context: Context) -> Iterator[Breach]:
    for node, path, value, kinds in each_need(context, "framework"):
        row = facts.software()["frameworks"]["by_name"][value]
        by_status: dict[str, list[str]] = {}
        for kind in kinds:
            if status := _status(kind, node, value):
                by_status.setdefault(status, []).append(called(kind))
        for status, names in by_status.items():
            name = row["neuron_name"] if kinds[0].hardware.is_neuron else value
            yield path, f"{name} on {several(names, 3)} is {status}; plan for that, or choose another framework"


def _status(kind: InstanceType, node: Node, framework: str) -> str | None:
    if kind.hardware is Hardware.NVIDIA_GPU:
        tuned = facts.software()["frameworks"]["by_name"][framework].get("tuned")
        if tuned and kind.accelerator and kind.accelerator.name not in tuned["for"]:
            return f"not tuned (only {', '.join(tuned['for'])}) and runs {tuned['others']}"
        return None
    sdk = node.needs.neuron_sdk or facts.software()["frameworks"]["newest_sdk"]
    ranges = software.sdk_ranges(kind, framework, node.purpose) or () if kind.hardware.is_neuron else ()
    of_sdk = [sdk_range for sdk_range in ranges if sdk_range.has(sdk)]
    statuses = [
        sdk_range.status for sdk_range in of_sdk if sdk_range.status_from and not older(sdk, sdk_range.status_from)
    ]
    return statuses[0] if of_sdk and len(statuses) == len(of_sdk) else None


@error("NEEDS_SDK")
def _sdk(context: Context) -> Iterator[Breach]:
    archived = facts.software()["neuron_chips"]["archived"]
    for node, path, value, kinds in each_need(context, "neuron_sdk"):
        framework = node.needs.framework
        for kind in kinds:
            if not (kind.accelerator and kind.hardware.is_neuron):
                continue
            last = archived.get(kind.accelerator.name)
            if last and older(last, value):
                yield path, f"Neuron supports {called(kind)} up to {last}, got {value}; use {last}, or inf2"
                break
            ranges = software.sdk_ranges(kind, framework, node.purpose) if framework else None
            if framework and ranges and not any(sdk_range.has(value) for sdk_range in ranges):
                name = facts.software()["frameworks"]["by_name"][framework]["neuron_name"]
                yield (
                    path,
                    f"Neuron supports {name} {_verb(node.purpose)} on {called(kind)} {_spans(ranges)}, got {value}; "
                    f"use one of these SDKs{_successor(framework, kind, node)}",
                )
                break


def _spans(ranges: Sequence[software.SdkRange]) -> str:
    def span(each: software.SdkRange) -> str:
        if each.first and each.last:
            return f"from {each.first} to {each.last}"
        return f"from {each.first} on" if each.first else f"up to {each.last}" if each.last else ""

    return " or ".join(dict.fromkeys(map(span, ranges)))


def _successor(framework: str, kind: InstanceType, node: Node) -> str:
    """Return the fix with PyTorch/XLA's successor, if the chip supports it."""
    if framework == "pytorch-xla" and software.sdk_ranges(kind, "pytorch", node.purpose):
        return ", or framework: pytorch (TorchNeuron)"
    return ""


@warning("NEEDS_SDK_MISSING")
def _sdk_missing(context: Context) -> Iterator[Breach]:
    newest = facts.software()["frameworks"]["newest_sdk"]
    for node, path, value, kinds in each_need(context, "framework"):
        if node.needs.neuron_sdk:
            continue
        for kind in kinds:
            ranges = software.sdk_ranges(kind, value, node.purpose) if kind.hardware.is_neuron else None
            if ranges and not any(sdk_range.has(newest) for sdk_range in ranges):
                name = facts.software()["frameworks"]["by_name"][value]["neuron_name"]
                last = max((sdk_range.last for sdk_range in ranges if sdk_range.last), key=parts)
                yield (
                    path,
                    f"Neuron supports {name} {_verb(node.purpose)} on {called(kind)} {_spans(ranges)}, and the newest "
                    "SDK is "
                    f'{newest}; set the SDK of the containers: neuron_sdk: "{last}"',
                )
                break
