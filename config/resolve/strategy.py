"""Resolve a whole strategy."""

from __future__ import annotations

from types import MappingProxyType

from eks_hardware.config import facts, names
from eks_hardware.config.catalogue import Catalogue, load
from eks_hardware.config.models import LocalBackend, RemoteBackend, S3Backend, Strategy
from eks_hardware.config.resolve import zones
from eks_hardware.config.resolve.cluster import resolve_cluster
from eks_hardware.config.resolve.karpenter import node_policy_arns, resolve_karpenter
from eks_hardware.config.resolve.model import Reasons, ResolvedProvider, ResolvedStrategy
from eks_hardware.config.resolve.network import has_pod_subnets, resolve_network
from eks_hardware.config.resolve.node_groups import resolve_node_group


def resolve(strategy: Strategy, catalogue: Catalogue | None = None) -> ResolvedStrategy:
    """Derive everything that follows from a strategy that passed the rules.

    Args:
        strategy: a strategy without findings (``eks_hardware.config.rules.check``).
        catalogue: the hardware catalogue; the packaged one by default.
    """
    catalogue = catalogue or load()
    why = Reasons()
    name, region = strategy.name, strategy.region
    partition = facts.partition(region)
    choice = zones.choose(strategy.network, strategy.node_groups, region, catalogue)
    custom_networking = has_pod_subnets(strategy.network)
    cluster = resolve_cluster(strategy.cluster, name=name, region=region, custom_networking=custom_networking)
    provider = _provider(strategy)
    has_efa = any(group.efa for group in strategy.node_groups)
    return ResolvedStrategy(
        name=why.strategy("name", name),
        description=why.strategy("description", strategy.description),
        region=why.strategy("region", region),
        partition=why.rule("partition", partition, f"{region} belongs to it"),
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
            names.limited(name, region, "node", limit=names.IAM_ROLE),
            "one role for all managed node groups: cluster, region and purpose, at most 64 characters",
        ),
        node_policy_arns=why.rule(
            "node_policy_arns",
            node_policy_arns(partition),
            "join the cluster, pull images, Systems Manager session",
        ),
        node_groups=why.rule(
            "node_groups",
            tuple(
                resolve_node_group(
                    group,
                    cluster_name=name,
                    kubernetes_version=strategy.cluster.kubernetes_version,
                    zone_ids=zones.of_group(group, choice, region, catalogue),
                    catalogue=catalogue,
                    custom_networking=custom_networking,
                    common_tags=provider.default_tags,
                )
                for group in strategy.node_groups
            ),
            "see their fields",
        ),
        efa_security_group_name=why.rule(
            "efa_security_group_name",
            _efa_security_group_name(name) if has_efa else None,
            "EFA needs all traffic from and to itself" if has_efa else "no group uses EFA",
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
        backend=why.given(
            "backend",
            _backend(strategy),
            when="backend" in strategy.model_fields_set,
            otherwise="a file in the project",
        ),
        provider=why.rule("provider", provider, "see its fields"),
        reasons=why.frozen(),
    )


def _efa_security_group_name(cluster_name: str) -> str:
    # EC2 refuses names that begin as its ids do:
    # https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html (GroupName)
    first = ("eks",) if cluster_name.lower().startswith("sg-") else ()
    return names.limited(*first, cluster_name, "efa", limit=names.SECURITY_GROUP)


def _backend(strategy: Strategy) -> LocalBackend | S3Backend | RemoteBackend:
    """The backend with its defaults filled in."""
    backend = strategy.backend
    if isinstance(backend, LocalBackend):
        # Terraform runs in cdktf.out/stacks/<name>; an absolute path would differ between machines.
        path = backend.path or f"../../../terraform.{strategy.name}.tfstate"
        return backend.model_copy(update={"path": path})
    if isinstance(backend, S3Backend):
        return backend.model_copy(
            update={
                "key": backend.key or f"eks-hardware/{strategy.name}.tfstate",
                "region": backend.region or strategy.region,
            }
        )
    workspace = backend.workspace or names.limited(strategy.name, limit=names.TERRAFORM_WORKSPACE)
    return backend.model_copy(update={"workspace": workspace})


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
        if used[setting] and _version(since["version"]) > _version(floor):
            floor, reason = since["version"], f"{setting} is known since then"
    return floor, reason


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _provider(strategy: Strategy) -> ResolvedProvider:
    why = Reasons()
    aws = strategy.aws
    floor, reason = provider_floor(strategy)
    below = facts.eks("provider_versions")["below"]
    version = f">= {floor}, < {below}"
    return ResolvedProvider(
        version=why.strategy("version", aws.version)
        if aws.version
        else why.rule("version", version, f"{floor}: {reason}"),
        profile=why.given(
            "profile", aws.profile, when=aws.profile is not None, otherwise="the environment's credentials"
        ),
        assume_role=why.given("assume_role", aws.assume_role, when=aws.assume_role is not None, otherwise="none"),
        account_id=why.given("account_id", aws.account_id, when=aws.account_id is not None, otherwise="any account"),
        default_tags=why.rule(
            "default_tags",
            MappingProxyType({"eks-hardware/strategy": strategy.name, **strategy.tags}),
            "the strategy's tags, and its name for cost allocation",
        ),
        permissions_boundary_arn=why.given(
            "permissions_boundary_arn",
            aws.permissions_boundary_arn,
            when=aws.permissions_boundary_arn is not None,
            otherwise="none",
        ),
        iam_path=why.given(
            "iam_path", aws.iam_path, when="iam_path" in aws.model_fields_set, otherwise="the root path"
        ),
        reasons=why.frozen(),
    )
