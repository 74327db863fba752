"""Resolve ``kubernetes``: the charts to install, from the hardware and the strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eks_hardware import aws_names, facts, field_paths
from eks_hardware.catalogue import Catalogue, Price, load
from eks_hardware.iam_policies import service_roles
from eks_hardware.models import Chart, Strategy, Team
from eks_hardware.models.kubernetes import COUNTED_OBJECTS
from eks_hardware.resolve.charts import NodeNeeds, wanted_charts
from eks_hardware.resolve.derived import (
    Derived,
    Resolver,
    default,
    limited_name,
    rule,
    stated,
    stated_field,
    stated_if,
    stated_or,
)
from eks_hardware.resolve.mappings import frozen
from eks_hardware.resolve.model import ResolvedNodeGroup, ResolvedNodes
from eks_hardware.resolve.model_kubernetes import (
    ResolvedChart,
    ResolvedKubernetes,
    ResolvedNodePool,
    ResolvedTeam,
    ServicePolicy,
    ServiceRole,
)
from eks_hardware.resolve.pool_types import lacks_price

_NODE_OVERLAYS = "https://karpenter.sh/docs/concepts/nodeoverlays/"


def _needs(path: str, nodes: Sequence[ResolvedNodes]) -> Iterator[NodeNeeds]:
    for node in nodes:
        yield NodeNeeds(field_paths.item(path, node.name), node.hardware, node.ami_family, bool(node.efa_interfaces))


def resolve_kubernetes(
    strategy: Strategy,
    *,
    node_groups: Sequence[ResolvedNodeGroup],
    node_pools: Sequence[ResolvedNodePool],
    catalogue: Catalogue | None = None,
) -> ResolvedKubernetes:
    """Derive the charts and objects on the cluster from a strategy and its resolved groups and pools."""
    needs = [*_needs("node_groups", node_groups), *_needs("karpenter.node_pools", node_pools)]
    overlays = any(pool.overlays for pool in node_pools)
    prices = dict(_overlay_prices(strategy, node_pools, catalogue or load()))
    return _Kubernetes(strategy, dict(wanted_charts(strategy, needs)), overlays, prices).collect()


def _overlay_prices(
    strategy: Strategy, node_pools: Sequence[ResolvedNodePool], catalogue: Catalogue
) -> Iterator[tuple[str, Price]]:
    for pool in node_pools:
        for name in pool.instance_types:
            price = catalogue.price(name, strategy.region)
            if price and lacks_price(name, pool.capacity_types, strategy.network):
                yield name, price


class _Kubernetes(Resolver[ResolvedKubernetes]):
    kind = ResolvedKubernetes

    def __init__(
        self, strategy: Strategy, wanted: Mapping[str, str], overlays: bool, prices: Mapping[str, Price]
    ) -> None:
        self._strategy = strategy
        self._spec = strategy.kubernetes
        self._wanted = wanted
        self._overlays = overlays or bool(prices)
        self._prices = prices

    def delivery(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["kubernetes_delivery"]["delivery"])
        return stated_field(self._spec, "delivery", row, "Terraform installs the charts")

    def stack(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["kubernetes_delivery"]["stack"])
        return stated_field(self._spec, "stack", row, "one stack, one apply, one destroy")

    def kubernetes_version(self) -> Derived[str]:
        return stated(self._strategy.cluster.kubernetes_version)

    def charts(self) -> Derived[Mapping[str, ResolvedChart]]:
        charts = {key: _Chart(key, self._strategy, why).collect() for key, why in self._wanted.items()}
        return rule(charts, "charts for the hardware, and those that the strategy enables")

    def feature_gates(self) -> Derived[Mapping[str, bool]]:
        karpenter = self._strategy.karpenter
        if karpenter is None:
            return rule({}, "the strategy has no karpenter section")
        gates = karpenter.feature_gates
        overlay = True if gates.node_overlay is None and self._overlays else gates.node_overlay
        chosen = {
            "nodeRepair": gates.node_repair,
            "spotToSpotConsolidation": gates.spot_to_spot_consolidation,
            "staticCapacity": gates.static_capacity,
            "nodeOverlay": overlay,
            "capacityBuffer": gates.capacity_buffer,
        }
        value = {name: each for name, each in chosen.items() if each is not None}
        if not self._overlays:
            return rule(value, "only those that the strategy sets")
        return rule(
            value,
            "those that the strategy sets; nodeOverlay makes shared GPUs, huge pages and prices visible to Karpenter",
            _NODE_OVERLAYS,
        )

    def overlay_prices(self) -> Derived[Mapping[str, float]]:
        if not self._prices:
            return rule({}, "Karpenter has every price that it needs")
        prices = {name: price.usd_per_hour for name, price in self._prices.items()}
        text = "a private network cannot reach the pricing service, and this Karpenter has no price for these types"
        lacking = facts.karpenter.cite(lambda file: file["private"]["no_builtin_price"])
        return rule(prices, text, lacking, *dict.fromkeys(price.source for price in self._prices.values()))

    def karpenter_replicas(self) -> Derived[int]:
        karpenter = self._strategy.karpenter
        if karpenter is None:
            return default(0, "the strategy has no karpenter section")
        row = facts.choices.cite(lambda file: file["karpenter_replicas"]["replicas"])
        return stated_field(karpenter, "replicas", row, "one active, one on standby")

    def service_roles(self) -> Derived[tuple[ServiceRole, ...]]:
        roles = (
            _ServiceRole(key, self._strategy, self._wanted[key]).collect()
            for key in service_roles.roles()
            if key in self._wanted
        )
        return rule(tuple(roles), "one per chart that calls AWS")

    def teams(self) -> Derived[tuple[ResolvedTeam, ...]]:
        is_set = "teams" in self._spec.model_fields_set
        return stated_if(is_set, tuple(map(_team, self._spec.teams)), "the stack creates no namespaces")

    def neuron_monitor(self) -> Derived[bool]:
        row = facts.choices.cite(lambda file: file["neuron_monitor"]["enabled"])
        return stated_field(self._spec, "neuron_monitor", row, "not enabled in the strategy")


class _Chart(Resolver[ResolvedChart]):
    kind = ResolvedChart

    def __init__(self, key: str, strategy: Strategy, why: str) -> None:
        charts = {str(name): each for name, each in strategy.kubernetes.charts.items()}
        self._key = key
        self._why = why
        self._row = facts.charts.cite(lambda file: file["charts"][key])
        self._given = charts.get(key, Chart())
        # The CRDs have the same version as the controller.
        self._versioned = charts.get("karpenter", Chart()) if key == "karpenter-crd" else self._given
        karpenter = strategy.karpenter if key in ("karpenter", "karpenter-crd") else None
        self._namespace = karpenter.namespace if karpenter else None

    def key(self) -> Derived[str]:
        return rule(self._key, self._why, self._row)

    def chart(self) -> Derived[str]:
        row = self._row.part(lambda chart: chart["chart"])
        return rule(row.value, "the chart's name in its repository", row)

    def repository(self) -> Derived[str]:
        return stated_or(
            self._given.repository,
            self._row.part(lambda chart: chart["repository"]),
            "the repository that publishes the chart",
        )

    def version(self) -> Derived[str]:
        chosen = self._given.version or self._versioned.version
        return stated_or(
            chosen, self._row.part(lambda chart: chart["version"]), "the release that this toolkit was written for"
        )

    def namespace(self) -> Derived[str]:
        row = self._row.part(lambda chart: chart["namespace"])
        if self._namespace not in (None, row.value):
            return stated(str(self._namespace), "karpenter.namespace of the strategy")
        return rule(row.value, "the namespace in the chart's documentation", row)

    def values(self) -> Derived[Mapping[str, Any]]:
        return stated_if(bool(self._given.values), self._given.values, "derived values only")


class _ServiceRole(Resolver[ServiceRole]):
    kind = ServiceRole

    def __init__(self, key: str, strategy: Strategy, why: str) -> None:
        self._key = key
        self._row = facts.charts.cite(lambda file: file["charts"][key])
        self._role = service_roles.roles()[key]
        self._strategy = strategy
        self._why = why

    def _policy_name(self, policy: str) -> str:
        purpose = f"{self._key}-{policy}"
        return aws_names.limited(self._strategy.name, self._strategy.region, purpose, limit="iam_policy")

    def key(self) -> Derived[str]:
        return rule(self._key, self._why, self._row)

    def role_name(self) -> Derived[str]:
        text = "cluster, region and chart"
        return limited_name(text, self._strategy.name, self._strategy.region, self._key, limit="iam_role")

    def namespace(self) -> Derived[str]:
        row = self._row.part(lambda chart: chart["namespace"])
        return rule(row.value, "the namespace of the chart", row)

    def service_account(self) -> Derived[str]:
        return rule(self._role["service_account"], "the service account of the chart's pods", self._role["source"])

    def policies(self) -> Derived[tuple[ServicePolicy, ...]]:
        policies = (
            ServicePolicy(each, self._policy_name(each), frozen(statements))
            for each, statements in service_roles.policies(self._key, self._strategy.name).items()
        )
        return rule(tuple(policies), "policies from the chart's documentation", self._role["source"])


# ResourceQuota counts extended resources by their requests only:
# https://kubernetes.io/docs/concepts/policy/resource-quotas/#resource-quota-for-extended-resources
def _team(team: Team) -> ResolvedTeam:
    quota = {name if name in COUNTED_OBJECTS else f"requests.{name}": str(value) for name, value in team.quota.items()}
    defaults = team.container_defaults
    return ResolvedTeam(team.name, frozen(quota), frozen(defaults.requests), frozen(defaults.limits))
