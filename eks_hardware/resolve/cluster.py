"""Resolve ``cluster``: control plane, access entries and add-ons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eks_hardware import aws_names, facts
from eks_hardware.iam_policies import storage as policies
from eks_hardware.iam_policies.document import Statement
from eks_hardware.models import AddonSpec, ClusterSpec
from eks_hardware.resolve.access import ADMIN_POLICY
from eks_hardware.resolve.addons import (
    CUSTOM_NETWORKING,
    NETWORK_POLICY,
    PREFIXES,
    enabled_addons,
    vpc_cni_configuration,
)
from eks_hardware.resolve.derived import (
    Derived,
    Resolver,
    chosen,
    limited_name,
    optional,
    rule,
    stated,
    stated_field,
    stated_if,
)
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.model import ResolvedAccessEntry, ResolvedAddon, ResolvedCluster


def resolve_cluster(
    cluster: ClusterSpec,
    *,
    name: str,
    region: str,
    custom_networking: bool = False,
    needed_addons: Mapping[str, Sequence[Statement]] | None = None,
) -> ResolvedCluster:
    """Derive all values of the control plane.

    Args:
        needed_addons: add-ons that something outside ``cluster`` requires, such as a CSI driver, with the permissions
            that they need; an add-on without any gets its managed policies.
    """
    return _Cluster(cluster, name, region, custom_networking, needed_addons or {}).collect()


@dataclass(frozen=True)
class _Cluster(Resolver[ResolvedCluster]):
    kind = ResolvedCluster
    _spec: ClusterSpec
    _name: str
    _region: str
    _custom_networking: bool
    _needed_addons: Mapping[str, Sequence[Statement]]

    def name(self) -> Derived[str]:
        return stated(self._name)

    def region(self) -> Derived[str]:
        return stated(self._region)

    def partition(self) -> Derived[str]:
        return partition(self._region)

    def kubernetes_version(self) -> Derived[str]:
        row = facts.eks.cite(lambda file: file["versions"]["default"])
        return stated_field(self._spec, "kubernetes_version", row, "the toolkit's default, in standard support")

    def role_name(self) -> Derived[str]:
        return limited_name("cluster, region and purpose", self._name, self._region, "cluster", limit="iam_role")

    def public_cidrs(self) -> Derived[tuple[str, ...]]:
        cidrs = self._spec.endpoint.public_cidrs
        row = facts.choices.cite(lambda file: file["public_endpoint"]["cidrs"]).part(tuple)
        return chosen(bool(cidrs), cidrs, row, "no public endpoint unless the strategy lists networks")

    def access_entries(self) -> Derived[tuple[ResolvedAccessEntry, ...]]:
        entries = tuple(_access_entries(self._spec, self.partition().value))
        return rule(entries, "one per principal in admins and access_entries")

    def creator_is_admin(self) -> Derived[bool]:
        otherwise = "access comes from access entries, not from running Terraform"
        row = facts.choices.cite(lambda file: file["cluster_access"]["creator_is_admin"])
        return stated_field(self._spec, "creator_is_admin", row, otherwise)

    def log_types(self) -> Derived[tuple[str, ...]]:
        row = facts.choices.cite(lambda file: file["control_plane_logs"]["types"]).part(tuple)
        return stated_field(self._spec.logging, "types", row, "all types, as an audit trail")

    def log_group_name(self) -> Derived[str]:
        return rule(f"/aws/eks/{self._name}/cluster", "the log group that EKS writes to")

    def log_retention_days(self) -> Derived[int]:
        row = facts.choices.cite(lambda file: file["control_plane_logs"]["retention_days"])
        return stated_field(self._spec.logging, "retention_days", row, "the period that investigations usually cover")

    def log_group_kept(self) -> Derived[bool]:
        row = facts.choices.cite(lambda file: file["log_group"]["kept"])
        return stated_field(self._spec.logging, "keep_on_destroy", row, "deleted with the stack, which creates it")

    def secrets_encrypted(self) -> Derived[bool]:
        otherwise = "always on: enabling it later requires an update of every secret, and EKS cannot disable it"
        row = facts.choices.cite(lambda file: file["secrets_encryption"]["enabled"])
        return stated_field(self._spec.secrets_encryption, "enabled", row, otherwise)

    def kms_key_arn(self) -> Derived[str | None]:
        return optional(self._spec.secrets_encryption.kms_key_arn, "the stack creates its own key")

    def kms_alias(self) -> Derived[str]:
        most = aws_names.longest("kms_alias")
        name = aws_names.limited("eks", self._name, limit=most.value - len("alias/"))
        return rule(f"alias/{name}", "contains the cluster's name, so that the key is easy to find", most)

    def service_cidr(self) -> Derived[str | None]:
        return optional(self._spec.service_cidr, "EKS chooses the range")

    def deletion_protection(self) -> Derived[bool | None]:
        row = facts.eks.cite(lambda file: file["provider_versions"]["since"]["deletion_protection"]["version"])
        text = f"not set: requires AWS provider {row.value}"
        return optional(self._spec.deletion_protection, text, row)

    def support_type(self) -> Derived[str]:
        row = facts.service_prices.cite(lambda file: file["control_plane"]["every_region"])
        times = round(row.value["extended"] / row.value["standard"])
        text = f"STANDARD: extended support costs {times} times as much per hour"
        is_set = "upgrade_policy" in self._spec.model_fields_set
        choice = facts.choices.cite(lambda file: file["kubernetes_support"]["upgrade_policy"])
        return chosen(is_set, self._spec.upgrade_policy.upper(), choice.part(str.upper), text, row)

    def zonal_shift(self) -> Derived[bool]:
        row = facts.choices.cite(lambda file: file["zonal_shift"]["enabled"])
        return stated_field(self._spec, "zonal_shift", row, "off unless the strategy enables it")

    def control_plane_tier(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["control_plane_tier"]["tier"])
        return stated_field(self._spec, "control_plane_tier", row, "EKS scales the standard tier with the load")

    def custom_networking(self) -> Derived[bool]:
        text = "pods have their own subnets" if self._custom_networking else "pods share the nodes' subnets"
        return rule(self._custom_networking, text, CUSTOM_NETWORKING)

    def addons(self) -> Derived[tuple[ResolvedAddon, ...]]:
        addons = tuple(self._addon(name) for name in enabled_addons(self._spec, self._needed_addons))
        return rule(addons, "default add-ons, those in the strategy, and those that storage needs")

    def _addon(self, name: str) -> ResolvedAddon:
        given = {str(addon): settings for addon, settings in self._spec.addons.items()}
        return _Addon(
            name,
            given.get(name),
            statements=self._needed_addons.get(name, ()),
            cluster_name=self._name,
            region=self._region,
            custom_networking=self._custom_networking,
        ).collect()

    def discovery_tag(self) -> Derived[str]:
        return rule(self._name, "on the cluster security group, for Karpenter's selector")


def partition(region: str) -> Derived[str]:
    """Derive the AWS partition of a region."""
    page = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html"
    return rule(facts.partition(region), f"the partition of {region}", page)


def _access_entries(cluster: ClusterSpec, partition: str) -> Iterator[ResolvedAccessEntry]:
    def policy_arn(policy: str) -> str:
        return f"arn:{partition}:eks::aws:cluster-access-policy/{policy}"

    for principal in dict.fromkeys(cluster.admins):
        # Two accounts may have a role of the same name, and a user and a role may share a name.
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
            policies=tuple((policy_arn(policy.policy), policy.namespaces) for policy in entry.policies),
        )


class _Addon(Resolver[ResolvedAddon]):
    kind = ResolvedAddon

    def __init__(
        self,
        name: str,
        given: AddonSpec | None,
        *,
        statements: Sequence[Statement],
        cluster_name: str,
        region: str,
        custom_networking: bool,
    ) -> None:
        self._name = name
        self._cluster_name = cluster_name
        self._region = region
        self._custom_networking = custom_networking
        self._asked_for = given is not None
        self._given = given or AddonSpec()
        self._row = facts.addons_file.cite(lambda file: file["addons"][name])
        row = self._row.value
        # An add-on that the strategy names gets all of its permissions, such as creating file systems for claims.
        self._policies = row.get("policies", ()) if self._asked_for or not statements else ()
        self._statements = () if self._policies else tuple(statements)

    def _calls_aws(self) -> bool:
        return bool(self._policies or self._statements)

    def _identity(self) -> str:
        return "the add-on calls AWS with its own role" if self._calls_aws() else "the add-on needs no AWS permissions"

    def name(self) -> Derived[str]:
        return stated_if(self._asked_for, self._name, self._row.value["why"], self._row)

    def before_nodes(self) -> Derived[bool]:
        return rule(self._row.value["before_nodes"], self._row.value["why"], self._row)

    def before_charts(self) -> Derived[bool]:
        row = self._row.value
        text = row.get("before_charts_why", "charts' pods may need it")
        return rule(row["before_charts"], text, self._row)

    def version(self) -> Derived[str | None]:
        return optional(self._given.version, "EKS's default for the cluster's Kubernetes version")

    def configuration(self) -> Derived[Mapping[str, Any]]:
        if self._name == "vpc-cni":
            return self._configured(_vpc_cni(self._custom_networking))
        row = self._row.value
        if "configuration" in row and "configuration_why" in row:
            return self._configured(rule(row["configuration"], row["configuration_why"], self._row))
        given = self._given.configuration
        return stated_if(bool(given), given, "the add-on's own defaults", self._row)

    def _configured(self, derived: Derived[Mapping[str, Any]]) -> Derived[Mapping[str, Any]]:
        """Return the derived configuration, merged with the strategy's."""
        given, reason = self._given.configuration, derived.reason
        more = "; merged with the strategy's values" if given else ""
        return Derived(merged(derived.value, given), replace(reason, text=f"{reason.text}{more}"))

    def service_account(self) -> Derived[str | None]:
        account = self._row.value.get("service_account") if self._calls_aws() else None
        return rule(account, self._identity(), self._row)

    def namespace(self) -> Derived[str | None]:
        namespace = self._row.value.get("namespace") if self._calls_aws() else None
        return rule(namespace, self._identity(), self._row)

    def role_name(self) -> Derived[str | None]:
        if not self._calls_aws():
            return rule(None, self._identity(), self._row)
        parts = self._cluster_name, self._region, self._name
        return limited_name("cluster, region and add-on", *parts, limit="iam_role")

    def policy_arns(self) -> Derived[tuple[str, ...]]:
        partition = facts.partition(self._region)
        arns = tuple(f"arn:{partition}:iam::aws:policy/{policy}" for policy in self._policies)
        return rule(arns, self._identity(), self._row)

    def statements(self) -> Derived[tuple[Mapping[str, Any], ...]]:
        if self._statements:
            csi = facts.storage()["csi"]
            pages = {csi["fsx_lustre"]["addon"]: policies.PAGES["fsx_lustre"], csi["s3"]["addon"]: policies.PAGES["s3"]}
            return rule(self._statements, "permissions that the strategy's storage needs", pages[self._name])
        text = "the add-on's managed policies are sufficient" if self._policies else self._identity()
        return rule((), text, self._row)


def _vpc_cni(custom_networking: bool) -> Derived[Mapping[str, Any]]:
    text = "network policies are enforced, and prefixes instead of single addresses allow more pods per node"
    if not custom_networking:
        return rule(vpc_cni_configuration(custom_networking), text, NETWORK_POLICY, PREFIXES)
    text += "; pods have their own subnets"
    return rule(vpc_cni_configuration(custom_networking), text, NETWORK_POLICY, PREFIXES, CUSTOM_NETWORKING)
