"""Resolve ``cluster``: control plane, access entries and add-ons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_hardware import aws_names, facts
from eks_hardware.iam_policies.document import Statement
from eks_hardware.models import AddonSpec, ClusterSpec
from eks_hardware.resolve.mappings import frozen, merged
from eks_hardware.resolve.model import Reasons, ResolvedAccessEntry, ResolvedAddon, ResolvedCluster

ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"

_NETWORK_POLICY = "https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy.html"
_PREFIXES = "https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html"
_CUSTOM_NETWORKING = "https://docs.aws.amazon.com/eks/latest/userguide/cni-custom-network.html"


def has_admin(cluster: ClusterSpec) -> bool:
    """Whether somebody may change everything on the cluster."""
    by_entry = (each for entry in cluster.access_entries for each in entry.policies)
    return bool(
        cluster.admins
        or cluster.creator_is_admin
        or any(each.policy == ADMIN_POLICY and not each.namespaces for each in by_entry)
    )


def resolve_cluster(
    cluster: ClusterSpec,
    *,
    name: str,
    region: str,
    custom_networking: bool = False,
    needed_addons: Mapping[str, Sequence[Statement]] | None = None,
) -> ResolvedCluster:
    """Derive everything about the control plane of the cluster ``name``.

    Args:
        needed_addons: add-ons that are on because of something outside ``cluster``, such as a CSI driver, with the
            permissions that this something needs; none stands for the managed policies of the add-on.
    """
    why = Reasons()
    given = cluster.model_fields_set
    partition = facts.partition(region)
    encryption = cluster.secrets_encryption
    logging = cluster.logging
    return ResolvedCluster(
        name=why.strategy("name", name),
        region=why.strategy("region", region),
        partition=why.rule(
            "partition",
            partition,
            f"{region} belongs to it",
            source="https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html",
        ),
        kubernetes_version=why.given(
            "kubernetes_version",
            cluster.kubernetes_version,
            when="kubernetes_version" in given,
            otherwise="the toolkit's default, in standard support",
            source="facts/eks.json versions",
        ),
        role_name=why.rule(
            "role_name",
            aws_names.limited(name, region, "cluster", limit=aws_names.IAM_ROLE),
            "cluster, region and purpose, at most 64 characters",
        ),
        public_cidrs=why.given(
            "public_cidrs",
            cluster.endpoint.public_cidrs,
            when=bool(cluster.endpoint.public_cidrs),
            otherwise="no public endpoint unless networks are stated",
        ),
        access_entries=why.rule(
            "access_entries",
            tuple(_access_entries(cluster, partition)),
            "one a principal of admins and access_entries",
        ),
        creator_is_admin=why.given(
            "creator_is_admin",
            cluster.creator_is_admin,
            when="creator_is_admin" in given,
            otherwise="access is given by access entries, not by who runs Terraform",
        ),
        log_types=why.given(
            "log_types",
            logging.types,
            when="types" in logging.model_fields_set,
            otherwise="all: an audit trail",
        ),
        log_group_name=why.rule("log_group_name", f"/aws/eks/{name}/cluster", "the group that EKS writes to"),
        log_retention_days=why.given(
            "log_retention_days",
            logging.retention_days,
            when="retention_days" in logging.model_fields_set,
            otherwise="a year: what an investigation looks back on",
        ),
        log_group_kept=why.given(
            "log_group_kept",
            logging.keep_on_destroy,
            when="keep_on_destroy" in logging.model_fields_set,
            otherwise="the stack owns it",
        ),
        secrets_encrypted=why.given(
            "secrets_encrypted",
            encryption.enabled,
            when="enabled" in encryption.model_fields_set,
            otherwise="always: it cannot be added without touching every secret, nor removed",
        ),
        kms_key_arn=why.given(
            "kms_key_arn",
            encryption.kms_key_arn,
            when=encryption.kms_key_arn is not None,
            otherwise="a key of its own",
        ),
        kms_alias=why.rule(
            "kms_alias",
            "alias/" + aws_names.limited("eks", name, limit=aws_names.KMS_ALIAS - len("alias/")),
            "found by the cluster's name",
        ),
        service_cidr=why.given(
            "service_cidr",
            cluster.service_cidr,
            when=cluster.service_cidr is not None,
            otherwise="chosen by EKS",
        ),
        deletion_protection=why.given(
            "deletion_protection",
            cluster.deletion_protection,
            when=cluster.deletion_protection is not None,
            otherwise="left alone: not every provider of the version range knows it",
            source="facts/eks.json provider_versions",
        ),
        support_type=why.given(
            "support_type",
            cluster.upgrade_policy.upper(),
            when="upgrade_policy" in given,
            otherwise="STANDARD: extended support costs about six times as much an hour",
            source="facts/prices.json row control_plane",
        ),
        zonal_shift=why.given(
            "zonal_shift", cluster.zonal_shift, when="zonal_shift" in given, otherwise="off unless it is asked for"
        ),
        control_plane_tier=why.given(
            "control_plane_tier",
            cluster.control_plane_tier,
            when="control_plane_tier" in given,
            otherwise="standard: EKS scales it by load",
        ),
        custom_networking=why.rule(
            "custom_networking",
            custom_networking,
            "pods have subnets of their own" if custom_networking else "pods share the nodes' subnets",
            source=_CUSTOM_NETWORKING,
        ),
        addons=why.rule(
            "addons",
            tuple(
                _addons(
                    cluster,
                    name=name,
                    region=region,
                    partition=partition,
                    custom_networking=custom_networking,
                    needed=needed_addons or {},
                )
            ),
            "the add-ons that are on by default, those asked for, and those that storage needs",
        ),
        discovery_tag=why.rule("discovery_tag", name, "on the cluster security group, for Karpenter's selector"),
        reasons=why.frozen(),
    )


def _access_entries(cluster: ClusterSpec, partition: str) -> Iterator[ResolvedAccessEntry]:
    def policy_arn(policy: str) -> str:
        return f"arn:{partition}:eks::aws:cluster-access-policy/{policy}"

    for principal in dict.fromkeys(cluster.admins):
        # Two accounts may have a role of one name, and a user may be called as a role is.
        name = re.sub(r"[^A-Za-z0-9-]", "-", principal.rpartition("/")[2])
        yield ResolvedAccessEntry(
            key=aws_names.told_apart(f"admin-{name}", principal),
            principal_arn=principal,
            kubernetes_groups=(),
            policies=((policy_arn(ADMIN_POLICY), ()),),
        )
    for entry in cluster.access_entries:
        yield ResolvedAccessEntry(
            key=entry.name,
            principal_arn=entry.principal_arn,
            kubernetes_groups=entry.kubernetes_groups,
            policies=tuple((policy_arn(each.policy), each.namespaces) for each in entry.policies),
        )


def enabled_addons(cluster: ClusterSpec, needed: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of the add-ons that are on: by default, because something needs them, or as the strategy says."""
    given = {str(name): addon for name, addon in cluster.addons.items()}
    return tuple(
        name
        for name, fact in facts.addons().items()
        if (given[name].enabled if name in given else fact["default"] or name in set(needed))
    )


@dataclass(frozen=True)
class _Derived:
    """Configuration values of an add-on, why they are what they are, and where that stands."""

    values: Mapping[str, Any]
    why: str
    source: str


def _addons(
    cluster: ClusterSpec,
    *,
    name: str,
    region: str,
    partition: str,
    custom_networking: bool,
    needed: Mapping[str, Sequence[Statement]],
) -> Iterator[ResolvedAddon]:
    by_name = {str(each): addon for each, addon in cluster.addons.items()}
    for addon_name in enabled_addons(cluster, needed):
        given = by_name.get(addon_name)
        fact = facts.addons()[addon_name]
        yield _addon(
            addon_name,
            fact,
            given or AddonSpec(),
            role_name=aws_names.limited(name, region, addon_name, limit=aws_names.IAM_ROLE),
            partition=partition,
            derived=_derived_configuration(addon_name, fact, custom_networking=custom_networking),
            asked_for=given is not None,
            statements=needed.get(addon_name, ()),
        )


def _addon(
    name: str,
    fact: Mapping[str, Any],
    given: AddonSpec,
    *,
    role_name: str,
    partition: str,
    derived: _Derived,
    asked_for: bool,
    statements: Sequence[Statement],
) -> ResolvedAddon:
    why = Reasons()
    # Who names an add-on wants all that it can do, such as making file systems for claims.
    policies = fact.get("policies", ()) if asked_for or not statements else ()
    own = () if policies else tuple(frozen(each) for each in statements)
    account = fact.get("service_account") if policies or own else None
    row = f"facts/addons.json row {name}"
    source = fact.get("source", row) if account else row
    identity = "its pods call AWS under a role of their own" if account else "needs no AWS permission"
    return ResolvedAddon(
        name=why.given("name", name, when=asked_for, otherwise=fact["why"], source=row),
        before_nodes=why.rule("before_nodes", fact["before_nodes"], fact["why"], source=row),
        before_charts=why.rule(
            "before_charts",
            fact.get("before_charts", True),
            fact.get("before_charts_why", "pods of charts may use it"),
            source=row,
        ),
        version=why.given(
            "version",
            given.version,
            when=given.version is not None,
            otherwise="EKS's default for the cluster's Kubernetes version",
        ),
        configuration=_configuration(derived, given, why),
        service_account=why.rule("service_account", account, identity, source=source),
        namespace=why.rule("namespace", fact["namespace"] if account else None, identity, source=source),
        role_name=why.rule(
            "role_name",
            role_name if account else None,
            "cluster, region and add-on, at most 64 characters" if account else identity,
            source=source,
        ),
        policy_arns=why.rule(
            "policy_arns",
            tuple(f"arn:{partition}:iam::aws:policy/{policy}" for policy in policies),
            identity,
            source=source,
        ),
        statements=why.rule(
            "statements",
            own,
            "what the strategy's storage needs" if own else ("managed policies say it all" if account else identity),
            source=source,
        ),
        reasons=why.frozen(),
    )


def _configuration(derived: _Derived, given: AddonSpec, why: Reasons) -> Mapping[str, Any]:
    field = "configuration"
    values = frozen(merged(derived.values, given.configuration))
    if not derived.values:
        return why.given(field, values, when=bool(given.configuration), otherwise=derived.why, source=derived.source)
    text = f"{derived.why}; the strategy's values over them" if given.configuration else derived.why
    return why.rule(field, values, text, source=derived.source)


def _derived_configuration(name: str, fact: Mapping[str, Any], *, custom_networking: bool) -> _Derived:
    if name == "vpc-cni":
        text = "network policies are enforced, and prefixes in place of single addresses give room for more pods"
        source = f"{_NETWORK_POLICY}; {_PREFIXES}"
        if custom_networking:
            text += "; pods are in subnets of their own"
            source += f"; {_CUSTOM_NETWORKING}"
        return _Derived(vpc_cni_configuration(custom_networking), text, source)
    row = f"facts/addons.json row {name}"
    if "configuration" not in fact:
        return _Derived({}, "the add-on's own defaults", row)
    return _Derived(fact["configuration"], fact["configuration_why"], f"{row}, {fact['source']}")


def vpc_cni_configuration(custom_networking: bool) -> dict[str, Any]:
    """Network policy and prefix delegation; with pod subnets also custom networking.

    Sources: ``_NETWORK_POLICY``, ``_PREFIXES``, ``_CUSTOM_NETWORKING``.
    """
    environment = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    if custom_networking:
        environment |= {
            "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
            "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
        }
    return {"enableNetworkPolicy": "true", "env": environment}
