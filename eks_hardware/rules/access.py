"""Rules about permissions: access entries and their policies, ARNs, accounts, and Terraform's own role."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eks_hardware import facts, field_paths
from eks_hardware.aws_names import STRATEGY_TAG
from eks_hardware.iam_policies.document import MANAGED_POLICY_SIZE, one_or_many, policy, statements
from eks_hardware.models import AccessEntry, S3BackendSpec, Strategy
from eks_hardware.printable import quoted
from eks_hardware.resolve.access import has_admin
from eks_hardware.resolve.node_role import node_policy_arns
from eks_hardware.rules.cluster import kms_keys
from eks_hardware.rules.registry import Breach, Context, error, node_path, warning
from eks_hardware.suggestions import did_you_mean, misspelt

_ROLE = re.compile(r"arn:[a-z-]+:iam::([0-9]{12}):role/.+")
# A namespace name; * matches any characters.
_NAMESPACE = re.compile(r"[a-z0-9*]([a-z0-9*-]{0,61}[a-z0-9*])?")
_SSO_PATH = "aws-reserved/sso.amazonaws.com/"


# --- access entries


@warning("CLUSTER_NO_ADMIN")
def _no_admin(context: Context) -> Iterator[Breach]:
    if not has_admin(context.strategy.cluster):
        yield (
            "cluster",
            "no principal has full access to the cluster; list IAM roles under cluster.admins, or set "
            "cluster.creator_is_admin: true",
        )


@error("ACCESS_ENTRY_DUPLICATE")
def _duplicate_principal(context: Context) -> Iterator[Breach]:
    cluster = context.strategy.cluster
    seen = {arn: path for path, arn in field_paths.items("cluster.admins", cluster.admins)}
    for entry in cluster.access_entries:
        path = _entry_path(entry, "principal_arn")
        if entry.principal_arn in seen:
            yield (
                path,
                f"{entry.principal_arn} already has an entry ({seen[entry.principal_arn]}); merge the two entries",
            )
        seen.setdefault(entry.principal_arn, path)


def principals(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path and ARN of every principal with an access entry."""
    cluster = context.strategy.cluster
    yield from field_paths.items("cluster.admins", cluster.admins)
    for entry in cluster.access_entries:
        yield _entry_path(entry, "principal_arn"), entry.principal_arn


def _entry_path(entry: AccessEntry, field: str) -> str:
    return field_paths.below(field_paths.item("cluster.access_entries", entry.name), field)


@error("ACCESS_ENTRY_PRINCIPAL")
def _refused_principal(context: Context) -> Iterator[Breach]:
    for path, arn in principals(context):
        principal = arn.split(":", 5)[5].removeprefix("role/")
        if principal.startswith("aws-service-role/"):
            yield path, f"{principal.rpartition('/')[2]} is a service-linked role, which only AWS can assume; remove it"
        elif principal.startswith("AWSReservedSSO_"):
            # aws-auth required the ARN without its path, and people still write it that way.
            yield (
                path,
                f"the ARN of an IAM Identity Center role must include its path, got role/{principal}; write "
                f"role/{_SSO_PATH}[<region>/]{principal}, as 'aws iam get-role' prints it",
            )


@error("ACCESS_ENTRY_CREATOR")
def _creator(context: Context) -> Iterator[Breach]:
    role = context.strategy.aws.assume_role
    if not role or not context.strategy.cluster.creator_is_admin:
        return
    for path, arn in principals(context):
        if arn == role.role_arn:
            yield (
                path,
                "EKS creates an entry for Terraform's role together with the cluster (creator_is_admin: true) and "
                "rejects a second one; remove this entry, or creator_is_admin",
            )


@warning("ACCESS_ENTRY_EMPTY")
def _no_permission(context: Context) -> Iterator[Breach]:
    for entry in context.strategy.cluster.access_entries:
        if not entry.policies and not entry.kubernetes_groups:
            yield (
                field_paths.item("cluster.access_entries", entry.name),
                "the entry grants no permissions, because it has neither policies nor kubernetes_groups; add a "
                "policy, for example policies: [{policy: AmazonEKSViewPolicy}]",
            )


@warning("ACCESS_NAMESPACE")
def _namespaces(context: Context) -> Iterator[Breach]:
    for entry in context.strategy.cluster.access_entries:
        for above, given in field_paths.items(_entry_path(entry, "policies"), entry.policies):
            for path, name in field_paths.items(f"{above}.namespaces", given.namespaces):
                if not _NAMESPACE.fullmatch(name):
                    yield (
                        path,
                        f"no namespace can be called {quoted(name)}, so the policy has no effect there; write "
                        "lowercase letters, digits and hyphens, or a pattern such as dev-*",
                    )


@error("ACCESS_POLICY_UNKNOWN")
def _unknown_policy(context: Context) -> Iterator[Breach]:
    known = facts.eks()["access_policies"]
    for entry in context.strategy.cluster.access_entries:
        for path, given in field_paths.items(_entry_path(entry, "policies"), entry.policies):
            if given.policy in known["service_linked"]:
                yield f"{path}.policy", f"only AWS service-linked roles can have {given.policy}; remove it"
            elif given.policy not in known["names"]:
                hint = did_you_mean(given.policy, known["names"], "see `aws eks list-access-policies`")
                yield f"{path}.policy", f"EKS has no access policy {quoted(given.policy)}; {hint}"


# --- ARNs and accounts


def _arns(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path and value of every ARN in the strategy, except those of the backend."""
    yield from principals(context)
    yield from _policy_arns(context)
    yield from kms_keys(context)
    if role := context.strategy.aws.assume_role:
        yield "aws.assume_role.role_arn", role.role_arn
    for group in context.strategy.node_groups:
        if group.reservation and group.reservation.resource_group_arn:
            yield node_path(group, "reservation.resource_group_arn"), group.reservation.resource_group_arn


def _policy_arns(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path and ARN of every IAM policy."""
    strategy = context.strategy
    if strategy.aws.permissions_boundary_arn:
        yield "aws.permissions_boundary_arn", strategy.aws.permissions_boundary_arn
    if strategy.karpenter:
        yield from field_paths.items("karpenter.node_policies", strategy.karpenter.node_policies)


@error("ARN_PARTITION")
def _partition(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    for path, arn in _arns(context):
        yield from _other_partition(path, arn, strategy.region)
    backend = strategy.backend
    if isinstance(backend, S3BackendSpec):
        for name, arn_of_backend in (("kms_key_arn", backend.kms_key_arn), ("role_arn", backend.role_arn)):
            if arn_of_backend:
                yield from _other_partition(f"backend.{name}", arn_of_backend, backend.region or strategy.region)


def _other_partition(path: str, arn: str, region: str) -> Iterator[Breach]:
    given, expected = arn.split(":")[1], facts.partition(region)
    if given != expected:
        yield (
            path,
            f"the ARN must be in {expected}, the partition of {region}, got arn:{given}:; write arn:{expected}:",
        )


@error("ROLE_ARN")
def _not_a_role(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    given = {"aws.assume_role.role_arn": strategy.aws.assume_role.role_arn if strategy.aws.assume_role else None}
    if isinstance(strategy.backend, S3BackendSpec):
        given["backend.role_arn"] = strategy.backend.role_arn
    for path, arn in given.items():
        if arn and not _ROLE.fullmatch(arn):
            session = ":assumed-role/" in arn
            fix = "use the ARN of the session's role" if session else "Terraform can only assume roles"
            yield path, f"must be the ARN of an IAM role (arn:aws:iam::<account>:role/<name>), got {arn}; {fix}"
        elif arn and "*" in arn:
            yield path, f"must be the ARN of one role, got {arn}; write the role's full name"
        elif arn and f":role/{_SSO_PATH}" in arn:
            yield (
                path,
                f"must be a role that Terraform can assume, got {arn}, which only a user of IAM Identity Center can "
                "assume; sign in with it and set aws.profile, or use your own role",
            )
        elif arn and ":role/aws-service-role/" in arn:
            yield (
                path,
                f"must be a role that Terraform can assume, got {arn}, which only AWS can assume; use your own role",
            )


def account_of(strategy: Strategy) -> str | None:
    """Return the cluster's account ID: ``aws.account_id``, or the assumed role's account; None if neither is set."""
    return strategy.aws.account_id or _account_of_role(strategy)


def _account_of_role(strategy: Strategy) -> str | None:
    role = _ROLE.fullmatch(strategy.aws.assume_role.role_arn) if strategy.aws.assume_role else None
    return role[1] if role else None


@error("ACCOUNT_MISMATCH")
def _account(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    account, of_role = account_of(strategy), _account_of_role(strategy)
    if account is None:
        return
    if of_role and of_role != account:
        yield (
            "aws.assume_role.role_arn",
            f"the role is in account {of_role}, but aws.account_id is {account}, so Terraform refuses to run; change "
            "one of them",
        )
    for path, arn in _policy_arns(context):
        owner = arn.split(":")[4]
        if owner not in ("aws", account):
            yield (
                path,
                f"a policy for roles in account {account} must be in that account or managed by AWS, got one in "
                f"{owner}; copy it to {account}",
            )


def _managed(context: Context) -> Iterator[tuple[str, str, str | None]]:
    """For each unlisted AWS policy, yield its field, its path and name, and the correct ones (None: unknown)."""
    for path, arn in _policy_arns(context):
        if arn.split(":")[4] != "aws":
            continue
        known = facts.managed_policies()["managed"]["by_path"]
        policy_name = arn.split(":", 5)[5].removeprefix("policy/")
        above, _, last = f"/{policy_name}".rpartition("/")
        if last not in known.get(f"{above}/", ()):
            full = sorted(f"{folder}{name}".removeprefix("/") for folder, names in known.items() for name in names)
            by_name = {each.rpartition("/")[2]: each for each in full}
            meant = by_name.get(last) or by_name.get(misspelt(last, by_name) or "")
            yield path, policy_name, meant


@error("MANAGED_POLICY_UNKNOWN")
def _unknown_managed(context: Context) -> Iterator[Breach]:
    for path, given, meant in _managed(context):
        if meant:
            yield (
                path,
                f"AWS has no managed policy {quoted(given)}, so IAM refuses to attach it; write "
                f"arn:{facts.partition(context.strategy.region)}:iam::aws:policy/{meant}",
            )


@warning("MANAGED_POLICY_UNREAD")
def _unread_managed(context: Context) -> Iterator[Breach]:
    for path, given, meant in _managed(context):
        if not meant:
            day = facts.managed_policies()["managed"]["as_of"]
            yield (
                path,
                f"the recorded list of AWS managed policies ({day}) has no {quoted(given)}; check the ARN with `aws "
                "iam get-policy`",
            )


@warning("ROLE_POLICIES")
def _role_policies(context: Context) -> Iterator[Breach]:
    karpenter = context.strategy.karpenter
    if karpenter is None:
        return
    own = node_policy_arns(facts.partition(context.strategy.region))
    count, most = len({*own, *karpenter.node_policies}), facts.account()["role_policies"]["most"]
    if count > most:
        yield (
            "karpenter.node_policies",
            f"the role of Karpenter's nodes must have at most {most} managed policies (IAM's default quota), got "
            f"{count}, including {len(own)} from eks-hardware; combine yours, or ignore this if your quota is "
            "higher",
        )


@error("POLICY_SIZE")
def _policy_size(context: Context) -> Iterator[Breach]:
    keys = list(dict.fromkeys(pool.disk.kms_key_arn for pool in context.pools if pool.disk.kms_key_arn))
    if not keys:
        return
    recorded = facts.iam_policies()["karpenter"]["policies"]["volume-keys"]
    size = len(policy(*statements(recorded, volume_keys=one_or_many(keys), ec2="ec2.amazonaws.com.cn")))
    if size > MANAGED_POLICY_SIZE:
        yield (
            "karpenter.node_pools",
            f"the policy for the pools' {len(keys)} volume keys must have at most {MANAGED_POLICY_SIZE} "
            f"characters, got {size}; let pools share keys",
        )


@error("IAM_PATH_RESERVED")
def _reserved_path(context: Context) -> Iterator[Breach]:
    if context.strategy.aws.iam_path.startswith("/aws-service-role/"):
        yield (
            "aws.iam_path",
            "must not start with '/aws-service-role/', which IAM accepts only for service-linked roles; write "
            "/eks/, for example",
        )


@error("TAG_CASE")
def _tag_case(context: Context) -> Iterator[Breach]:
    first = {STRATEGY_TAG: STRATEGY_TAG}
    for key in context.strategy.tags:
        other = first.setdefault(key.lower(), key)
        if other != key:
            yield (
                field_paths.below("tags", key),
                f"IAM does not distinguish upper and lower case, so {quoted(key)} must differ from {quoted(other)} in "
                "more than case; remove one",
            )
    yield from _tags_of_profiles(context, set(first.values()))


def _tags_of_profiles(context: Context, common: set[str]) -> Iterator[Breach]:
    """Yield keys that clash in the tags of the instance profile that Karpenter creates for each pool.

    Source: https://github.com/aws/karpenter-provider-aws/blob/main/pkg/apis/v1/ec2nodeclass.go (InstanceProfileTags)
    """
    pools = () if context.strategy.network.private else context.pools
    given = [("tags", key) for key in common if pools and key.lower() == "name"]
    given += [(node_path(pool, "tags"), key) for pool in pools for key in pool.tags]
    known = {**{key.lower(): key for key in common}, "name": "Name"}
    for path, key in given:
        other = known.get(key.lower(), key)
        if other != key:
            yield (
                field_paths.below(path, key),
                f"Karpenter's instance profiles also have the tag {quoted(other)}, and IAM does not distinguish upper "
                f"and lower case; write {quoted(other)}, or choose another key",
            )


@error("TAG_STRATEGY")
def _tag_of_the_strategy(context: Context) -> Iterator[Breach]:
    groups = [(node_path(each, "tags"), each.tags) for each in context.nodes]
    for path, tags in (("tags", context.strategy.tags), *groups):
        if STRATEGY_TAG in tags:
            yield (
                field_paths.below(path, STRATEGY_TAG),
                "the stack sets this tag to the strategy's name, by which `doctor` and `orphans` find its resources; "
                "choose another key",
            )


@warning("TAG_DISCOVERY")
def _tag_discovery(context: Context) -> Iterator[Breach]:
    # POOL_TAG_RESTRICTED reports these.
    restricted = tuple(facts.karpenter()["tags"]["restricted_prefixes"]) if context.pools else ()
    for key in context.strategy.tags:
        for found in () if key.startswith(restricted) else facts.account()["discovery_tags"]["keys"]:
            if key == found["key"] or (found["key"].endswith("/") and key.startswith(found["key"])):
                yield (
                    field_paths.below("tags", key),
                    f"every resource of the stack gets this tag, so {found['effect']}; remove this line, because the "
                    "stack and EKS set the tag where it belongs",
                )
