"""Typed access to the fields of a Hugging Face ``config.json``, which can have any value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from eks_hardware.advisor.model import ShapeError
from eks_hardware.printable import reason

_MOST_BYTES = 5 * 2**20

_INTERMEDIATE = (
    "intermediate_size_mlp intermediate_size n_inner ffn_dim ffn_hidden_size d_ff hidden_dim encoder_ffn_dim"
)
_CONTEXT = "max_position_embeddings n_positions n_ctx max_seq_len seq_length max_target_positions"

# Our name of a field: its names in configurations, and its highest plausible value.
_FIELDS: dict[str, tuple[tuple[str, ...], int]] = {
    "layers": (("num_hidden_layers", "n_layer", "num_layers", "n_layers"), 10_000),
    "decoder layers": (("num_decoder_layers", "decoder_layers"), 10_000),
    "hidden size": (("hidden_size", "n_embd", "n_embed", "d_model", "dim"), 1_000_000),
    "attention heads": (("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads"), 10_000),
    "key-value heads": (("num_key_value_heads", "num_kv_heads", "n_head_kv"), 10_000),
    "head size": (("head_dim", "d_kv"), 10_000),
    "intermediate size": (tuple(_INTERMEDIATE.split()), 10**8),
    "vocabulary": (("vocab_size",), 10**8),
    "context": (tuple(_CONTEXT.split()), 10**9),
    "window": (("sliding_window", "attention_chunk_size"), 10**9),
    "experts": (("num_local_experts", "num_experts", "n_routed_experts"), 100_000),
    "experts of a token": (("num_experts_per_tok", "experts_per_token", "num_experts_per_token"), 100_000),
}


def read_text(path: Path) -> str:
    """Return the text of a file of plausible size for a configuration.

    Raises:
        ShapeError: HF_CONFIG_MISSING, HF_CONFIG_UNREADABLE.
        UnicodeDecodeError: for binary data.
    """
    try:
        if path.is_dir():
            raise ShapeError("HF_CONFIG_UNREADABLE", f"{path} is a folder; name the config.json in it")
        # The size of a pipe or a device does not limit how much it delivers.
        if path.exists() and not path.is_file():
            raise ShapeError("HF_CONFIG_UNREADABLE", f"{path} is not a file; name the model's config.json")
        if (size := path.stat().st_size) > _MOST_BYTES:
            raise ShapeError(
                "HF_CONFIG_UNREADABLE",
                f"{path} has {size / 2**20:.0f} MiB, but a config.json has a few KiB; name the model's config.json",
            )
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ShapeError("HF_CONFIG_MISSING", f"{path} does not exist; fix the path") from None
    except OSError as error:
        raise ShapeError("HF_CONFIG_UNREADABLE", f"{path} cannot be read: {reason(error)}") from None


class Fields:
    """Fields of a configuration. Each can have a value of any type."""

    def __init__(self, content: Mapping[str, object]) -> None:
        self._content = content

    def get(self, name: str) -> object:
        """Return a field unchanged; None if it is missing."""
        return self._content.get(name)

    def text(self, name: str) -> str | None:
        """Return a text field."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise _wrong(name, value, "text")
        return value or None

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean field."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise _wrong(name, value, "true or false")
        return value

    def number(self, what: str, *, least: int = 1) -> int | None:
        """Return a number under any of its names in configurations; None if it is missing."""
        names, most = _FIELDS[what]
        for name in names:
            if self.get(name) is not None:
                return self.exact(name, least=least, most=most)
        return None

    def needed(self, what: str) -> int:
        """Return a required number."""
        amount = self.number(what)
        if amount is None:
            names = " or ".join(_FIELDS[what][0])
            raise ShapeError("HF_CONFIG_FIELD", f"the {what} ({names}) are missing; name the model's own config.json")
        return amount

    def exact(self, name: str, *, default: int = 0, least: int = 0, most: int = 10**8) -> int:
        """Return the integer field with this exact name."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _wrong(name, value, f"a whole number from {least} to {most}")
        return value


def _wrong(name: str, value: object, wanted: str) -> ShapeError:
    return ShapeError("HF_CONFIG_FIELD", f"{name} must be {wanted}, got {shown(value)}")


def shown(value: object) -> str:
    """Return a value for the end of a message, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except ValueError:  # a number with thousands of digits
        text = "a number with thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."
