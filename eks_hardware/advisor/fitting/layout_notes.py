"""What is said of a layout that fits, and of one that does not."""

from __future__ import annotations

from eks_hardware.advisor.fitting.devices import cores_of
from eks_hardware.advisor.fitting.gates import learns
from eks_hardware.advisor.fitting.layout import Layout, Short
from eks_hardware.advisor.model import Request
from eks_hardware.catalogue import InstanceType


def short_text(request: Request, kind: InstanceType, short: Short, many: bool) -> str:
    """Why the best layout misses.

    Args:
        request: what is asked.
        kind: the type.
        short: the layout, and what it misses.
        many: whether nodes may be joined.
    """
    what, chip = "training" if learns(request.workload) else "a replica", kind.accelerator
    if short.missing_gib == float("inf"):
        asked = request.workload.sharding
        if what == "training" and asked:
            return f"the software for training on it has no sharding {asked}"
        return f"no way to share {request.shape.attention_heads} attention heads goes with it"
    if chip is None:
        return f"{what} misses {short.missing_gib:.1f} GiB of what a pod can have of the node's memory"
    why = ", and nodes cannot be joined without EFA" if learns(request.workload) and not many else ""
    if not learns(request.workload) and short.devices < chip.count:
        why = f" of {chip.count}, the most that share {request.shape.attention_heads} attention heads"
    return f"{what} misses {short.missing_gib:.1f} GiB a device on {short.devices} x {chip.name}{why}"


def layout_notes(request: Request, kind: InstanceType, layout: Layout, *, cores: int) -> tuple[str, ...]:
    """What to know of a layout on Neuron; nothing elsewhere.

    Args:
        request: what is asked.
        kind: the type.
        layout: the layout.
        cores: cores of a device that share a copy.
    """
    if not kind.hardware.is_neuron:
        return ()
    shares, heads = layout.parallelism.tensor * cores, request.shape.attention_heads
    fixed = "sequence length" if learns(request.workload) else "context length and number of sequences"
    notes = [
        f"each of a device's {cores_of(kind)} NeuronCores holds a copy of its own"
        if cores < cores_of(kind)
        else f"tensor parallel over {shares} NeuronCores"
    ]
    if heads % shares:
        notes.append(f"{heads} attention heads are padded to {-(-heads // shares) * shares} for {shares} NeuronCores")
    notes.append(f"Neuron compiles for a fixed {fixed}: choose it when the model is compiled")
    return tuple(notes)
