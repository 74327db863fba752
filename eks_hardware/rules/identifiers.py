"""Rules about names that belong to a different region, partition or account from the strategy's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from eks_hardware import facts, field_paths
from eks_hardware.resolve.vpc import nat_mode
from eks_hardware.rules.access import account_of, principals
from eks_hardware.rules.cluster import kms_keys
from eks_hardware.rules.registry import Breach, Context, error, node_path, warning

# Patterns as text, compiled on first use: few strategies have names to check.
_ARN = r"\barn:(aws[a-z-]*):([a-z0-9-]*):([a-z0-9-]*):([0-9]{12})?:[A-Za-z0-9+=,.@_:/*-]*"
_REGION_NAME = r"[a-z]{2,4}(?:-[a-z]+)+-[0-9]"
# The region is before the service in hosts of RDS and EKS, and after it in most others.
_HOST = (
    r"(?<![A-Za-z0-9-])((?:[A-Za-z0-9_-]+\.)*)(" + _REGION_NAME + r")"
    r"((?:\.[A-Za-z0-9_-]+)*\.(?:amazonaws\.com(?:\.cn)?|api\.aws|on\.aws|compute\.internal))(?![A-Za-z0-9-])"
)
_ENDPOINT_SERVICE = r"\b(?:cn\.)?com\.amazonaws\.(" + _REGION_NAME + r")\.[a-z0-9.-]+"
# us-west-2a, and us-west-2-lax-1a of a Local Zone
_ZONE_NAME = r"\b(" + _REGION_NAME + r")(?:-[a-z0-9]{2,5}-[0-9])?[a-f]\b"
# --region=us-west-2, and region: us-west-2 in the text of a configuration file
_REGION_SETTING = r"(?i:region[\"']?\s*[=: ]\s*[\"']?(" + _REGION_NAME + r")\b)"
# Names of values that are secret themselves, not the name or the key of a Kubernetes secret.
_SECRET = r"(?i)(\w*[_-])?(\w*password|passwd|client_?secret|api_?key|secret_?access_?key|auth_?token|bearer_?token)"
_ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"
_ZONE_ID = r"(?<![a-z0-9]-)\b([a-z]{3,5}[0-9]-)(?:[a-z]{3}[0-9]{1,2}-)?az[0-9]\b"


@error("RESERVATION_REGION")
def _reservation_region(context: Context) -> Iterator[Breach]:
    region, account = context.strategy.region, account_of(context.strategy)
    for group in context.strategy.node_groups:
        arn = group.reservation.resource_group_arn if group.reservation else None
        if not arn:
            continue
        _, _, _, given, owner, _ = arn.split(":", 5)
        path = node_path(group, "reservation.resource_group_arn")
        if given != region:
            yield path, f"the resource group must be in {region} like the nodes, got {given}; use a group in {region}"
        elif account and owner != account:
            yield (
                path,
                f"the resource group must be in the account {account} like the nodes, got {owner}; add the shared "
                "reservation to a group in your own account",
            )


@warning("IDENTIFIER_REGION")
def _region(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    for path, key, text in _texts(context):
        elsewhere = sorted(set(_elsewhere(context, key, text)))
        if elsewhere:
            named = " and ".join(f"{what} ({where})" if where != what else what for what, where in elsewhere[:2])
            yield (
                path,
                f"names {named}, but the strategy's region is {region}; use the counterpart in {region}, or ignore "
                "this if the name is intentional",
            )


@warning("IDENTIFIER_ACCOUNT")
def _account(context: Context) -> Iterator[Breach]:
    account = account_of(context.strategy)
    if account is None:
        return
    for path, arn in _arns(context):
        owner = arn.split(":")[4]
        if owner not in ("", "aws", account):
            yield (
                path,
                f"{arn} is in account {owner}, but the cluster is in {account}; correct the ARN, or ignore this if "
                f"{owner} lets {account} use it",
            )


@warning("IRSA_NO_PROVIDER")
def _web_identity(context: Context) -> Iterator[Breach]:
    for path, key, text in _texts(context):
        if key == _ROLE_ANNOTATION and text:
            yield (
                path,
                "the cluster has no OIDC provider, so STS refuses the pod's token; remove the annotation and use Pod "
                "Identity, or ignore this if you create the provider",
            )


@warning("VALUE_SECRET")
def _secret(context: Context) -> Iterator[Breach]:
    for path, key, text in _texts(context):
        if text and re.fullmatch(_SECRET, key.rpartition(".")[2]):
            yield (
                path,
                "this value is stored in plain text in Terraform's state; refer to a Kubernetes secret instead, as "
                "with existingSecret, or ignore this if the value is not secret",
            )


def _arns(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path and ARN of each key, each principal with cluster access, and each ARN in text that is passed on.

    ACCOUNT_MISMATCH and RESERVATION_REGION report the others.
    """
    yield from kms_keys(context)
    yield from principals(context)
    for path, _, text in _texts(context):
        yield from ((path, arn) for arn in dict.fromkeys(found[0] for found in re.finditer(_ARN, text)))


def _elsewhere(context: Context, key: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield each name in a text that belongs to another region or partition, with that region or partition."""
    catalogue, region = context.catalogue, context.strategy.region
    for found in re.finditer(_ARN, text):
        if found[1] != facts.partition(region):
            yield found[0], f"partition {found[1]}"
        elif found[3] and found[3] != region:
            yield found[0], found[3]
    for found in re.finditer(_HOST, text):
        # Pulling an image from the registry of another region works, but not without a way to the internet, and not
        # with the credentials of another partition.
        reached = (
            found[1].endswith("dkr.ecr.")
            and nat_mode(context.strategy.network) != "none"
            and facts.partition(found[2]) == facts.partition(region)
        )
        if found[2] != region and not reached:
            yield found[0], found[2]
    yield from _other_domains(region, text)
    for pattern in (_ZONE_NAME, _ENDPOINT_SERVICE, _REGION_SETTING):
        for found in re.finditer(pattern, text):
            if found[1] in catalogue.regions and found[1] != region:
                yield found[1] if pattern is _REGION_SETTING else found[0], found[1]
    for found in re.finditer(_ZONE_ID, text):
        # Zone IDs that the catalogue does not have also start with the region's prefix.
        of_zone = next((each for each in catalogue.regions if catalogue.zone_ids(each)[0].startswith(found[1])), region)
        if of_zone != region:
            yield found[0], of_zone
    if key.lower().replace("_", "").endswith("region") and text in catalogue.regions and text != region:
        yield text, text


@cache
def _domain_pattern() -> re.Pattern[str]:
    """Return a pattern for hosts in AWS's domains; longer domains come first."""
    by_partition = facts.account()["service_domains"]["by_partition"]
    domains = sorted({each for some in by_partition.values() for each in some}, key=len, reverse=True)
    return re.compile(
        rf"(?<![\w.*-])((?:[\w*-]*\.)*?)({'|'.join(map(re.escape, domains))})(?![\w-]|\.[A-Za-z]|/[\w.-]+=)"
    )


def _other_domains(region: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield hosts of another partition's domain; hosts with the region of another one are reported with that region.

    Labels and service principals are in amazonaws.com everywhere, so a host there must name a region.
    """
    by_partition = facts.account()["service_domains"]["by_partition"]
    own = by_partition[facts.partition(region)]
    for found in _domain_pattern().finditer(text):
        named = re.search(rf"\b{_REGION_NAME}\b", found[1])
        fits = (
            found[2] in by_partition[facts.partition(named[0])] if named else found[2] in (*own, *by_partition["aws"])
        )
        elsewhere = named and found[2] not in own and not re.search(_HOST, found[0])
        if found[1] and (elsewhere or not fits):
            yield found[0], f"partition {next(each for each, some in by_partition.items() if found[2] in some)}"


def _texts(context: Context) -> Iterator[tuple[str, str, str]]:
    """Yield path, key and value of every text that is passed on: settings of add-ons, charts, nodes; bucket names."""
    strategy = context.strategy
    for addon_name, addon in strategy.cluster.addons.items():
        yield from _leaves(field_paths.below("cluster.addons", addon_name, "configuration"), addon.configuration)
    for name, chart in strategy.kubernetes.charts.items():
        settings = {"repository": chart.repository, "values": chart.values}
        yield from _leaves(field_paths.below("kubernetes.charts", name), settings)
    for node in context.nodes:
        yield from _leaves(node_path(node, "user_data"), node.user_data)
    for bucket in strategy.storage.s3_buckets:
        # A directory bucket's name contains its zone ID; the names of other buckets often contain their region.
        path = field_paths.below(field_paths.item("storage.s3_buckets", bucket.name), "name")
        regions = [each for each in context.catalogue.regions if f"-{each}-" in f"-{bucket.name.replace('.', '-')}-"]
        yield (path, "region", regions[0]) if regions else (path, "name", bucket.name)


def _leaves(path: str, value: object, key: str = "") -> Iterator[tuple[str, str, str]]:
    if isinstance(value, Mapping):
        variable = value.get("name")  # an environment variable is a mapping of 'name' and 'value'
        for name, each in value.items():
            if any(re.fullmatch(pattern, str(name)) for pattern in (_ZONE_NAME, _ZONE_ID)):
                yield field_paths.below(path, str(name)), "zone", str(name)
            meant = variable if name == "value" and isinstance(variable, str) else str(name)
            yield from _leaves(field_paths.below(path, str(name)), each, meant)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for where, each in field_paths.items(path, value):
            yield from _leaves(where, each, key)
    elif isinstance(value, str):
        yield path, key, value
