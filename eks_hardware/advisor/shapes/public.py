"""Public models by name: the names that users write, and the shape of each model from its recorded config.json."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from eks_hardware import facts
from eks_hardware.advisor.model import Shape, ShapeError
from eks_hardware.advisor.shapes.hf_config import from_hf_config
from eks_hardware.models.workload import ModelShape
from eks_hardware.printable import quoted
from eks_hardware.suggestions import close, question

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import NamedModel

Words: TypeAlias = tuple[str, ...]

MUST = "must be a public model"
"""The first words of the message about an unknown name."""

# Words of a name that do not change the shape. `base` changes it in bert-base: only the user's own `base` is left out.
_VARIANT = frozenset(("instruct", "it", "chat", "hf", "pt", "meta"))
_WRITTEN_VARIANT = _VARIANT | {"base"}


def rows() -> Mapping[str, NamedModel]:
    """Return the public models by name, in the order of the file."""
    return facts.public_models()["models"]


def known_as(written: str) -> str | None:
    """Return the name of the public model that a user wrote in another way; None for an unknown or ambiguous name.

    >>> known_as("meta-llama/Llama-3.1-70B-Instruct"), known_as("llama 3.1 70b"), known_as("llama-3")
    ('llama-3.1-70b', 'llama-3.1-70b', None)
    """
    words = _words(written)
    return _index().get(words) or _index().get(_without(words, _WRITTEN_VARIANT))


def public_name(model: ModelShape) -> str | None:
    """Return the name of a workload's model, if it is a public one."""
    return None if model.name is None else known_as(model.name)


def shape_of_name(written: str) -> Shape:
    """Return the shape of a public model.

    Raises:
        ShapeError: MODEL_NAME, with similar names.
    """
    name = known_as(written)
    if name is None:
        raise ShapeError("MODEL_NAME", f"{MUST}, got {quoted(written)}{_meant(written)}", "name")
    row = rows()[name]
    shape = replace(from_hf_config(row["config"]), source=row["repository"])
    if row.get("vision_is_rest"):
        parameters, dense = row["parameters"] or shape.parameters, shape.active_parameters == shape.parameters
        # Text tokens skip the vision encoder, but all parameters of a dense model count as used.
        shape = replace(
            shape, parameters=parameters, active_parameters=parameters if dense else shape.active_parameters
        )
    if row.get("embeds"):
        return replace(shape, generates=False, layers_with_cache=0, layers_with_window=0)
    return shape


def _meant(written: str) -> str:
    """Return the kind of a model that is not estimated, or public models with longer or similar names."""
    if what := not_estimated(written):
        return f", which is {what}, for which there are no estimates; choose hardware with `eks-hardware instances`"
    return f"; {_resembling(written, _words(written))}"


@cache
def not_estimated(name: str) -> str | None:
    """Return the kind of a model that is not estimated, by the first words of its name or architecture, or None."""
    words = _words(name)
    for row in facts.public_models()["not_estimated"]:
        if any(words[: len(_words(name))] == _words(name) for name in row["names"]):
            return row["what"]
    return None


def _resembling(written: str, words: Words) -> str:
    longer = [name for name in rows() if words and _words(name)[: len(words)] == words]
    if longer:
        return question(longer)
    if meant := close(written.rpartition("/")[2], rows()):
        return question(meant)
    return "use a name such as llama-3.1-8b; shell completion lists all (`eks-hardware completion`)"


@cache
def _index() -> Mapping[Words, str]:
    """Return the name of the model for each of its names, as words."""
    index: dict[Words, str] = {}
    for name, row in rows().items():
        for words in _spellings(name, row):
            index.setdefault(words, name)
    return index


def _spellings(name: str, row: NamedModel) -> Iterator[Words]:
    for spelling in (name, row["repository"], *row.get("also", ())):
        words = _words(spelling)
        yield from (words, _without(words, _VARIANT))


def _words(name: str) -> Words:
    """Return the words and numbers of a name without its organization: ``Qwen/Qwen2.5-7B`` -> qwen, 2, 5, 7, b."""
    return tuple(re.findall(r"[a-z]+|[0-9]+", name[:200].lower().rpartition("/")[2]))


def _without(words: Words, variant: frozenset[str]) -> Words:
    return tuple(word for word in words if word not in variant)
