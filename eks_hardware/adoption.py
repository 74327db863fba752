"""Node pools for an existing cluster: a file like a strategy's, without node groups.

    adoption = load_adoption("pools.yaml")               # raises StrategyError, each finding with its line
    adoption = resolve_adoption(Adoption(...))           # the same, without a file

Only Karpenter and its pools are added. The rules for strategies apply, except for those that depend on the other parts
of the cluster, which are unknown.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from eks_hardware import aws_names, data
from eks_hardware.findings import Finding, Position, StrategyError, errors_in
from eks_hardware.loader.documents import load_document
from eks_hardware.models import (
    AwsProviderSpec,
    Chart,
    ClusterSpec,
    ExistingNetwork,
    Ignore,
    KarpenterSpec,
    KubernetesSpec,
    NetworkSpec,
    NodeGroupSpec,
    Strategy,
    json_schema,
)
from eks_hardware.models.base import ClusterName, KubernetesMinor, StrategyModel, SubnetId, Tags, VpcId, ZoneId
from eks_hardware.models.kubernetes import ChartName
from eks_hardware.models.node_lists import NODE_LISTS
from eks_hardware.models.strategy import Region
from eks_hardware.models.text_patterns import pattern
from eks_hardware.resolve import ResolvedKarpenter, ResolvedNodePool, ResolvedProvider, ResolvedStrategy, resolve
from eks_hardware.rules import check_part
from eks_hardware.section_checks import check_group

__all__ = [
    "AdoptedCharts",
    "AdoptedCluster",
    "AdoptedNetwork",
    "AdoptedSubnets",
    "Adoption",
    "ResolvedAdoption",
    "adopted_group",
    "check_adoption",
    "load_adoption",
    "resolve_adoption",
]

SCHEMA_PATH = data.FOLDER / "adoption.schema.json"
"""The JSON Schema of adoption files; ``python -m eks_hardware.adoption`` writes it."""

_GROUPS, _ = NODE_LISTS

# Fields whose findings apply. All other fields have defaults here, which do not describe the cluster.
_OURS = (
    "aws",
    "cluster.kubernetes_version",
    "ignore",
    "karpenter",
    "kubernetes.charts",
    "name",
    "network.existing",
    "region",
    "tags",
)
_OF_THE_CONTROL_PLANE = "CONTROL_PLANE_ZONES"
# Only the pools decide which charts are installed and which fields of the file have an effect.
_BY_POOLS = frozenset({"CHART_NOT_INSTALLED", "FIELD_NO_EFFECT"})


class AdoptedCluster(StrategyModel):
    """Facts about the cluster.

    Examples:
        >>> AdoptedCluster(kubernetes_version="1.35").security_group_ids
        ()
    """

    kubernetes_version: KubernetesMinor = Field(
        description="Kubernetes minor version of the cluster, in quotes; node images must match it."
    )
    security_group_ids: tuple[
        Annotated[str, pattern(r"^sg-[0-9a-f]{8,17}$", "a security group id such as sg-0123456789abcdef0")], ...
    ] = Field(
        default=(),
        description="Security groups for the nodes. Default: the group with the tag karpenter.sh/discovery, which the "
        "construct Karpenter adds to the cluster's security group.",
    )


class AdoptedSubnets(StrategyModel):
    """The VPC and the subnets for nodes and pods.

    Examples:
        >>> AdoptedSubnets(vpc_id="vpc-01234567", private_subnets={"usw2-az1": "subnet-00000001"}).pod_subnets
        {}
    """

    vpc_id: VpcId = Field(description="VPC id.")
    private_subnets: dict[ZoneId, SubnetId] = Field(
        min_length=1, description="Subnets for nodes, by zone id, one per zone."
    )
    pod_subnets: dict[ZoneId, SubnetId] = Field(
        default_factory=dict, description="Subnets for pods, by zone id, if the VPC CNI uses custom networking."
    )


class AdoptedNetwork(StrategyModel):
    """The network of the cluster.

    Examples:
        >>> subnets = {"usw2-az1": "subnet-00000001"}
        >>> AdoptedNetwork(existing={"vpc_id": "vpc-01234567", "private_subnets": subnets}).existing.vpc_id
        'vpc-01234567'
    """

    existing: AdoptedSubnets = Field(description="The VPC and the subnets for nodes and pods.")


class AdoptedCharts(StrategyModel):
    """Charts that are deployed with the pools.

    Examples:
        >>> AdoptedCharts(charts={"karpenter": {"values": {"replicas": 1}}}).charts["karpenter"].values
        {'replicas': 1}
    """

    charts: dict[ChartName, Chart] = Field(
        default_factory=dict, description="Version, repository or values of individual charts."
    )


class Adoption(StrategyModel):
    """Karpenter node pools for an existing cluster.

    The fields are those of a strategy, so a pool can be copied from one file to the other unchanged.

    Examples:
        >>> existing = {"vpc_id": "vpc-01234567", "private_subnets": {"usw2-az1": "subnet-00000001"}}
        >>> pool = {"name": "l4", "instance_families": ["g6"], "limits": {"nvidia.com/gpu": 4}}
        >>> Adoption(
        ...     name="shared",
        ...     region="us-west-2",
        ...     cluster={"kubernetes_version": "1.35"},
        ...     network={"existing": existing},
        ...     karpenter={"node_pools": [pool]},
        ... ).karpenter.node_pools[0].name
        'l4'
    """

    name: ClusterName = Field(description="Name of the cluster.")
    region: Region = Field(description="AWS region, such as us-west-2.")
    cluster: AdoptedCluster = Field(description="The cluster.")
    network: AdoptedNetwork = Field(description="The cluster's network.")
    karpenter: KarpenterSpec = Field(description="Karpenter and the node pools.")
    kubernetes: AdoptedCharts = Field(default=AdoptedCharts(), description="Charts that are deployed with the pools.")
    suffix: Annotated[
        str, pattern(r"^([a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?)?$", "at most 20 lower-case letters, digits and hyphens")
    ] = Field(
        default="",
        description="Suffix for the names of the pools' Helm release and of the EFA security group. Each additional "
        "file for the same cluster needs its own suffix.",
    )
    tags: Tags = Field(
        default_factory=dict,
        max_length=30,
        description="Tags for the nodes and volumes that Karpenter creates. Other resources get the tags of the "
        "stack's AWS provider, such as `provider.default_tags`.",
    )
    aws: AwsProviderSpec = Field(
        default=AwsProviderSpec(),
        description="Path and permissions boundary for IAM roles, and how Terraform connects to AWS "
        "(`provider` of the resolved adoption).",
    )
    ignore: tuple[Ignore, ...] = Field(default=(), max_length=100, description="Warnings to hide, each with a reason.")


@dataclass(frozen=True)
class ResolvedAdoption:
    """Everything derived from an :class:`Adoption`.

    Attributes:
        resolved: the adoption as a resolved strategy without node groups; nothing creates its cluster and network.
        security_group_ids: security groups of the nodes; empty if they are found by the discovery tag.
        warnings: findings that do not stop the deployment.
        suffix: suffix of the names that would collide with another file for the same cluster.

    Examples:
        >>> adoption = load_adoption("examples/adopted-cluster/research.yaml")
        >>> len(adoption.node_pools) > 0
        True
    """

    resolved: ResolvedStrategy
    security_group_ids: tuple[str, ...]
    warnings: tuple[Finding, ...]
    suffix: str = ""

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.resolved.name

    @property
    def region(self) -> str:
        """AWS region."""
        return self.resolved.region

    @property
    def karpenter(self) -> ResolvedKarpenter:
        """Karpenter's names and settings."""
        assert self.resolved.karpenter is not None
        return self.resolved.karpenter

    @property
    def node_pools(self) -> tuple[ResolvedNodePool, ...]:
        """The node pools."""
        return self.resolved.node_pools

    @property
    def provider(self) -> ResolvedProvider:
        """Terraform's connection to AWS, and the provider versions that it accepts."""
        return self.resolved.provider

    @property
    def vpc_id(self) -> str:
        """VPC id."""
        existing = self.resolved.network.existing
        assert existing is not None
        return existing.vpc_id

    @property
    def efa_security_group_name(self) -> str | None:
        """Name by which EFA pools find their security group (``EfaSecurityGroup``); None without EFA pools."""
        return self.resolved.efa_security_group_name


def check_adoption(file: Path, *, today: datetime.date | None = None) -> tuple[Finding, ...]:
    """Return the findings for a file, including ignored warnings; an error in the file is returned, not raised."""
    try:
        document = load_document(file, Adoption)
    except StrategyError as error:
        return tuple(error.findings)
    return _checked(_strategy(document.value), today, document.source.locate)


def load_adoption(file: Path | str, *, today: datetime.date | None = None) -> ResolvedAdoption:
    """Read, check and resolve a file.

    Raises:
        StrategyError: with every finding and its line.
    """
    document = load_document(Path(file), Adoption)
    return _resolved(document.value, today, document.source.locate)


def resolve_adoption(adoption: Adoption, *, today: datetime.date | None = None) -> ResolvedAdoption:
    """Check and resolve node pools for an existing cluster.

    Args:
        adoption: the cluster and the pools.
        today: the current day, for rules about dates.

    Raises:
        StrategyError: a ``ValueError`` with every finding, each with the code of its rule.
    """
    return _resolved(adoption, today, lambda _: None)


def _resolved(
    adoption: Adoption, today: datetime.date | None, locate: Callable[[str], Position | None]
) -> ResolvedAdoption:
    strategy = _strategy(adoption)
    shown = tuple(finding for finding in _checked(strategy, today, locate) if not finding.ignored)
    if errors_in(shown):
        raise StrategyError(shown)
    resolved = _suffixed(resolve(strategy), adoption.suffix)
    return ResolvedAdoption(resolved, adoption.cluster.security_group_ids, shown, adoption.suffix)


def _checked(
    strategy: Strategy, today: datetime.date | None, locate: Callable[[str], Position | None]
) -> tuple[Finding, ...]:
    """Return the findings about fields of the file, with their positions."""
    return tuple(
        dataclasses.replace(finding, position=locate(finding.path))
        for finding in check_part(strategy, lists=frozenset({_GROUPS}), independent=_BY_POOLS, today=today)
        if finding.path.startswith(_OURS) and finding.code != _OF_THE_CONTROL_PLANE
    )


def _suffixed(resolved: ResolvedStrategy, suffix: str) -> ResolvedStrategy:
    """Return the strategy with its EFA security group renamed for this file."""
    if not suffix or resolved.efa_security_group_name is None:
        return resolved
    name = aws_names.security_group(resolved.name, f"efa-{suffix}")
    pools = tuple(
        dataclasses.replace(pool, efa_security_group_name=name) if pool.efa_security_group_name else pool
        for pool in resolved.node_pools
    )
    return dataclasses.replace(resolved, efa_security_group_name=name, node_pools=pools)


def _strategy(adoption: Adoption) -> Strategy:
    """Convert the adoption to a strategy, bypassing the check that requires a node group: it has none."""
    subnets = adoption.network.existing
    return Strategy.model_construct(
        version=1,
        name=adoption.name,
        region=adoption.region,
        cluster=ClusterSpec(kubernetes_version=adoption.cluster.kubernetes_version),
        network=NetworkSpec(
            existing=ExistingNetwork(
                vpc_id=subnets.vpc_id, private_subnets=subnets.private_subnets, pod_subnets=subnets.pod_subnets
            )
        ),
        node_groups=(),
        karpenter=adoption.karpenter,
        kubernetes=KubernetesSpec(delivery="manifests", charts=adoption.kubernetes.charts),
        tags=adoption.tags,
        aws=adoption.aws,
        ignore=adoption.ignore,
    )


def adopted_group(
    config: NodeGroupSpec | Mapping[str, object],
    *,
    path: str,
    kubernetes_version: str,
    vpc_id: str,
    private_subnet_ids: Mapping[str, str],
) -> tuple[NodeGroupSpec, tuple[Finding, ...]]:
    """Check a node group for an existing cluster; return it with the zones that offer its types, and the warnings.

    The arguments and errors are those of :func:`eks_hardware.section_checks.check_group`.
    """
    strategy, warnings = check_group(
        config,
        path=path,
        kubernetes_version=kubernetes_version,
        vpc_id=vpc_id,
        private_subnet_ids=private_subnet_ids,
    )
    zones = resolve(strategy).node_groups[0].zone_ids
    return strategy.node_groups[0].model_copy(update={"zones": zones}), warnings


if __name__ == "__main__":
    SCHEMA_PATH.write_text(json_schema.render(Adoption, "adoption"), encoding="utf-8")
