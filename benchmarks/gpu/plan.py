"""The cases to measure: training steps, prompts, and generation steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

Work = Literal["training", "prompt", "generation"]
Method = Literal["full", "lora", "qlora"]
KvCache = Literal["bf16", "fp8"]
KV_CACHES: tuple[KvCache, ...] = ("bf16", "fp8")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model and an amount of work."""

    work: Work
    model: str  # name of a public model
    sequences: int
    tokens: int  # of each sequence
    method: Method | None = None  # training only
    checkpointing: bool = False  # training only
    kv_cache: KvCache = "bf16"  # prompt and generation only

    @property
    def name(self) -> str:
        """A name that is unique among the cases."""
        parts = [self.model, self.method or self.work, f"b{self.sequences}", str(self.tokens)]
        parts += ["checkpointing"] if self.checkpointing else []
        parts += [self.kv_cache] if self.kv_cache != "bf16" else []
        return "-".join(parts)


class Batch(NamedTuple):
    """Sequences of equal length."""

    sequences: int
    tokens: int  # of each sequence


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a plan."""

    trained: dict[Method, Sequence[str]]  # models by method
    batches: Sequence[Batch]  # of a training step
    served: Sequence[str]
    prompts: Sequence[int]  # tokens
    generated: Sequence[Batch]  # with the number of tokens in the KV cache


FULL = Sizes(
    trained={
        "full": ("llama-3.2-1b", "llama-3.2-3b"),
        "lora": ("llama-3.2-3b", "llama-3.1-8b", "qwen2.5-14b"),
        "qlora": ("llama-3.1-8b", "qwen3-32b"),
    },
    batches=(Batch(1, 2048), Batch(2, 4096), Batch(1, 16384)),
    served=("llama-3.2-3b", "llama-3.1-8b", "qwen3-32b"),
    prompts=(1024, 8192),
    generated=(Batch(1, 4096), Batch(8, 4096), Batch(32, 4096), Batch(8, 32768)),
)
"""All sizes. A case that runs out of memory becomes a row with that result."""

QUICK = Sizes(
    trained={"full": ("llama-3.2-1b",), "lora": ("llama-3.2-1b",), "qlora": ("llama-3.2-1b",)},
    batches=(Batch(2, 2048),),
    served=("llama-3.2-1b",),
    prompts=(2048,),
    generated=(Batch(1, 2048), Batch(8, 2048)),
)
"""A few minutes on any GPU with 24 GB."""


def cases(sizes: Sizes, models: Sequence[str] = ()) -> Iterator[Case]:
    """Yield the cases of some sizes; ``models`` replaces the models of all kinds of work."""
    for method, names in sizes.trained.items():
        for model, batch, checkpointing in product(models or names, sizes.batches, (True, False)):
            yield Case(work="training", model=model, method=method, checkpointing=checkpointing, **batch._asdict())
    for model in models or sizes.served:
        for tokens in sizes.prompts:
            yield Case(work="prompt", model=model, sequences=1, tokens=tokens)
        for kv_cache, batch in product(KV_CACHES, sizes.generated):
            yield Case(work="generation", model=model, kv_cache=kv_cache, **batch._asdict())
