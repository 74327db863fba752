"""Resolve a whole strategy."""

from __future__ import annotations

from types import MappingProxyType

from eks_hardware import aws_names, facts
from eks_hardware.catalogue import Catalogue, load
from eks_hardware.models import LocalBackendSpec, NodeTemplate, RemoteBackendSpec, S3BackendSpec, Strategy
from eks_hardware.models.node_lists import UNCHOSEN, unchosen
from eks_hardware.resolve import sources, zones
from eks_hardware.resolve.cluster import resolve_cluster
from eks_hardware.resolve.karpenter import node_policy_arns, resolve_karpenter
from eks_hardware.resolve.kubernetes import resolve_kubernetes
from eks_hardware.resolve.model import Reasons, ResolvedNodeGroup, ResolvedProvider
from eks_hardware.resolve.model_kubernetes import ResolvedNodePool
from eks_hardware.resolve.model_strategy import ResolvedStrategy
from eks_hardware.resolve.network import has_pod_subnets, resolve_network
from eks_hardware.resolve.node_groups import resolve_node_group
from eks_hardware.resolve.node_pools import pool_types, resolve_node_pool
from eks_hardware.resolve.storage import fsx_zone, node_shell, resolve_storage, storage_addons
from eks_hardware.versions import numbers


def resolve(strategy: Strategy, catalogue: Catalogue | None = None) -> ResolvedStrategy:
    """Derive everything that follows from a strategy that passed the rules.

    Args:
        strategy: a strategy without findings (``eks_hardware.rules.check``).
        catalogue: the hardware catalogue; the packaged one by default.

    Raises:
        ValueError: the hardware of a group or pool has not been chosen.
    """
    if left_open := unchosen(strategy):
        raise ValueError(f"{left_open[0]}: {UNCHOSEN}")
    catalogue = catalogue or load()
    why = Reasons()
    name, region = strategy.name, strategy.region
    partition = facts.partition(region)
    karpenter = strategy.karpenter
    pools = karpenter.node_pools if karpenter else ()
    demands = {group.name: zones.of_node_group(group) for group in strategy.node_groups}
    demands |= {pool.name: zones.of_node_pool(pool, pool_types(pool, region, catalogue)) for pool in pools}
    choice = zones.choose(strategy.network, tuple(demands.values()), region, catalogue)
    zone_ids = {each: zones.zones_of(demand, choice, region, catalogue) for each, demand in demands.items()}
    custom_networking = has_pod_subnets(strategy.network)
    cluster = resolve_cluster(
        strategy.cluster,
        name=name,
        region=region,
        custom_networking=custom_networking,
        needed_addons=storage_addons(strategy.storage, partition=partition),
    )
    provider = _provider(strategy)
    templates: tuple[NodeTemplate, ...] = (*strategy.node_groups, *pools)
    efa_security_group = aws_names.security_group(name, "efa") if any(each.efa for each in templates) else None
    shell = node_shell(strategy.storage)
    node_groups = tuple(
        resolve_node_group(
            group,
            cluster_name=name,
            kubernetes_version=strategy.cluster.kubernetes_version,
            zone_ids=zone_ids[group.name],
            catalogue=catalogue,
            custom_networking=custom_networking,
            common_tags=provider.default_tags,
            shell=shell,
        )
        for group in strategy.node_groups
    )
    existing = strategy.network.existing
    node_pools = tuple(
        resolve_node_pool(
            pool,
            cluster_name=name,
            region=region,
            zone_ids=zone_ids[pool.name],
            catalogue=catalogue,
            ami_versions=karpenter.ami_versions if karpenter else None,
            efa_security_group_name=efa_security_group,
            subnet_ids=existing.private_subnets if existing and not existing.tag_subnets else None,
            custom_networking=custom_networking,
            common_tags=provider.default_tags,
            shell=shell,
        )
        for pool in pools
    )
    every: tuple[ResolvedNodeGroup | ResolvedNodePool, ...] = (*node_groups, *node_pools)
    by_efa = sorted(every, key=lambda each: not each.efa_interfaces)
    fsx_zone_id = fsx_zone(strategy.storage, [(each.workload, each.zone_ids) for each in by_efa])
    return ResolvedStrategy(
        name=why.strategy("name", name),
        description=why.strategy("description", strategy.description),
        region=why.strategy("region", region),
        partition=why.rule("partition", partition, f"{region} belongs to it", source=cluster.why("partition").source),
        network=why.rule(
            "network",
            resolve_network(
                strategy.network,
                name=name,
                region=region,
                zones=choice,
                addons=[addon.name for addon in cluster.addons],
            ),
            "see its fields",
        ),
        cluster=why.rule("cluster", cluster, "see its fields"),
        node_role_name=why.rule(
            "node_role_name",
            aws_names.limited(name, region, "node", limit=aws_names.IAM_ROLE),
            "one role for all managed node groups: cluster, region and purpose, at most 64 characters",
        ),
        node_policy_arns=why.rule(
            "node_policy_arns",
            node_policy_arns(partition),
            "join the cluster, pull images, Systems Manager session",
            source=sources.NODE_ROLE,
        ),
        node_groups=why.rule(
            "node_groups",
            node_groups,
            "see their fields",
        ),
        efa_security_group_name=why.rule(
            "efa_security_group_name",
            efa_security_group,
            "EFA needs all traffic from and to itself" if efa_security_group else "no group or pool uses EFA",
            source=sources.EFA_GROUP,
        ),
        karpenter=why.given(
            "karpenter",
            resolve_karpenter(
                strategy.karpenter,
                cluster_name=name,
                region=region,
                partition=partition,
                private=strategy.network.private,
            )
            if strategy.karpenter
            else None,
            when=strategy.karpenter is not None,
            otherwise="not asked for",
        ),
        node_pools=why.rule("node_pools", node_pools, "see their fields"),
        kubernetes=why.rule(
            "kubernetes",
            resolve_kubernetes(strategy, node_groups=node_groups, node_pools=node_pools),
            "see its fields",
        ),
        storage=why.rule(
            "storage",
            resolve_storage(strategy.storage, name=name, zone_ids=choice.zone_ids, fsx_zone_id=fsx_zone_id),
            "see its fields",
        ),
        backend=why.given(
            "backend",
            _backend(strategy),
            when="backend" in strategy.model_fields_set,
            otherwise="a file in the project",
        ),
        kubernetes_backend=why.rule(
            "kubernetes_backend",
            _kubernetes_backend(strategy),
            "beside the state of the first stack" if _has_kubernetes_stack(strategy) else "there is no second stack",
        ),
        provider=why.rule("provider", provider, "see its fields"),
        reasons=why.frozen(),
    )


def _backend(strategy: Strategy) -> LocalBackendSpec | S3BackendSpec | RemoteBackendSpec:
    """The backend with its defaults filled in."""
    backend = strategy.backend
    if isinstance(backend, LocalBackendSpec):
        # Terraform runs in cdktf.out/stacks/<name>; an absolute path would differ between machines.
        path = backend.path or f"../../../terraform.{strategy.name}.tfstate"
        return backend.model_copy(update={"path": path})
    if isinstance(backend, S3BackendSpec):
        return backend.model_copy(
            update={
                "key": backend.key or f"eks-hardware/{strategy.name}.tfstate",
                "region": backend.region or strategy.region,
            }
        )
    workspace = backend.workspace or aws_names.limited(strategy.name, limit=aws_names.TERRAFORM_WORKSPACE)
    return backend.model_copy(update={"workspace": workspace})


def _has_kubernetes_stack(strategy: Strategy) -> bool:
    return strategy.kubernetes.delivery == "helm" and strategy.kubernetes.stack == "separate"


def _kubernetes_backend(strategy: Strategy) -> LocalBackendSpec | S3BackendSpec | RemoteBackendSpec | None:
    """The first stack's backend, with ``-kubernetes`` behind the name of the state."""
    if not _has_kubernetes_stack(strategy):
        return None
    backend = _backend(strategy)
    if isinstance(backend, LocalBackendSpec):
        return backend.model_copy(update={"path": _beside(backend.path or "")})
    if isinstance(backend, S3BackendSpec):
        return backend.model_copy(update={"key": _beside(backend.key or "")})
    workspace = aws_names.limited(backend.workspace or "", "kubernetes", limit=aws_names.TERRAFORM_WORKSPACE)
    return backend.model_copy(update={"workspace": workspace})


def _beside(path: str) -> str:
    """``a/demo.tfstate`` -> ``a/demo-kubernetes.tfstate``"""
    folder, slash, file = path.rpartition("/")
    stem, _, suffix = file.rpartition(".")
    return f"{folder}{slash}{stem}-kubernetes.{suffix}" if stem else f"{path}-kubernetes"


def provider_floor(strategy: Strategy) -> tuple[str, str]:
    """The lowest AWS provider version that knows everything the strategy asks for, and what asks for it."""
    versions = facts.eks("provider_versions")
    floor, reason = versions["lowest"], "the release that the tests run"
    used = {
        "deletion_protection": strategy.cluster.deletion_protection is not None,
        "control_plane_scaling_config": strategy.cluster.control_plane_tier != "standard",
        "update_strategy": any(group.update.strategy for group in strategy.node_groups),
    }
    for setting, since in versions["since"].items():
        if used[setting] and numbers(since["version"]) > numbers(floor):
            floor, reason = since["version"], f"{setting} is known since then"
    return floor, reason


def _provider(strategy: Strategy) -> ResolvedProvider:
    why = Reasons()
    aws = strategy.aws
    floor, reason = provider_floor(strategy)
    below = facts.eks("provider_versions")["below"]
    version = f">= {floor}, < {below}"
    helm = facts.eks("helm_provider_versions")
    return ResolvedProvider(
        version=why.strategy("version", aws.version)
        if aws.version
        else why.rule("version", version, f"{floor}: {reason}", source="facts/eks.json provider_versions"),
        helm_version=why.rule(
            "helm_version",
            f">= {helm['lowest']}, < {helm['below']}",
            "no setting is used that only one of the two majors knows",
            source="facts/eks.json helm_provider_versions",
        ),
        profile=why.given(
            "profile", aws.profile, when=aws.profile is not None, otherwise="the environment's credentials"
        ),
        assume_role=why.given(
            "assume_role",
            aws.assume_role,
            when=aws.assume_role is not None,
            otherwise="the credentials are used as they are",
        ),
        account_id=why.given(
            "account_id", aws.account_id, when=aws.account_id is not None, otherwise="any account that they belong to"
        ),
        default_tags=why.rule(
            "default_tags",
            MappingProxyType({"eks-hardware/strategy": strategy.name, **strategy.tags}),
            "the strategy's tags, and its name for cost allocation",
        ),
        permissions_boundary_arn=why.given(
            "permissions_boundary_arn",
            aws.permissions_boundary_arn,
            when=aws.permissions_boundary_arn is not None,
            otherwise="no boundary is asked for",
        ),
        iam_path=why.given(
            "iam_path", aws.iam_path, when="iam_path" in aws.model_fields_set, otherwise="the root path"
        ),
        reasons=why.frozen(),
    )
