"""``policy/*.json``: the documents' decision trees, the ranking rules, and the groups of a first strategy."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced, Text


class When(TypedDict, total=False):
    """Conditions; a branch applies if all of them are true."""

    tasks: list[str]
    adapters: bool
    parameters_above: int
    parameters_at_least: int
    parameters_at_most: int
    parameters_below: int
    kinds: list[str]
    not_kinds: list[str]
    budgets: list[str]
    frameworks: list[str | None]
    not_frameworks: list[str]
    precisions: list[str]
    attention: bool
    serving: list[str]
    focus: str
    latency_ms_at_most: int


class Today(Sourced):
    text: Text


class Branch(TypedDict):
    id: str
    quote: Text
    under: NotRequired[str]
    reading: Text
    when: When
    names: dict[str, list[str]]
    instead: NotRequired[list[str]]
    today: NotRequired[Today | None]


class Tree(TypedDict):
    id: str
    document: str
    heading: str
    when: When
    branches: list[Branch]


class Caution(Branch):
    document: str


class Score(TypedDict):
    score: float
    why: Text


class Weights(TypedDict):
    cost: float
    policy: float
    maturity: float
    speed: float
    why: Text


Basis = Literal["usd_per_run", "usd_per_hour"]
"""A cost figure."""


class CostBasis(TypedDict):
    figures: list[Basis]
    of_unknown_speed: float
    why: Text


class SeveralNodes(TypedDict):
    ways: list[str]
    factor: float
    why: Text


class Limits(TypedDict):
    """The maximum cost of the first place as a multiple of the cheapest candidate's, by priority."""

    source: str
    why: Text
    cost: float
    balanced: float
    performance: float


class MoreDevices(TypedDict):
    """When a replica uses more devices of its node than its memory needs."""

    source: str
    why: Text
    least_times_the_speed: float


class TightFit(TypedDict):
    """When a layout may not fit, because memory is only estimated, and the factor that reduces its score."""

    source: str
    why: Text
    ways: list[str]
    share: float
    factor: dict[str, float]


class BetterValue(TypedDict):
    """When a candidate ranks below a more expensive one that does more work per dollar."""

    source: str
    why: Text
    most_times_the_price: float
    least_times_the_work_per_dollar: float


class Amount(TypedDict):
    """The tokens of a run, if the workload does not set them."""

    tokens: NotRequired[int]
    tokens_per_parameter: NotRequired[int]
    source: str
    why: Text


class Choice(TypedDict):
    value: int
    source: str
    why: Text


class Frameworks(TypedDict):
    """Frameworks that count for software maturity if a request names none."""

    source: str
    why: Text
    training: list[str]
    generation: list[str]


class Run(TypedDict):
    least_hours: float
    why: Text
    assumed: dict[str, Amount]
    longest_days: Choice
    most_nodes: Choice
    most_usd: Choice


class Users(TypedDict):
    think_seconds: Choice
    prompt_tokens: Choice
    answer_tokens: Choice
    per_token_ms: Choice
    first_token_ms: Choice
    answer_ms: Choice


class Halvings(TypedDict):
    cost: float
    speed: float
    why: Text


class Cpu(TypedDict):
    families: list[str]
    parameters_at_most: int
    vcpus_at_least: int
    quote: Text
    document: str
    why: Text


class Excluded(TypedDict):
    code: str
    bare_metal: NotRequired[bool]
    burstable: NotRequired[bool]
    why: Text


class SelectionGuide(About, Sourced):
    """``selection_guide.json``, the shipped policy."""

    version: int
    name: str
    documents: dict[str, str]
    sources: dict[str, str]
    trees: list[Tree]
    cautions: list[Caution]


class Ranking(About, Sourced):
    match: dict[str, Score]
    weights: dict[str, Weights]
    cost_basis: dict[str, CostBasis]
    several_nodes: SeveralNodes
    limits: Limits
    more_devices: MoreDevices
    tight_fit: TightFit
    better_value: BetterValue
    run: Run
    users: Users
    halvings: Halvings
    maturity: dict[str, float]
    frameworks: Frameworks
    kinds: dict[str, list[str]]
    cpu: Cpu
    excluded: list[Excluded]


class StarterGroup(TypedDict):
    instance_types: list[str]
    efa: NotRequired[bool]
    most: int
    needs: NotRequired[dict[str, str]]
    why: Text


class Starters(About, Sourced):
    """``starters.json``, by hardware and purpose."""

    groups: dict[str, dict[str, StarterGroup]]
    mixed: list[tuple[str, str]]
