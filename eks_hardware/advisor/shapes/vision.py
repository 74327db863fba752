"""The parameters of a model's vision encoder, and of the projector from it to the language model.

``config/facts/model_types.json`` (vision) has the architectures, read from the model classes of transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.shapes.hf_fields import Fields

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import VisionType

_COLORS = 3
_MOST_LAYERS = 10_000
_WIDEST = 1_000_000


def vision_parameters(config: Mapping[str, object], text_width: int, estimated: list[str]) -> int:
    """Return the parameters of the vision encoder and its projector, as far as the dimensions are given.

    Args:
        config: the config.json.
        text_width: width of the language model.
        estimated: receives a sentence if the vision encoder is not counted exactly.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, Mapping):
        return 0
    fields = Fields(vision)
    layers = fields.number("layers") or fields.exact("depth", most=_MOST_LAYERS)
    # Qwen2-VL's hidden_size is the width of the language model.
    width = fields.exact("embed_dim", most=_WIDEST) or fields.number("hidden size")
    if not layers or not width:
        estimated.append("the vision encoder is not counted: its dimensions are missing")
        return 0
    inner, whole = fields.number("intermediate size") or 4 * width, Fields(config).text("model_type")
    known = facts.model_types()["vision"]
    row = known["rows"].get(fields.text("model_type") or whole or "")
    projector = known["projectors"].get(whole or "")
    if row is None or projector is None:
        estimated.append(
            "the vision encoder is counted as a plain transformer, without the projector to the language model"
        )
        return layers * (4 * width * width + 2 * width * inner)
    every = layers + (fields.exact("num_global_layers", default=row.get("global_layers", 0), most=_MOST_LAYERS))
    outside = _outside(row, fields, width)
    return every * _layer(row, width, inner) + outside + _projector(projector, config, fields, width, text_width)


def _layer(row: VisionType, width: int, inner: int) -> int:
    gated = row.get("gated", False)
    parameters = 4 * width * width + (3 if gated else 2) * width * inner + 2 * _one_norm(row, width)
    parameters += 4 * width if row.get("attention_bias", True) else 0
    parameters += (2 if gated else 1) * inner + width if row.get("mlp_bias", True) else 0
    return parameters


def _one_norm(row: VisionType, width: int) -> int:
    return width if row.get("norm") == "rms" else 2 * width


def _outside(row: VisionType, fields: Fields, width: int) -> int:
    """Return the parameters before and after the layers: patches, positions and norms."""
    size = fields.exact("patch_size", default=row["patch"], least=1, most=_MOST_LAYERS)
    frames = fields.exact("temporal_patch_size", default=row.get("frames", 1), least=1, most=100)
    parameters = _COLORS * frames * size * size * width + (width if row.get("patch_bias") else 0)
    parameters += row.get("outer_norms", 0) * _one_norm(row, width)
    one = 1 if row.get("class_token") else 0
    rows = fields.exact("num_position_embeddings", default=row.get("position_rows", 0))
    if "image" in row:
        rows = (fields.exact("image_size", default=row["image"], least=1, most=_WIDEST) // size) ** 2 + one
    # A table for each way to divide an image into tiles, with its own positions, and two with a row for each tile.
    tiles = row.get("tables_of_tiles", 0) * row.get("tiles", 0)
    return parameters + width * (one + rows + tiles * (rows + 2))


def _projector(name: str, config: Mapping[str, object], fields: Fields, width: int, text_width: int) -> int:
    """Return the parameters of the projector from images to text.

    ``merger`` joins neighbors and has two matrices; DeepStack has several. ``mlp`` has two matrices, ``linear`` one and
    a norm, ``outputs`` one for the outputs of several layers. ``pair`` has one for images and one for text.
    """
    if name == "merger":
        joined = width * fields.exact("spatial_merge_size", default=2, least=1, most=100) ** 2
        deep = fields.get("deepstack_visual_indexes")
        further = len(deep) if isinstance(deep, list) else 0
        each = joined * joined + joined + joined * text_width + text_width
        rms = "norm" in facts.model_types()["vision"]["rows"].get(str(config.get("model_type")), {})
        return each * (1 + further) + (width if rms else 2 * width) + further * 2 * joined
    if name == "mlp":
        return width * text_width + text_width * text_width + 2 * text_width
    if name == "linear":
        return width * text_width + width
    if name == "outputs":
        return fields.exact("vision_output_dim", default=6 * width, most=_WIDEST) * text_width + text_width
    shared = Fields(config).exact("projection_dim", default=text_width, least=1, most=_WIDEST)
    return (width + text_width) * shared + 1
