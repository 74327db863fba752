"""Count the parameters of a model from its dimensions, as in its Transformers class.

Source: https://github.com/huggingface/transformers/tree/main/src/transformers/models (modeling_*.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import ModelType


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Latent attention (MLA): keys and values are stored compressed."""

    query_rank: int | None  # rank of the queries' compression, None for plain queries
    kv_rank: int  # rank of the keys' and values' compression
    rope_dim: int  # part of a head with positions; all heads share that of the keys
    nope_dim: int  # part of a head without positions
    value_dim: int  # size of a head's values

    @property
    def cached(self) -> int:
        """Numbers per token in the cache of one layer."""
        return self.kv_rank + self.rope_dim


@dataclass(frozen=True, kw_only=True)
class Experts:
    """The experts of a mixture."""

    count: int  # of a layer
    used: int  # experts per token
    width: int  # of an expert
    shared_width: int  # of the shared expert for every token; 0 for none
    dense_layers: int  # layers with one plain MLP instead


@dataclass(frozen=True, kw_only=True)
class Dimensions:
    """The dimensions from which parameters are counted."""

    layers: int  # in an encoder-decoder, only the encoder's
    decoder_layers: int  # in an encoder-decoder; 0 in other models
    hidden: int  # width of a layer
    heads: int  # of queries
    kv_heads: int
    head_dim: int
    intermediate: int  # width of the MLP
    vocabulary: int  # 0 for images
    positions: int  # rows of a learned table of positions, 0 for none
    tied: bool  # whether input and output share one table
    biases: tuple[bool, bool, bool]  # of queries, keys and values; of the attention's output; of the MLP
    latent: Latent | None
    experts: Experts | None
    patch: int  # values in a patch of an image, 0 for text
    mels: int  # frequency bands of sound, 0 for text
    buckets: int  # of T5's relative positions


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The result of a count."""

    parameters: int
    active: int  # parameters that one token uses
    embeddings: int  # parameters in the tables of tokens, positions and output


def count(row: ModelType, sizes: Dimensions) -> Counted:
    """Count the parameters of a model of some type."""
    kind = row.get("kind", "decoder")
    if kind == "encoder-decoder":
        return _encoder_decoder(row, sizes)
    norm = _norm(row, sizes)
    layer = _attention(row, sizes) + row.get("norms", 2) * norm
    dense, routed, used = _mlp(row, sizes), 0, 0
    plain_layers = sizes.layers
    if sizes.experts:
        routed, used = _experts(row, sizes, sizes.experts)
        plain_layers = sizes.experts.dense_layers
    expert_layers = sizes.layers - plain_layers
    tables = sizes.vocabulary * sizes.hidden
    output = 0 if sizes.tied or kind != "decoder" else tables
    around = sizes.positions * sizes.hidden + _around(row, sizes, norm)
    rest = sizes.layers * layer + plain_layers * dense + around
    embeddings = tables + output + sizes.positions * sizes.hidden
    return Counted(
        parameters=rest + expert_layers * routed + tables + output,
        active=rest + expert_layers * used + tables + output,
        embeddings=embeddings,
    )


def _around(row: ModelType, sizes: Dimensions, norm: int) -> int:
    """Return the parameters before and after the layers, without tables."""
    hidden = sizes.hidden
    # The last norm of a decoder or of a vision model; the first one of an encoder.
    parameters: int = norm + (norm if row.get("embedding_norm") else 0)
    parameters += row.get("token_types", 0) * hidden
    parameters += hidden * hidden + hidden if row.get("pooler") else 0
    parameters += sizes.vocabulary if row.get("head_bias") else 0
    if row.get("kind") == "vision":
        parameters += sizes.patch * hidden + hidden + hidden  # patches to vectors, and the class token
    return parameters


def _attention(row: ModelType, sizes: Dimensions) -> int:
    hidden, latent = sizes.hidden, sizes.latent
    if latent:
        queries_out = sizes.heads * (latent.nope_dim + latent.rope_dim)
        queries = (
            hidden * queries_out
            if latent.query_rank is None
            else hidden * latent.query_rank + latent.query_rank + latent.query_rank * queries_out
        )
        keys = hidden * latent.cached + latent.kv_rank
        keys += latent.kv_rank * sizes.heads * (latent.nope_dim + latent.value_dim)
        return queries + keys + sizes.heads * latent.value_dim * hidden
    queries, keys = sizes.heads * sizes.head_dim, sizes.kv_heads * sizes.head_dim
    parameters = hidden * (queries + 2 * keys) + queries * hidden
    qkv_bias, output_bias, _ = sizes.biases
    parameters += (queries + 2 * keys if qkv_bias else 0) + (hidden if output_bias else 0)
    norms: dict[str, int] = {"head": 2 * sizes.head_dim, "all": queries + keys}
    return parameters + norms.get(row.get("qk_norm", ""), 0) + (sizes.heads if row.get("sinks") else 0)


def _mlp(row: ModelType, sizes: Dimensions, width: int | None = None, bias: bool | None = None) -> int:
    width = sizes.intermediate if width is None else width
    inner = 2 if row.get("gated", True) else 1
    with_bias = sizes.biases[2] if bias is None else bias
    return (inner + 1) * sizes.hidden * width + (inner * width + sizes.hidden if with_bias else 0)


def _experts(row: ModelType, sizes: Dimensions, experts: Experts) -> tuple[int, int]:
    """Return the parameters of a layer's experts: all, and those that one token uses."""
    one = _mlp(row, sizes, experts.width, bool(row.get("expert_bias")))
    always = experts.count * sizes.hidden + (experts.count if row.get("router_bias") else 0)
    if experts.shared_width:
        always += _mlp(row, sizes, experts.shared_width, False) + (sizes.hidden if row.get("shared_gate") else 0)
    return always + experts.count * one, always + experts.used * one


def _norm(row: ModelType, sizes: Dimensions) -> int:
    return (2 if row.get("norm") == "layer" else 1) * sizes.hidden


def _encoder_decoder(row: ModelType, sizes: Dimensions) -> Counted:
    """Return the count for T5 and Whisper: a decoder's layer has a second attention, to the encoder.

    The heads of T5 need not add up to the width of a layer. It has relative positions in one layer per side. Whisper
    has tables of positions, and two convolutions of width 3 before the encoder.
    """
    attention, mlp, norm = _attention(row, sizes), _mlp(row, sizes), _norm(row, sizes)
    encoder = sizes.layers * (attention + mlp + 2 * norm)
    decoder = sizes.decoder_layers * (2 * attention + mlp + 3 * norm)
    tables = sizes.vocabulary * sizes.hidden * (1 if sizes.tied else 2) + sizes.positions * sizes.hidden
    sound = 3 * (sizes.mels + sizes.hidden) * sizes.hidden + 2 * sizes.hidden if sizes.mels else 0
    total = encoder + decoder + 2 * norm + 2 * sizes.buckets * sizes.heads + sound + tables
    return Counted(parameters=total, active=total, embeddings=tables)
