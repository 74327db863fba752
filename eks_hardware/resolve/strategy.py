"""Resolve a whole strategy, and the object it resolves to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eks_hardware import aws_names, facts
from eks_hardware.catalogue import Catalogue, load
from eks_hardware.models import (
    AssumeRole,
    LocalBackendSpec,
    NodeGroupSpec,
    NodePoolSpec,
    RemoteBackendSpec,
    S3BackendSpec,
    Strategy,
)
from eks_hardware.models.node_lists import UNCHOSEN, pools_of, unchosen
from eks_hardware.resolve import zones
from eks_hardware.resolve.addons import storage_addons
from eks_hardware.resolve.cluster import partition, resolve_cluster
from eks_hardware.resolve.derived import (
    Derived,
    Resolver,
    default,
    limited_name,
    optional,
    rule,
    stated,
    stated_field,
)
from eks_hardware.resolve.karpenter import resolve_karpenter
from eks_hardware.resolve.kubernetes import resolve_kubernetes
from eks_hardware.resolve.model import (
    ResolvedCluster,
    ResolvedKarpenter,
    ResolvedNetwork,
    ResolvedNodeGroup,
    ResolvedNodes,
    ResolvedProvider,
)
from eks_hardware.resolve.model_kubernetes import ResolvedKubernetes, ResolvedNodePool, ResolvedStorage
from eks_hardware.resolve.network import resolve_network
from eks_hardware.resolve.node_fields import EFA_GROUP, resolve_node_group, resolve_node_pool
from eks_hardware.resolve.node_role import NODE_ROLE, node_policy_arns
from eks_hardware.resolve.pool_types import pool_types
from eks_hardware.resolve.provider_versions import cited_floor
from eks_hardware.resolve.storage import resolve_storage
from eks_hardware.resolve.user_data import node_shell
from eks_hardware.resolve.values import Resolved
from eks_hardware.resolve.vpc import has_pod_subnets

Backend = LocalBackendSpec | S3BackendSpec | RemoteBackendSpec


@dataclass(frozen=True, kw_only=True)
class ResolvedStrategy(Resolved):
    """All values that follow from one strategy file.

    Attributes:
        kubernetes_backend: state of the second stack with ``kubernetes.stack: separate``; None without it.

    Examples:
        >>> resolved.name, len(resolved.node_groups), len(resolved.node_pools)
        ('research', 2, 1)
    """

    name: str
    description: str
    region: str
    partition: str
    network: ResolvedNetwork
    cluster: ResolvedCluster
    node_role_name: str
    node_policy_arns: tuple[str, ...]
    node_groups: tuple[ResolvedNodeGroup, ...]
    efa_security_group_name: str | None
    karpenter: ResolvedKarpenter | None
    node_pools: tuple[ResolvedNodePool, ...]
    kubernetes: ResolvedKubernetes
    storage: ResolvedStorage
    backend: Backend
    kubernetes_backend: Backend | None
    provider: ResolvedProvider


def resolve(strategy: Strategy, catalogue: Catalogue | None = None) -> ResolvedStrategy:
    """Derive all values of a strategy that passed the rules.

    Args:
        strategy: a strategy without errors (``eks_hardware.rules.check``).
        catalogue: the hardware catalogue; by default the packaged one.

    Raises:
        ValueError: the hardware of a group or pool has not been chosen yet.
    """
    if left_open := unchosen(strategy):
        raise ValueError(f"{left_open[0]}: {UNCHOSEN}")
    return _Strategy(strategy, catalogue or load()).collect()


class _Strategy(Resolver[ResolvedStrategy]):
    kind = ResolvedStrategy

    def __init__(self, strategy: Strategy, catalogue: Catalogue) -> None:
        self._spec = strategy
        self._catalogue = catalogue
        self._name, self._region = strategy.name, strategy.region
        self._partition = facts.partition(strategy.region)
        self._pools = pools_of(strategy)
        self._custom_networking = has_pod_subnets(strategy.network)
        self._shell = node_shell(strategy.storage)
        demands = {group.name: zones.of_node_group(group) for group in strategy.node_groups}
        demands |= {
            pool.name: zones.of_node_pool(pool, pool_types(pool, self._region, catalogue)) for pool in self._pools
        }
        self._zones = zones.choose(strategy.network, tuple(demands.values()), self._region, catalogue)
        self._zone_ids = {
            name: zones.zones_of(demand, self._zones, self._region, catalogue) for name, demand in demands.items()
        }
        self._provider = _Provider(strategy).collect()
        self._cluster = resolve_cluster(
            strategy.cluster,
            name=self._name,
            region=self._region,
            custom_networking=self._custom_networking,
            needed_addons=storage_addons(strategy.storage, partition=self._partition),
        )
        self._node_groups = tuple(map(self._node_group, strategy.node_groups))
        self._node_pools = tuple(map(self._node_pool, self._pools))

    def name(self) -> Derived[str]:
        return stated(self._name)

    def description(self) -> Derived[str]:
        return stated(self._spec.description)

    def region(self) -> Derived[str]:
        return stated(self._region)

    def partition(self) -> Derived[str]:
        return partition(self._region)

    def network(self) -> Derived[ResolvedNetwork]:
        addons = [addon.name for addon in self._cluster.addons]
        network = resolve_network(
            self._spec.network, name=self._name, region=self._region, zones=self._zones, addons=addons
        )
        return rule(network, "see its fields")

    def cluster(self) -> Derived[ResolvedCluster]:
        return rule(self._cluster, "see its fields")

    def node_role_name(self) -> Derived[str]:
        text = "one role for all managed node groups: cluster, region and purpose"
        return limited_name(text, self._name, self._region, "node", limit="iam_role")

    def node_policy_arns(self) -> Derived[tuple[str, ...]]:
        text = "to join the cluster, pull images and use Systems Manager sessions"
        return rule(node_policy_arns(self._partition), text, NODE_ROLE)

    def node_groups(self) -> Derived[tuple[ResolvedNodeGroup, ...]]:
        return rule(self._node_groups, "see their fields")

    def _node_group(self, group: NodeGroupSpec) -> ResolvedNodeGroup:
        return resolve_node_group(
            group,
            cluster_name=self._name,
            kubernetes_version=self._spec.cluster.kubernetes_version,
            zone_ids=self._zone_ids[group.name],
            catalogue=self._catalogue,
            custom_networking=self._custom_networking,
            common_tags=self._provider.default_tags,
            shell=self._shell,
        )

    def efa_security_group_name(self) -> Derived[str | None]:
        if any(nodes.efa for nodes in (*self._spec.node_groups, *self._pools)):
            name = aws_names.security_group(self._name, "efa")
            return rule(name, "EFA requires a group that allows all traffic from and to itself", EFA_GROUP)
        return rule(None, "no group or pool uses EFA", EFA_GROUP)

    def karpenter(self) -> Derived[ResolvedKarpenter | None]:
        given = self._spec.karpenter
        if given is None:
            return default(None, "the strategy has no karpenter section")
        private = self._spec.network.private
        karpenter = resolve_karpenter(
            given, cluster_name=self._name, region=self._region, partition=self._partition, private=private
        )
        return stated(karpenter)

    def node_pools(self) -> Derived[tuple[ResolvedNodePool, ...]]:
        return rule(self._node_pools, "see their fields")

    def _node_pool(self, pool: NodePoolSpec) -> ResolvedNodePool:
        existing, karpenter = self._spec.network.existing, self._spec.karpenter
        return resolve_node_pool(
            pool,
            cluster_name=self._name,
            region=self._region,
            zone_ids=self._zone_ids[pool.name],
            catalogue=self._catalogue,
            ami_versions=karpenter.ami_versions if karpenter else None,
            efa_security_group_name=self.efa_security_group_name().value,
            subnet_ids=existing.private_subnets if existing and not existing.tag_subnets else None,
            custom_networking=self._custom_networking,
            common_tags=self._provider.default_tags,
            shell=self._shell,
        )

    def kubernetes(self) -> Derived[ResolvedKubernetes]:
        kubernetes = resolve_kubernetes(
            self._spec, node_groups=self._node_groups, node_pools=self._node_pools, catalogue=self._catalogue
        )
        return rule(kubernetes, "see its fields")

    def storage(self) -> Derived[ResolvedStorage]:
        every: tuple[ResolvedNodes, ...] = (*self._node_groups, *self._node_pools)
        by_efa = sorted(every, key=lambda each: not each.efa_interfaces)
        zone_id = zones.fsx_zone(self._spec.storage, [(each.workload, each.zone_ids) for each in by_efa])
        zone_ids = tuple(zone for zone in self._zones.zone_ids if not zones.is_edge(zone))
        storage = resolve_storage(self._spec.storage, name=self._name, zone_ids=zone_ids, fsx_zone_id=zone_id)
        return rule(storage, "see its fields")

    def backend(self) -> Derived[Backend]:
        given, backend = self._spec.backend, _backend(self._spec)
        if "backend" not in self._spec.model_fields_set:
            return default(backend, "a local file in the project", facts.choices.cite(lambda file: file["backend"]))
        if isinstance(given, S3BackendSpec) and not {"key", "lock"} <= given.model_fields_set:
            return stated(backend, "as set in the strategy", facts.choices.cite(lambda file: file["s3_backend"]))
        return stated(backend)

    def kubernetes_backend(self) -> Derived[Backend | None]:
        beside = "next to the state of the first stack"
        text = beside if _has_kubernetes_stack(self._spec) else "there is no second stack"
        return rule(_kubernetes_backend(self._spec), text)

    def provider(self) -> Derived[ResolvedProvider]:
        return rule(self._provider, "see its fields")


def _backend(strategy: Strategy) -> Backend:
    """Return the backend with its defaults filled in."""
    backend = strategy.backend
    if isinstance(backend, LocalBackendSpec):
        # Terraform runs in cdktf.out/stacks/<name>; an absolute path would differ between machines.
        path = backend.path or facts.choices()["backend"]["path"].format(name=strategy.name)
        return backend.model_copy(update={"path": path})
    if isinstance(backend, S3BackendSpec):
        key = backend.key or facts.choices()["s3_backend"]["key"].format(name=strategy.name)
        return backend.model_copy(update={"key": key, "region": backend.region or strategy.region})
    workspace = backend.workspace or aws_names.limited(strategy.name, limit="terraform_workspace")
    return backend.model_copy(update={"workspace": workspace})


def _has_kubernetes_stack(strategy: Strategy) -> bool:
    return strategy.kubernetes.delivery == "helm" and strategy.kubernetes.stack == "separate"


def _kubernetes_backend(strategy: Strategy) -> Backend | None:
    """Return the first stack's backend with ``-kubernetes`` appended to the name of the state."""
    if not _has_kubernetes_stack(strategy):
        return None
    backend = _backend(strategy)
    if isinstance(backend, LocalBackendSpec):
        return backend.model_copy(update={"path": _beside(backend.path or "")})
    if isinstance(backend, S3BackendSpec):
        return backend.model_copy(update={"key": _beside(backend.key or "")})
    workspace = aws_names.limited(backend.workspace or "", "kubernetes", limit="terraform_workspace")
    return backend.model_copy(update={"workspace": workspace})


def _beside(path: str) -> str:
    """Return the path of the second stack's state: ``a/demo.tfstate`` -> ``a/demo-kubernetes.tfstate``."""
    folder, slash, file = path.rpartition("/")
    stem, _, suffix = file.rpartition(".")
    return f"{folder}{slash}{stem}-kubernetes.{suffix}" if stem else f"{path}-kubernetes"


class _Provider(Resolver[ResolvedProvider]):
    kind = ResolvedProvider

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._spec = strategy.aws

    def version(self) -> Derived[str]:
        if self._spec.version:
            return stated(self._spec.version)
        floor, reason = cited_floor(self._strategy)
        below = facts.eks.cite(lambda file: file["provider_versions"]["below"])
        return rule(f">= {floor.value}, < {below.value}", f"{floor.value}: {reason}", floor, below)

    def helm_version(self) -> Derived[str]:
        lowest = facts.eks.cite(lambda file: file["helm_provider_versions"]["lowest"])
        below = facts.eks.cite(lambda file: file["helm_provider_versions"]["below"])
        text = f"{lowest.value}: upgrade_install, without a cluster during the first plan"
        return rule(f">= {lowest.value}, < {below.value}", text, lowest, below)

    def profile(self) -> Derived[str | None]:
        return optional(self._spec.profile, "credentials from the environment")

    def assume_role(self) -> Derived[AssumeRole | None]:
        return optional(self._spec.assume_role, "no role: the credentials are used directly")

    def account_id(self) -> Derived[str | None]:
        return optional(self._spec.account_id, "any account")

    def default_tags(self) -> Derived[Mapping[str, str]]:
        return rule(
            {aws_names.STRATEGY_TAG: self._strategy.name, **self._strategy.tags},
            "the strategy's tags, and its name for cost allocation",
        )

    def permissions_boundary_arn(self) -> Derived[str | None]:
        return optional(self._spec.permissions_boundary_arn, "the strategy sets no boundary")

    def iam_path(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["iam_path"]["path"])
        return stated_field(self._spec, "iam_path", row, "the root path")
