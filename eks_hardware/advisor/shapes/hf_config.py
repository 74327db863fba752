"""Read a Hugging Face ``config.json``: the model's shape, with its parameters counted.

Field names are those of Transformers' configuration classes
(https://github.com/huggingface/transformers/tree/main/src/transformers/models).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.model import Shape, ShapeError
from eks_hardware.advisor.shapes.hf_fields import Fields, read_text, shown
from eks_hardware.advisor.shapes.hf_parameters import Dimensions, Experts, Latent, count
from eks_hardware.advisor.shapes.vision import vision_parameters
from eks_hardware.suggestions import did_you_mean

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import ModelType

_MOST_PARAMETERS = 10**15


def read_hf_config(path: Path) -> Shape:
    """Return the shape of the model in a config.json.

    Raises:
        ShapeError: HF_CONFIG_MISSING, HF_CONFIG_UNREADABLE, HF_CONFIG_JSON, HF_CONFIG_FIELD, MODEL_TYPE_UNKNOWN.
    """
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ShapeError(
            "HF_CONFIG_JSON", f"{path} is not JSON: {error.msg.lower()} in line {error.lineno}, column {error.colno}"
        ) from None
    except UnicodeDecodeError:
        raise ShapeError("HF_CONFIG_JSON", f"{path} is not UTF-8 text; name the model's config.json") from None
    except ShapeError:
        raise
    except (ValueError, RecursionError):
        # A null byte in the path, a number with thousands of digits, thousands of brackets.
        raise ShapeError(
            "HF_CONFIG_JSON", f"{path} is not the configuration of a model; name the model's config.json"
        ) from None
    return from_hf_config(content)


def from_hf_config(config: object) -> Shape:
    """Return the shape of the model in the content of a config.json.

    Raises:
        ShapeError: HF_CONFIG_JSON, HF_CONFIG_FIELD, MODEL_TYPE_UNKNOWN.
    """
    if not isinstance(config, Mapping):
        raise ShapeError("HF_CONFIG_JSON", "a config.json must be a JSON object with the fields of one model")
    outer, text = config, _text_part(config)
    estimated: list[str] = []
    fields = Fields(text)
    name = fields.text("model_type")
    row = _row(name, fields, estimated)
    sizes = _dimensions(fields, row)
    counted = count(row, sizes)
    if not 1 <= counted.parameters <= _MOST_PARAMETERS:
        message = f"its dimensions result in {counted.parameters:.1e} parameters, more than any model has; fix them"
        raise ShapeError("HF_CONFIG_FIELD", message)
    seen = vision_parameters(outer, sizes.hidden, estimated)
    kind = row.get("kind", "decoder")
    with_cache, with_window, window = _cached_layers(fields, row, sizes)
    experts = sizes.experts
    width = sizes.intermediate if experts is None else experts.used * experts.width + experts.shared_width
    patches = sizes.positions if kind == "vision" else fields.number("context", least=1)
    return Shape(
        parameters=counted.parameters + seen,
        active_parameters=counted.active + seen,
        layers=sizes.layers + sizes.decoder_layers,
        hidden_size=sizes.hidden,
        attention_heads=sizes.heads,
        kv_heads=1 if sizes.latent else sizes.kv_heads,
        head_dim=sizes.head_dim,
        vocabulary=sizes.vocabulary or None,
        architecture=name,
        max_context_length=patches,
        generates=kind in ("decoder", "encoder-decoder"),
        layers_with_cache=with_cache,
        layers_with_window=with_window,
        window=window,
        latent_width=sizes.latent.cached if sizes.latent else None,
        embedding_parameters=counted.embeddings,
        intermediate_size=width,
        experts=experts.count if experts else None,
        experts_of_token=experts.used if experts else None,
        expert_layers=sizes.layers - experts.dense_layers if experts else 0,
        gated_mlp=row.get("gated", True),
        quantized_to=_quantization(outer, text, estimated),
        estimated=tuple(estimated),
        source="config.json",
    )


def _text_part(config: Mapping[str, object]) -> Mapping[str, object]:
    """Return the text config, which multimodal models nest."""
    for name in ("text_config", "language_config", "llm_config"):
        nested = config.get(name)
        if isinstance(nested, Mapping):
            return nested
    return config


def _row(name: str | None, fields: Fields, estimated: list[str]) -> ModelType:
    """Return the row of a model type, adjusted to the configuration."""
    rows = facts.model_types()["types"]["rows"]
    row = rows.get(name or "")
    if row is None:
        needed = ("layers", "hidden size", "attention heads", "intermediate size", "vocabulary")
        if any(fields.number(what) is None for what in needed):
            known = did_you_mean(name or "", rows)
            called = f'model_type "{name[:60]}" is unknown' if name else "model_type is missing"
            raise ShapeError(
                "MODEL_TYPE_UNKNOWN", f"{called}, and some of its dimensions are missing; {known}; or set parameters"
            )
        activation = fields.get("hidden_act") or fields.get("hidden_activation") or "silu"
        gated = "silu" in str(activation) or "swi" in str(activation)
        estimated.append(
            f"{f'model_type {name[:60]} is unknown' if name else 'model_type is missing'}: "
            f"counted as a decoder with {'a gated' if gated else 'a plain'} MLP"
        )
        return {"gated": gated, "experts": fields.number("experts") is not None}
    if name == "falcon":
        return {**row, **_falcon(fields)}
    if row.get("kind") == "encoder-decoder" and fields.get("feed_forward_proj") is not None:
        return {**row, "gated": (fields.text("feed_forward_proj") or "").startswith("gated")}
    return row


def _falcon(fields: Fields) -> ModelType:
    """Return Falcon's row: one norm per layer if attention and MLP run in parallel, except in the newer decoder."""
    newer = fields.flag("new_decoder_architecture", False)
    return {"norms": 1 if fields.flag("parallel_attn", True) and not newer else 2}


def _kv_heads(fields: Fields, name: str | None, heads: int) -> int:
    if name == "falcon" and not fields.flag("new_decoder_architecture", False):
        return 1 if fields.flag("multi_query", True) else heads
    kv_heads = fields.number("key-value heads") or heads
    if heads % kv_heads:
        message = f"{heads} attention heads must be a multiple of {kv_heads} key-value heads; fix one of them"
        raise ShapeError("HF_CONFIG_FIELD", message)
    return kv_heads


def _dimensions(fields: Fields, row: ModelType) -> Dimensions:
    kind = row.get("kind", "decoder")
    hidden, heads = fields.needed("hidden size"), fields.needed("attention heads")
    layers = fields.needed("layers")
    latent = _latent(fields)
    head_dim = fields.number("head size")
    if head_dim is None:
        head_dim = latent.nope_dim + latent.rope_dim if latent else max(1, hidden // heads)
    positions = fields.exact(row["positions"], least=1) + row.get("position_offset", 0) if "positions" in row else 0
    patch = mels = 0
    if fields.text("model_type") == "whisper":
        mels = fields.exact("num_mel_bins", default=80, least=1)
        positions += fields.exact("max_source_positions", default=1500, least=1)
    if kind == "vision":
        side, size = fields.exact("patch_size", default=16, least=1), fields.exact("image_size", default=224, least=1)
        positions = (size // side) ** 2 + 1
        patch = fields.exact("num_channels", default=3, least=1) * side * side
    biases = tuple(
        fields.flag(*given) if isinstance(given, list) else bool(given)
        for given in (row.get(name, False) for name in ("qkv_bias", "output_bias", "mlp_bias"))
    )
    buckets = 32 if kind == "encoder-decoder" and not mels else 0
    return Dimensions(
        layers=layers,
        decoder_layers=(fields.number("decoder layers") or layers) if kind == "encoder-decoder" else 0,
        hidden=hidden,
        heads=heads,
        kv_heads=_kv_heads(fields, fields.text("model_type"), heads),
        head_dim=head_dim,
        intermediate=fields.number("intermediate size") or 4 * hidden,
        vocabulary=0 if kind == "vision" else fields.needed("vocabulary"),
        positions=positions,
        tied=fields.flag("tie_word_embeddings", row.get("tied", False)),
        biases=(biases[0], biases[1], biases[2]),
        latent=latent,
        experts=_experts(fields, row, layers, hidden) if row.get("experts") else None,
        patch=patch,
        mels=mels,
        buckets=fields.exact("relative_attention_num_buckets", default=buckets),
    )


def _latent(fields: Fields) -> Latent | None:
    if fields.get("kv_lora_rank") is None:
        return None
    query = fields.get("q_lora_rank")
    return Latent(
        query_rank=None if query is None else fields.exact("q_lora_rank", least=1),
        kv_rank=fields.exact("kv_lora_rank", least=1),
        rope_dim=fields.exact("qk_rope_head_dim", default=64, least=1, most=10_000),
        nope_dim=fields.exact("qk_nope_head_dim", default=128, least=1, most=10_000),
        value_dim=fields.exact("v_head_dim", default=128, least=1, most=10_000),
    )


def _experts(fields: Fields, row: ModelType, layers: int, hidden: int) -> Experts:
    count_of = fields.needed("experts")
    # Llama 4 has a second field for its plain MLPs, intermediate_size_mlp.
    named = fields.exact("moe_intermediate_size", least=1) or fields.exact("intermediate_size", least=1)
    width = named or fields.number("intermediate size") or 4 * hidden
    always = fields.exact("n_shared_experts", default=row.get("shared_experts", 0), most=1000)
    shared = fields.exact("shared_expert_intermediate_size") or always * width
    step = fields.exact("interleave_moe_layer_step", default=1, least=1)
    step = fields.exact("decoder_sparse_step", default=step, least=1)
    only = fields.get("mlp_only_layers")
    plain = len(only) if isinstance(only, list) else 0
    dense = fields.exact("first_k_dense_replace", most=layers) or layers - layers // step + plain
    return Experts(
        count=count_of,
        used=min(count_of, fields.needed("experts of a token")),
        width=width,
        shared_width=shared,
        dense_layers=min(dense, layers),
    )


def _cached_layers(fields: Fields, row: ModelType, sizes: Dimensions) -> tuple[int, int, int | None]:
    """Return the layers with a KV cache of the whole context, those with a window, and the window."""
    if row.get("kind") in ("encoder", "vision"):
        return 0, 0, None
    layers = sizes.decoder_layers or sizes.layers
    window = fields.number("window")
    named = fields.get("layer_types")
    if isinstance(named, list) and len(named) == layers:
        windowed = sum(key in ("sliding_attention", "chunked_attention") for key in named) if window else 0
        full = sum(key in ("full_attention", "attention") for key in named)
        return (full, windowed, window) if full or windowed else (layers, 0, None)
    how = row.get("window")
    if window is None or how is None or (how == "use_sliding_window" and not fields.flag(how, False)):
        return layers, 0, None
    windowed = layers
    if how == "alternate":
        windowed = (layers + 1) // 2
    elif how == "pattern":
        windowed = layers - layers // (fields.exact("sliding_window_pattern", least=1) or row.get("pattern", 6))
    elif how == "use_sliding_window":
        windowed = max(0, layers - fields.exact("max_window_layers", default=layers))
    return layers - windowed, windowed, window if windowed else None


def _quantization(outer: Mapping[str, object], text: Mapping[str, object], estimated: list[str]) -> str | None:
    """Return the format of a checkpoint's weights.

    Source: https://huggingface.co/docs/transformers/main_classes/quantization (quantization_config).
    """
    given = outer.get("quantization_config") or text.get("quantization_config") or outer.get("compression_config")
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ShapeError("HF_CONFIG_FIELD", f"quantization_config must be an object, got {shown(given)}")
    method = str(given.get("quant_method") or "").lower()
    bits = given.get("bits") or given.get("w_bit")
    algorithm = given.get("quant_algo") if method == "modelopt" else None
    if method in ("fp8", "fbgemm_fp8", "fp_quant") or algorithm == "FP8":
        return "fp8"
    if method == "mxfp4":
        return "mxfp4"
    if algorithm == "NVFP4":
        return "nvfp4"
    if method == "compressed-tensors":
        groups = given.get("config_groups")
        first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
        weights = first.get("weights") if isinstance(first, Mapping) else None
        if isinstance(weights, Mapping):
            bits = weights.get("num_bits")
            if bits == 8 and weights.get("type") == "float":
                return "fp8"
    if given.get("load_in_4bit") is True or bits == 4:
        return "int4"
    if given.get("load_in_8bit") is True or bits == 8:
        return "int8"
    estimated.append(f'quantization "{method[:40] or "unnamed"}" is unknown: weights are counted at 16 bits')
    return None
