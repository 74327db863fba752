"""The shape of a workload's model: from its name or config.json, from the workload's fields, or estimated."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_hardware import facts
from eks_hardware.advisor.model import Shape, ShapeError
from eks_hardware.advisor.shapes.hf_config import read_hf_config
from eks_hardware.advisor.shapes.public import shape_of_name
from eks_hardware.models.workload import ModelShape, count

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import PublicModel

_SAID = "the workload"

# Accepted ratios of the count from the dimensions to the stated parameters. With width and depth of a public model the
# ratio is 0.7 to 2.03. With one of them, and the other from the model closest in size, it is 0.46 to 3.5. Both are
# from the configurations in tests/unit/advisor/test_shape.py. The number and width of experts are not given.
_OF_BOTH = 0.4, 2.5
_OF_ONE = 1 / 3, 4.0
_OF_EXPERTS = 0.25, 4.0
_OUTLINE = ("layers", "hidden_size")
_BILLION = 1e9
_GENERATE = ("decoder", "encoder-decoder")


def kind_of(architecture: str | None) -> str | None:
    """Return ``decoder``, ``encoder``, ``vision`` or ``encoder-decoder``; None for an unknown architecture."""
    row = facts.model_types()["types"]["rows"].get(architecture or "")
    return None if row is None else str(row.get("kind", "decoder"))


def shape_of(model: ModelShape, *, folder: Path | None = None) -> Shape:
    """Return the shape of a model. Estimated dimensions are listed in ``estimated``.

    Fields of the model override its ``name`` or ``hf_config``. That path is relative to ``folder``, or to the working
    directory.

    Raises:
        ShapeError: HF_CONFIG_..., MODEL_TYPE_UNKNOWN, MODEL_NAME, MODEL_SIZE, with the field of the model at fault.
    """
    if model.name is not None:
        return _with_said(shape_of_name(model.name), model)
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
    if kind := kind_of(model.architecture):
        mended = _of_kind(mended, kind)
    if mended.active_parameters > mended.parameters:
        raise ShapeError(
            "HF_CONFIG_FIELD",
            f"active_parameters must be at most parameters, got {mended.active_parameters} and {mended.parameters}",
            "active_parameters",
        )
    if mended.attention_heads % mended.kv_heads:
        raise ShapeError(
            "HF_CONFIG_FIELD",
            f"{mended.attention_heads} attention heads must be a multiple of {mended.kv_heads} key-value heads",
            "kv_heads",
        )
    _check_size(mended, said, share=shape.active_parameters / counted(shape))
    return replace(mended, source=f"{shape.source} and {_SAID}") if said else mended


def _of_kind(shape: Shape, kind: str) -> Shape:
    """Return a shape that generates tokens and has a KV cache only if models of this kind do."""
    generates = kind in _GENERATE
    if not generates:
        return replace(shape, generates=False, layers_with_cache=0, layers_with_window=0)
    cached = shape.layers_with_cache + shape.layers_with_window
    return replace(shape, generates=True, layers_with_cache=shape.layers_with_cache if cached else shape.layers)


# --- from the number of parameters


def _of_size(model: ModelShape) -> Shape:
    """Return a shape from the number of parameters. Missing dimensions are those of the public model closest in size.

    Closest means on a logarithmic scale: width and depth of models grow with it.
    """
    parameters = count(model.parameters or "1")
    rows = facts.model_types()["public"]["rows"]
    near = min(rows, key=lambda row: abs(log(row["parameters"] / parameters)))
    layers, hidden = model.layers or near["layers"], model.hidden_size or near["hidden_size"]
    heads, kv_heads, head_dim = _heads(model, near, hidden)
    kind = kind_of(model.architecture)
    # A token table larger than the model belongs to a much larger model.
    tables = min(near["vocabulary"] * hidden * (1 if near["tied"] else 2), parameters // 3)
    shape = Shape(
        parameters=parameters,
        active_parameters=parameters if model.active_parameters is None else count(model.active_parameters),
        layers=layers,
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=None if kind == "vision" else near["vocabulary"],
        architecture=model.architecture,
        max_context_length=None,
        generates=None if kind is None else kind in _GENERATE,
        layers_with_cache=0 if kind in ("encoder", "vision") else layers,
        quantized_to=None,
        estimated=_estimated(model, near, heads),
        source=_SAID,
        embedding_parameters=tables,
        intermediate_size=round(near["intermediate_size"] * hidden / near["hidden_size"]),
        gated_mlp=kind not in ("encoder", "vision"),
    )
    _check_size(shape, [name for name in _OUTLINE if getattr(model, name) is not None])
    return shape


def _heads(model: ModelShape, near: PublicModel, hidden: int) -> tuple[int, int, int]:
    """Return attention heads, key-value heads that divide them, and the size of a head."""
    if model.attention_heads is None and model.hidden_size is not None:
        head_dim = model.head_dim or near["head_dim"]
        heads = max(1, hidden // head_dim)
    else:
        heads = model.attention_heads or near["attention_heads"]
        head_dim = model.head_dim or (near["head_dim"] if model.hidden_size is None else max(1, hidden // heads))
    kv_heads = model.kv_heads or (near["kv_heads"] if heads == near["attention_heads"] else heads)
    if heads % kv_heads:
        heads = kv_heads = kv_heads if model.attention_heads is None else heads
    return heads, kv_heads, head_dim


def _estimated(model: ModelShape, near: PublicModel, heads: int) -> tuple[str, ...]:
    """Return the missing dimensions, one sentence each."""
    # If the heads differ from the public model's, each has its own keys and values.
    names = (*_OUTLINE, "attention_heads", *(("kv_heads",) if heads == near["attention_heads"] else ()))
    missing = [name.replace("_", " ") for name in names if getattr(model, name) is None]
    found = [f"{', '.join(missing)}: from {near['name']}, the closest in size"] if missing else []
    if model.architecture and kind_of(model.architecture) is None:
        found.append(f"architecture {model.architecture} is unknown: treated as a model that generates tokens")
    return tuple(found)


# --- check of the dimensions against the number of parameters


def counted(shape: Shape) -> float:
    """Return the parameters that the dimensions of a shape imply: attention, MLP and tables.

    For a mixture of experts these are the parameters that a token uses, as far as ``intermediate_size`` includes them.
    """
    attention = 2 * shape.hidden_size * shape.head_dim * (shape.attention_heads + shape.kv_heads)
    mlp = (3 if shape.gated_mlp is not False else 2) * shape.hidden_size * shape.mlp_width
    return shape.layers * (attention + mlp) + (shape.embedding_parameters or 0)


def _check_size(shape: Shape, said: Collection[str], *, share: float | None = None) -> None:
    """Reject a width and depth that imply far more or far fewer parameters than the workload sets.

    ``share`` is the ratio of actual to counted parameters; None if not all dimensions are known.

    Raises:
        ShapeError: MODEL_SIZE, with the first of the two as its field.
    """
    known = [name for name in _OUTLINE if name in said]
    experts, both = shape.active_parameters < shape.parameters, len(known) == len(_OUTLINE)
    if not known or (experts and not both and share is None):
        return
    least, most = _OF_EXPERTS if experts else _OF_BOTH if both else _OF_ONE
    wanted, found = shape.active_parameters, counted(shape) * (share or 1.0)
    if least * wanted <= found <= most * wanted:
        return
    used = " that a token uses" if experts else ""
    other = "" if both else f"; if both are correct, also set {(set(_OUTLINE) - set(known)).pop()}"
    mixture = "" if experts else "; for a mixture of experts, set active_parameters"
    raise ShapeError(
        "MODEL_SIZE",
        f"{shape.layers} layers of width {shape.hidden_size} imply about {found / _BILLION:.2g}B parameters{used}, "
        f"but {wanted / _BILLION:.3g}B are given; fix one of them{other}{mixture}",
        known[0],
    )
