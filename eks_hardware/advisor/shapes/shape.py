"""The shape of a workload's model: from its config.json, from what the workload says, or estimated."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any, Literal

from eks_hardware import facts
from eks_hardware.advisor.model import Shape, ShapeError
from eks_hardware.advisor.shapes.hf_config import read_hf_config
from eks_hardware.advisor.shapes.plausible import check_size, counted
from eks_hardware.models.workload import ModelShape, count

__all__ = ["ShapeError", "kind_of", "shape_of"]

_SAID = "the workload"


def kind_of(architecture: str | None) -> str | None:
    """``decoder``, ``encoder``, ``vision`` or ``encoder-decoder``; None for an architecture that is not known."""
    row = facts.model_types()["types"]["rows"].get(architecture or "")
    return None if row is None else str(row.get("kind", "decoder"))


def shape_of(model: ModelShape, *, folder: Path | None = None) -> Shape:
    """The shape of a model; what is estimated is said in ``estimated``.

    Args:
        model: what the workload says of it; beside ``hf_config`` it wins.
        folder: folder that ``hf_config`` is relative to; default: the working directory.

    Raises:
        ShapeError: HF_CONFIG_..., MODEL_TYPE_UNKNOWN, MODEL_SIZE, with the field of the model that it is about.
    """
    if model.hf_config is None:
        return _of_size(model)
    return _with_said(read_hf_config((folder or Path()) / model.hf_config), model)


def _with_said(shape: Shape, model: ModelShape) -> Shape:
    said: dict[str, Any] = {
        name: value
        for name in ("layers", "hidden_size", "attention_heads", "kv_heads", "head_dim", "architecture")
        if (value := getattr(model, name)) is not None
    }
    for name in ("parameters", "active_parameters"):
        if (text := getattr(model, name)) is not None:
            said[name] = count(text)
    if "parameters" in said and "active_parameters" not in said:
        share = shape.active_parameters / shape.parameters
        said["active_parameters"] = max(1, round(said["parameters"] * share))
    if "layers" in said and shape.layers:
        cached = round(shape.layers_with_cache * said["layers"] / shape.layers)
        windowed = said["layers"] - cached if shape.layers_with_window else 0
        said |= {"layers_with_cache": cached, "layers_with_window": windowed}
    mended = replace(shape, **said)
    if mended.active_parameters > mended.parameters:
        raise ShapeError(
            "HF_CONFIG_FIELD",
            f"one token cannot use {mended.active_parameters} of {mended.parameters} parameters; mend them",
            "active_parameters",
        )
    if mended.attention_heads % mended.kv_heads:
        raise ShapeError(
            "HF_CONFIG_FIELD",
            f"{mended.attention_heads} attention heads do not share {mended.kv_heads} key-value heads evenly",
            "kv_heads",
        )
    check_size(mended, said, share=shape.active_parameters / counted(shape))
    return replace(mended, source=f"{shape.source} and {_SAID}") if said else mended


def _of_size(model: ModelShape) -> Shape:
    """A shape from the number of parameters: what is missing is that of the public model next in size.

    Next is meant on a logarithmic scale: models grow in width and depth with it.
    """
    parameters = count(model.parameters or "1")
    rows = facts.model_types()["public"]["rows"]
    near = min(rows, key=lambda row: abs(log(row["parameters"] / parameters)))
    missing: list[str] = []

    def take(name: Literal["layers", "hidden_size", "attention_heads", "kv_heads"]) -> int:
        said: int | None = getattr(model, name)
        if said is None:
            missing.append(name.replace("_", " "))
        return said or near[name]

    layers, hidden = take("layers"), take("hidden_size")
    if model.attention_heads is None and model.hidden_size is not None:
        head_dim = model.head_dim or near["head_dim"]
        heads = max(1, hidden // head_dim)
        missing.append("attention heads")
    else:
        heads = take("attention_heads")
        head_dim = model.head_dim or (near["head_dim"] if model.hidden_size is None else max(1, hidden // heads))
    kv_heads = take("kv_heads") if heads == near["attention_heads"] or model.kv_heads else heads
    if heads % kv_heads and model.attention_heads is None:
        heads = kv_heads
    elif heads % kv_heads:
        kv_heads = heads
    kind = kind_of(model.architecture)
    width = round(near["intermediate_size"] * hidden / near["hidden_size"])
    # A table larger than the model itself would be that of a much larger one.
    tables = min(near["vocabulary"] * hidden * (1 if near["tied"] else 2), parameters // 3)
    active = parameters if model.active_parameters is None else count(model.active_parameters)
    estimated = []
    if missing:
        estimated.append(f"{', '.join(missing)}: as {near['name']} has them, which is nearest in size")
    if kind is None and model.architecture:
        estimated.append(f"architecture {model.architecture} is not known: taken for one that writes tokens")
    shape = Shape(
        parameters=parameters,
        active_parameters=active,
        layers=layers,
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=None if kind == "vision" else near["vocabulary"],
        architecture=model.architecture,
        max_context_length=None,
        generates=None if kind is None else kind in ("decoder", "encoder-decoder"),
        layers_with_cache=0 if kind in ("encoder", "vision") else layers,
        quantized_to=None,
        estimated=tuple(estimated),
        source=_SAID,
        embedding_parameters=tables,
        intermediate_size=width,
        gated_mlp=kind not in ("encoder", "vision"),
    )
    check_size(shape, [name for name in ("layers", "hidden_size") if getattr(model, name) is not None])
    return shape
