"""The cases to measure: steps of training, prompts, and steps of generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

Work = Literal["training", "prompt", "generation"]
Method = Literal["full", "lora", "qlora"]
KvCache = Literal["bf16", "fp8"]
KV_CACHES: tuple[KvCache, ...] = ("bf16", "fp8")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One model at one size of work."""

    work: Work
    model: str  # name of a public model
    sequences: int
    tokens: int  # of each sequence
    method: Method | None = None  # training only
    checkpointing: bool = False  # training only
    kv_cache: KvCache = "bf16"  # prompt and generation only

    @property
    def name(self) -> str:
        """Name that is unique among the cases."""
        parts = [self.model, self.method or self.work, f"b{self.sequences}", str(self.tokens)]
        parts += ["checkpointing"] if self.checkpointing else []
        parts += [self.kv_cache] if self.kv_cache != "bf16" else []
        return "-".join(parts)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a plan."""

    trained: dict[Method, Sequence[str]]  # models by method
    lengths: Sequence[int]  # of trained sequences
    served: Sequence[str]
    prompts: Sequence[int]
    context: int  # of generated sequences
    batches: Sequence[int]


FULL = Sizes(
    trained={
        "full": ("llama-3.2-1b", "llama-3.2-3b"),
        "lora": ("llama-3.2-3b", "llama-3.1-8b"),
        "qlora": ("llama-3.1-8b",),
    },
    lengths=(1024, 4096, 8192),
    served=("llama-3.2-3b", "llama-3.1-8b"),
    prompts=(1024, 8192),
    context=4096,
    batches=(1, 8, 32),
)
"""All sizes. A case that runs out of memory becomes a row that says so."""

QUICK = Sizes(
    trained={"full": ("llama-3.2-1b",), "lora": ("llama-3.2-1b",), "qlora": ("llama-3.2-1b",)},
    lengths=(2048,),
    served=("llama-3.2-1b",),
    prompts=(2048,),
    context=2048,
    batches=(1, 8),
)
"""A few minutes on any GPU with 24 GB."""


def cases(sizes: Sizes, models: Sequence[str] = ()) -> Iterator[Case]:
    """Yield the cases of some sizes, smallest first within each kind; ``models`` replaces the models of all kinds."""
    for method, names in sizes.trained.items():
        for model, tokens, checkpointing in product(models or names, sizes.lengths, (True, False)):
            yield Case(
                work="training", model=model, method=method, sequences=1, tokens=tokens, checkpointing=checkpointing
            )
    for model in models or sizes.served:
        for tokens in sizes.prompts:
            yield Case(work="prompt", model=model, sequences=1, tokens=tokens)
        for kv_cache, sequences in product(KV_CACHES, sizes.batches):
            yield Case(work="generation", model=model, sequences=sequences, tokens=sizes.context, kv_cache=kv_cache)
