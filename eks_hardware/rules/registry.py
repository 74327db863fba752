"""The definition of a rule, and the list of all rules.

A rule is a generator over a :class:`Context` that yields ``(path, message)`` for each breach. The decorator gives it a
stable code and a severity. ``explained/*.yaml`` has its summary, source and reason under the same code.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, cast

from eks_hardware import field_paths
from eks_hardware.catalogue import Catalogue, InstanceType
from eks_hardware.findings import Severity
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, Strategy
from eks_hardware.models.node_lists import pools_of
from eks_hardware.resolve import zones
from eks_hardware.resolve.addresses import SubnetBudget, strategy_budgets
from eks_hardware.resolve.charts import NodeNeeds, wanted_charts
from eks_hardware.resolve.node import ami_family
from eks_hardware.resolve.pool_types import pool_types
from eks_hardware.suggestions import several

if TYPE_CHECKING:
    from eks_hardware.cost import StrategyCost

Breach = tuple[str, str]
"""Path of the field at fault, and the message."""

Node: TypeAlias = NodeGroupSpec | NodePoolSpec
"""A node group or node pool: node settings and instance types."""


_Computed = TypeVar("_Computed")


@dataclass(frozen=True)
class Context:
    """The input of rules.

    Examples:
        >>> context = Context(strategy, load())
        >>> [str(breach) for breach in RULES["EFA_UNSUPPORTED"].check(context)]
        []
    """

    strategy: Strategy
    catalogue: Catalogue
    today: datetime.date = field(default_factory=datetime.date.today)
    warned: list[Breach] = field(default_factory=list)
    """Code and path of every warning so far; complete for rules that run ``last``."""
    _types: dict[str, tuple[InstanceType, ...]] = field(default_factory=dict)
    _once: dict[Callable[[Context], object], object] = field(default_factory=dict)

    def once(self, compute: Callable[[Context], _Computed]) -> _Computed:
        """Return a function's result for this context, computed once for all rules that ask for it."""
        if compute not in self._once:
            self._once[compute] = compute(self)
        return cast("_Computed", self._once[compute])

    @property
    def region_known(self) -> bool:
        """Whether the catalogue has the strategy's region."""
        return self.strategy.region in self.catalogue.regions

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node group and node pool."""
        return (*self.strategy.node_groups, *self.pools)

    def types(self, node: Node) -> tuple[InstanceType, ...]:
        """Return the known instance types of a group or pool, including those of a pool's families."""
        kinds = self._types.get(node.name)
        if kinds is None:
            chosen = self.pool_types(node) if isinstance(node, NodePoolSpec) else ()
            known = (self.catalogue.find(name) for name in node.instance_types or chosen)
            kinds = self._types[node.name] = tuple(kind for kind in known if kind is not None)
        return kinds

    def addon_configuration(self, name: str) -> Mapping[str, object]:
        """Return the configuration that the strategy sets for an add-on; empty if the add-on is off."""
        addons = self.strategy.cluster.addons.items()
        return next((addon.configuration for key, addon in addons if key == name and addon.enabled), {})

    def chart_values(self, name: str) -> Mapping[str, object]:
        """Return the values that the strategy sets for a chart."""
        return next((chart.values for key, chart in self.strategy.kubernetes.charts.items() if key == name), {})

    def demand(self, node: Node) -> zones.Demand:
        """Return the requirements of a group or pool for zones."""
        if isinstance(node, NodeGroupSpec):
            return zones.of_node_group(node)
        return zones.of_node_pool(node, self.pool_types(node))

    def zone_choice(self) -> zones.ZoneChoice:
        """Return the zones of the network; groups and pools with unknown types are left out."""
        return self._zone_choice

    @cached_property
    def _zone_choice(self) -> zones.ZoneChoice:
        groups = [group for group in self.strategy.node_groups if len(self.types(group)) == len(group.instance_types)]
        demands = [zones.of_node_group(group) for group in groups]
        demands += [zones.of_node_pool(pool, names) for pool in self.pools if (names := self.pool_types(pool))]
        return zones.choose(self.strategy.network, demands, self.strategy.region, self.catalogue)

    @property
    def pools(self) -> tuple[NodePoolSpec, ...]:
        """Karpenter's node pools."""
        return pools_of(self.strategy)

    @cached_property
    def budgets(self) -> tuple[SubnetBudget, ...]:
        """The addresses used in each subnet that the stack creates."""
        return strategy_budgets(self.strategy, self.catalogue)

    @cached_property
    def cost(self) -> StrategyCost:
        """The cost of the strategy."""
        # Not at the top: most strategies have no budget, and need neither module.
        from eks_hardware.cost import cost_of
        from eks_hardware.resolve import resolve

        return cost_of(resolve(self.strategy, self.catalogue), self.catalogue, today=self.today)

    @cached_property
    def charts(self) -> frozenset[str]:
        """The keys of the charts that the strategy installs, even if the strategy cannot be resolved."""
        nodes = [
            NodeNeeds(node.name, kind.hardware, ami_family(node), node.efa)
            for node in self.nodes
            for kind in self.types(node)
        ]
        return frozenset(key for key, _ in wanted_charts(self.strategy, nodes))

    def pool_types(self, pool: NodePoolSpec) -> tuple[str, ...]:
        """Return the names of the instance types that a pool can launch; empty if a rule reports why."""
        return self._types_of_pools[pool.name]

    @cached_property
    def _types_of_pools(self) -> dict[str, tuple[str, ...]]:
        return {pool.name: pool_types(pool, self.strategy.region, self.catalogue) for pool in self.pools}


class Watched:
    """A strategy that records which of its sections were read."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> object:
        self.read.add(name)
        return getattr(self._strategy, name)

    def context(self, catalogue: Catalogue, today: datetime.date) -> Context:
        """Return the input of a rule."""
        return _WatchedContext(cast(Strategy, self), catalogue, today)

    def node_pools(self) -> tuple[NodePoolSpec, ...]:
        """Return the node pools, which are checked separately from the rest of Karpenter's section."""
        self.read.add("karpenter.node_pools")
        return pools_of(self._strategy)


class _WatchedContext(Context):
    @property
    def pools(self) -> tuple[NodePoolSpec, ...]:
        return cast(Watched, self.strategy).node_pools()


Check: TypeAlias = Callable[[Context], Iterator[Breach]]


class Rule(NamedTuple):
    """A rule; :mod:`explanations` has its texts.

    Examples:
        >>> RULES["EFA_UNSUPPORTED"].severity
        <Severity.ERROR: 'error'>
    """

    code: str
    severity: Severity
    check: Callable[[Context], Iterator[Breach]]
    last: bool = False
    """Whether the rule checks the findings of the other rules."""
    all_nodes: bool = False
    """Whether its findings about one group or pool depend on the others."""


RULES: dict[str, Rule] = {}
"""Every rule by its code."""


def error(code: str, *, all_nodes: bool = False) -> Callable[[Check], Check]:
    """Register a generator as the rule ``code`` with severity error."""
    return partial(_register, code, Severity.ERROR, False, all_nodes)


def warning(code: str, *, last: bool = False, all_nodes: bool = False) -> Callable[[Check], Check]:
    """Register a generator as the rule ``code`` with severity warning."""
    return partial(_register, code, Severity.WARNING, last, all_nodes)


def _register(code: str, severity: Severity, last: bool, all_nodes: bool, check: Check) -> Check:
    if code in RULES:
        raise ValueError(f"two rules are called {code}")
    RULES[code] = Rule(code, severity, check, last, all_nodes)
    return check


def node_path(node: Node, field: str = "") -> str:
    """Return the path of a node group or pool, or of one of its fields: ``node_groups[gpu].instance_types[0]``."""
    path = field_paths.item("node_groups" if isinstance(node, NodeGroupSpec) else "karpenter.node_pools", node.name)
    return f"{path}.{field}" if field else path


def type_path(node: Node, kind: InstanceType) -> str:
    """Return the path of a type in ``instance_types``, or of the field that selects it if it is not listed by name."""
    path = node_path(node, hardware_field(node))
    return field_paths.item(path, node.instance_types.index(kind.name)) if kind.name in node.instance_types else path


def label_path(node: Node, key: str) -> str:
    """Return the path of a label: ``node_groups[gpu].labels[team]``."""
    return field_paths.item(node_path(node, "labels"), key)


def limit_path(pool: NodePoolSpec, resource: str) -> str:
    """Return the path of a node pool's limit: ``karpenter.node_pools[gpu].limits[nvidia.com/gpu]``."""
    return field_paths.below(node_path(pool, "limits"), resource)


def type_names(kinds: Iterable[InstanceType]) -> str:
    """Return the names of the first few types."""
    return several([kind.name for kind in kinds])


def noun(node: Node) -> str:
    """Return the noun for a node group or pool in messages."""
    return "group" if isinstance(node, NodeGroupSpec) else "pool"


def in_domain(key: str, domains: Iterable[str]) -> bool:
    """Return whether a label's key belongs to one of the domains, or to a subdomain."""
    domain = key.rpartition("/")[0]
    return any(f".{domain}".endswith(f".{each}") for each in domains)


def hardware_field(node: Node) -> str:
    """Return the field that selects the instance types of a group or pool."""
    if node.instance_types or isinstance(node, NodeGroupSpec):
        return "instance_types"
    return "instance_families" if node.instance_families else "accelerator"


def zones_given(node: Node) -> Iterator[tuple[str, str]]:
    """Yield every zone that a group or pool states, with the path of its field."""
    if isinstance(node, NodeGroupSpec) and node.reservation:
        yield node_path(node, "reservation.zone"), node.reservation.zone
    else:
        for zone in node.zones:
            yield node_path(node, "zones"), zone
    if isinstance(node, NodePoolSpec):
        for path, reservation in field_paths.items(node_path(node, "reservations"), node.reservations):
            if reservation.zone:
                yield f"{path}.zone", reservation.zone


def stated_zones(context: Context) -> Iterator[tuple[str, str]]:
    """Yield every zone of the network, the groups and the pools, with the path of its field."""
    network = context.strategy.network
    if not isinstance(network.zones, int):
        yield from field_paths.items("network.zones", network.zones)
    yield from ((path, zone) for path, zone, _ in existing_subnets(context))
    for node in context.nodes:
        yield from zones_given(node)


def existing_subnets(context: Context) -> Iterator[tuple[str, str, str]]:
    """Yield the path, zone and ID of each existing subnet."""
    existing = context.strategy.network.existing
    for name in ("private_subnets", "control_plane_subnets", "pod_subnets") if existing else ():
        for zone, subnet in getattr(existing, name).items():
            yield f"network.existing.{name}.{zone}", zone, subnet
