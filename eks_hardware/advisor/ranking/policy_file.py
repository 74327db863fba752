"""A policy in a file: decision trees that name hardware for workloads, in place of the shipped ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from eks_hardware import data, facts, field_paths
from eks_hardware.advisor.ranking.policy import Policy, policy_of
from eks_hardware.catalogue import Hardware, load
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader import Document, load_document
from eks_hardware.models.base import StrategyModel, Text
from eks_hardware.models.json_schema import render
from eks_hardware.models.needs import Framework
from eks_hardware.models.workload import Focus, Serving
from eks_hardware.printable import quoted
from eks_hardware.spellings import Priority, Task, WeightFormat
from eks_hardware.suggestions import close, question, several

Name = Annotated[Text, Field(min_length=1, max_length=200)]
Sentence = Annotated[Text, Field(min_length=1, max_length=1000)]
Count = Annotated[int, Field(ge=0, le=10**15)]

SCHEMA_PATH = data.FOLDER / "policy.schema.json"
"""The JSON Schema of policy files; ``python -m eks_hardware.advisor.ranking.policy_file`` writes it."""


class When(StrategyModel):
    """Conditions; a branch applies if all of them are true."""

    tasks: tuple[Task, ...] | None = Field(default=None, description="Tasks.")
    adapters: bool | None = Field(default=None, description="Whether only adapters are trained (LoRA, QLoRA).")
    parameters_above: Count | None = Field(default=None, description="More parameters than this.")
    parameters_at_least: Count | None = Field(default=None, description="At least this many parameters.")
    parameters_at_most: Count | None = Field(default=None, description="At most this many parameters.")
    parameters_below: Count | None = Field(default=None, description="Fewer parameters than this.")
    kinds: tuple[Name, ...] | None = Field(
        default=None, description="Kinds of model: transformer, tabular, vision, speech, diffusion."
    )
    not_kinds: tuple[Name, ...] | None = Field(default=None, description="Any other kind of model.")
    budgets: tuple[Priority, ...] | None = Field(default=None, description="Priorities of the ranking.")
    frameworks: tuple[Framework | None, ...] | None = Field(default=None, description="Frameworks; null: none is set.")
    not_frameworks: tuple[Framework, ...] | None = Field(default=None, description="Any other framework, or none.")
    precisions: tuple[WeightFormat, ...] | None = Field(default=None, description="Formats of the weights.")
    attention: bool | None = Field(default=None, description="Whether the workload requests an attention kernel.")
    serving: tuple[Serving, ...] | None = Field(default=None, description="Inference: real-time or batch.")
    focus: Focus | None = Field(default=None, description="Aim of inference: latency or throughput.")
    latency_ms_at_most: Count | None = Field(
        default=None, description="A latency target of at most this many milliseconds."
    )


class Named(StrategyModel):
    """The hardware that a branch recommends."""

    families: tuple[Name, ...] = Field(default=(), description="Families, or patterns of them: p5, c[6-9]*.")
    hardware: tuple[Hardware, ...] = Field(default=(), description="Kinds of hardware.")


class Today(StrategyModel):
    """A change since the policy was written."""

    text: Sentence = Field(description="The change.")
    source: Name = Field(description="Key of `sources`.")
    as_of: Name = Field(description="Date when the source was read.")


class Rule(StrategyModel):
    """Hardware for the workloads that meet some conditions."""

    id: Name = Field(description="Name of the branch, unique in the file.")
    quote: Sentence = Field(description="The recommendation in words.")
    under: Sentence | None = Field(default=None, description="Heading above the quote; default: the tree's.")
    reading: Sentence | None = Field(default=None, description="How the quote maps to workload fields.")
    when: When = Field(
        default=When(),
        description="Conditions in addition to the tree's; they override its conditions of the same name.",
    )
    names: Named = Field(description="The hardware that it recommends.")
    instead: tuple[Name, ...] = Field(default=(), description="Families that replace the named hardware today.")
    today: Today | None = Field(default=None, description="A change since the policy was written.")


class Tree(StrategyModel):
    """A decision tree."""

    id: Name = Field(description="Name of the tree.")
    document: Name | None = Field(default=None, description="Key of `documents`.")
    heading: Text = Field(default="", max_length=1000, description="Heading of the tree.")
    when: When = Field(default=When(), description="Conditions of all its branches.")
    branches: tuple[Rule, ...] = Field(min_length=1, max_length=1000, description="Branches, checked in this order.")


class Caution(Rule):
    """A warning about hardware, whatever the branch."""

    document: Name | None = Field(default=None, description="Key of `documents`.")


class PolicyFile(StrategyModel):
    """Decision trees. The first branch that applies is used."""

    version: Literal[1] = Field(description="Version of the format.")
    name: Name = Field(description="Name of the policy in messages, such as selection guide.")
    about: Text | None = Field(default=None, alias="_about", description="Anything about the file.")
    source: Text | None = Field(default=None, description="Where the policy is from.")
    as_of: Text | None = Field(default=None, description="Date when the policy was written or read.")
    documents: dict[Name, Sentence] = Field(default_factory=dict, description="Titles of documents, by key.")
    sources: dict[Name, Sentence] = Field(default_factory=dict, description="Sources of changes, by key.")
    trees: tuple[Tree, ...] = Field(min_length=1, max_length=1000, description="Trees, checked in this order.")
    cautions: tuple[Caution, ...] = Field(default=(), max_length=1000, description="Warnings about hardware.")


def read_policy(source: Path | str, *, file: str = "<string>") -> Policy:
    """Return the policy in a file, or in text that findings call ``file``.

    Raises:
        StrategyError: with every finding, each with its line and column.
    """
    document = load_document(source, PolicyFile, file=file)
    if findings := [*_unknown_words(document), *_same_ids(document)]:
        raise StrategyError(findings)
    return policy_of(document.value.model_dump(mode="json", exclude_unset=True))


Placed = tuple[str, Rule]
"""The path of a branch or caution, and the branch or caution."""


def _rules(content: PolicyFile) -> Iterator[Placed]:
    for index, tree in enumerate(content.trees):
        above = field_paths.below(field_paths.item("trees", index), "branches")
        yield from ((field_paths.item(above, at), rule) for at, rule in enumerate(tree.branches))
    yield from ((field_paths.item("cautions", index), rule) for index, rule in enumerate(content.cautions))


class _Words(NamedTuple):
    """The words in a field, and the words that the field allows."""

    path: str
    words: Sequence[str]
    known: Sequence[str]
    what: str


def _words(content: PolicyFile) -> Iterator[_Words]:
    """Yield the names of documents, sources, families and kinds of models."""
    cited = [(field_paths.item("trees", index), each.document) for index, each in enumerate(content.trees)]
    cited += [(field_paths.item("cautions", index), each.document) for index, each in enumerate(content.cautions)]
    for path, key in cited:
        named = () if key is None else (key,)
        yield _Words(f"{path}.document", named, tuple(content.documents), "key of 'documents'")
    whens = [(field_paths.item("trees", index), each.when) for index, each in enumerate(content.trees)]
    kinds = ("transformer", *facts.ranking()["kinds"])
    for path, when in (*whens, *((path, rule.when) for path, rule in _rules(content))):
        for name in ("kinds", "not_kinds"):
            yield _Words(f"{path}.when.{name}", getattr(when, name) or (), kinds, "kind of model")
    for path, rule in _rules(content):
        yield _Words(f"{path}.names.families", rule.names.families, load().families, "family")
        yield _Words(f"{path}.instead", rule.instead, load().families, "family")
        if rule.today:
            yield _Words(f"{path}.today.source", (rule.today.source,), tuple(content.sources), "key of 'sources'")


def _unknown_words(document: Document[PolicyFile]) -> Iterator[Finding]:
    for path, words, known, what in _words(document.value):
        for word in words:
            if any(fnmatchcase(name, word) for name in known):
                continue
            meant = close(word, known)
            hint = question(meant) if meant else f"use one of {several(known)}" if known else f"add a {what}"
            message = f"must be a {what}, got {quoted(word)}; {hint}"
            yield Finding("FIELD_VALUE", path, message, position=document.source.locate(path))


def _same_ids(document: Document[PolicyFile]) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, rule in _rules(document.value):
        if rule.id in seen:
            where = field_paths.below(path, "id")
            message = f"must be unique, got {quoted(rule.id)} twice; rename one of them"
            yield Finding("NAME_DUPLICATE", where, message, position=document.source.locate(where))
        seen.add(rule.id)


if __name__ == "__main__":
    SCHEMA_PATH.write_text(render(PolicyFile, "policy"), encoding="utf-8")
