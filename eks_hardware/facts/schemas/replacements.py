"""``facts/replacements.json``."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Day, Sourced, Text

Change = Literal["replace", "replace-if-removed", "replace-if-smaller", "update", "ignore"]
Nodes = Literal["none", "unmatched", "all"]


class Argument(TypedDict):
    change: Change
    field: NotRequired[str]
    shown: NotRequired[str]
    effect: NotRequired[str]
    source: NotRequired[Text]
    computed: NotRequired[bool]
    added: NotRequired[str]
    unless: NotRequired[str]
    lower: NotRequired[bool]
    rolls: NotRequired[bool]


class ResourceType(TypedDict):
    noun: str
    source: Text
    tagged: bool
    replaced: NotRequired[str]
    destroyed: NotRequired[str]
    updated: NotRequired[str]
    used_by: NotRequired[str]
    computed_on_update: NotRequired[list[str]]
    arguments: dict[str, Argument]


class Karpenter(About, Sourced):
    kubernetes_version: Nodes
    kinds: dict[str, dict[str, Nodes]]


class Replacements(About):
    provider: str
    as_of: Day
    checked: str
    resources: dict[str, ResourceType]
    karpenter: Karpenter
