"""Rules about the control plane, the network and the provider."""

from __future__ import annotations

import datetime
import difflib
import ipaddress
import re
from collections.abc import Iterator

from eks_hardware.config import facts
from eks_hardware.config.errors import Severity
from eks_hardware.config.resolve import cidrs, provider_floor
from eks_hardware.config.resolve.zones import control_plane_excluded
from eks_hardware.config.rules.registry import Breach, Context, node_path, rule, zones_given

_NETWORK = "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html"
_VERSIONS = "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html"
_ENDING_SOON = datetime.timedelta(days=90)


@rule("REGION_UNKNOWN", "the catalogue does not know the region", "config/catalogue (offerings)")
def _region(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    if not context.region_known:
        close = difflib.get_close_matches(region, context.catalogue.regions, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else f"known are {', '.join(context.catalogue.regions)}"
        yield "region", f"the hardware of {region!r} is not known; {hint}"


@rule("KUBERNETES_VERSION_UNSUPPORTED", "EKS does not support the Kubernetes version", _VERSIONS)
def _version(context: Context) -> Iterator[Breach]:
    supported = facts.eks("versions")["supported"]
    version = context.strategy.cluster.kubernetes_version
    end = supported.get(version, {}).get("extended_until")
    if version not in supported:
        yield (
            "cluster.kubernetes_version",
            f"{version} is not supported by EKS; use one of {', '.join(supported)}",
        )
    elif end and context.today > datetime.date.fromisoformat(end):
        newer = ", ".join(each for each in supported if each > version)
        yield "cluster.kubernetes_version", f"support of {version} ended on {end}; use one of {newer}"


@rule(
    "KUBERNETES_VERSION_ENDING",
    "standard support of the Kubernetes version has ended or ends within 90 days",
    _VERSIONS,
    severity=Severity.WARNING,
)
def _version_ending(context: Context) -> Iterator[Breach]:
    version = context.strategy.cluster.kubernetes_version
    dates = facts.eks("versions")["supported"].get(version)
    if not dates:
        return
    end = datetime.date.fromisoformat(dates["standard_until"])
    if end - _ENDING_SOON <= context.today and context.today <= datetime.date.fromisoformat(
        dates["extended_until"] or "9999-12-31"
    ):
        follows = (
            "the control plane is then upgraded by EKS"
            if context.strategy.cluster.upgrade_policy == "standard"
            else "extended support costs about six times as much an hour"
        )
        verb = "ended" if end < context.today else "ends"
        default = facts.eks("versions")["default"]
        yield (
            "cluster.kubernetes_version",
            f"standard support of {version} {verb} on {end}; {follows}; {default} is supported longer",
        )


@rule(
    "CLUSTER_NO_ADMIN",
    "nobody may administer the cluster",
    "https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html",
    severity=Severity.WARNING,
)
def _no_admin(context: Context) -> Iterator[Breach]:
    cluster = context.strategy.cluster
    if not cluster.admins and not cluster.access_entries and not cluster.creator_is_admin:
        yield (
            "cluster",
            "nobody gets access to the Kubernetes API; list IAM roles under cluster.admins, or set "
            "cluster.creator_is_admin: true",
        )


@rule(
    "ACCESS_ENTRY_DUPLICATE",
    "a principal has two access entries",
    "https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html",
)
def _duplicate_principal(context: Context) -> Iterator[Breach]:
    cluster = context.strategy.cluster
    seen = {arn: f"cluster.admins[{index}]" for index, arn in enumerate(cluster.admins)}
    for entry in cluster.access_entries:
        path = f"cluster.access_entries[{entry.name}].principal_arn"
        if entry.principal_arn in seen:
            yield (
                path,
                f"{entry.principal_arn} has an entry already ({seen[entry.principal_arn]}); merge the two",
            )
        seen.setdefault(entry.principal_arn, path)


@rule(
    "ADDON_REQUIRED",
    "an add-on is off that nodes or other add-ons need",
    "https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html",
)
def _required_addon(context: Context) -> Iterator[Breach]:
    for name, addon in context.strategy.cluster.addons.items():
        fact = facts.addons()[name]
        if not addon.enabled and fact["before_nodes"]:
            yield f"cluster.addons.{name}.enabled", f"{name} cannot be off: {fact['why']}; remove the line"


@rule(
    "PROVIDER_VERSION_TOO_LOW",
    "the provider range allows versions that lack a setting",
    "https://github.com/hashicorp/terraform-provider-aws/blob/main/CHANGELOG.md",
)
def _provider_version(context: Context) -> Iterator[Breach]:
    wanted = context.strategy.aws.version
    if wanted is None:
        return
    floor, reason = provider_floor(context.strategy)
    # Upper bounds and exclusions (!=) do not raise the lower end.
    stated = re.findall(r"(?:^|,)\s*(?:>=|>|~>|=)?\s*(\d+(?:\.\d+){0,2})\s*(?=,|$)", wanted)
    lowest = max((_numbers(text) for text in stated), default=(0, 0, 0))
    if lowest < _numbers(floor):
        yield (
            "aws.version",
            f"{wanted!r} allows versions before {floor} ({reason}); write '>= {floor}, < 7.0.0'",
        )


def _numbers(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


@rule("ZONE_UNKNOWN", "a zone id is not one of the region", "config/catalogue (offerings)")
def _unknown_zone(context: Context) -> Iterator[Breach]:
    if not context.region_known:
        return
    region = context.strategy.region
    known = context.catalogue.zone_ids(region)
    for path, zone in _stated_zones(context):
        if zone not in known:
            yield path, f"{zone} is not a zone of {region}; its zones are {', '.join(known)}"


def _stated_zones(context: Context) -> Iterator[tuple[str, str]]:
    network = context.strategy.network
    if not isinstance(network.zones, int):
        for index, zone in enumerate(network.zones):
            yield f"network.zones[{index}]", zone
    if network.existing:
        for field in ("private_subnets", "control_plane_subnets", "pod_subnets"):
            for zone in getattr(network.existing, field):
                yield f"network.existing.{field}.{zone}", zone
    for node in context.nodes:
        yield from zones_given(node)


@rule(
    "ZONE_NOT_IN_NETWORK",
    "a zone of a group or pool has no subnet",
    "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html",
)
def _zone_without_subnet(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing is None and isinstance(network.zones, int):
        return
    have = set(network.existing.private_subnets) if network.existing else set(context.zone_choice().base)
    field = "network.existing.private_subnets" if network.existing else "network.zones"
    for node in context.nodes:
        for path, zone in zones_given(node):
            if zone not in have:
                yield path, f"{zone} has no subnet; add it to {field}"


@rule("ZONE_TOO_FEW", "the region has fewer zones than the network asks for", "config/catalogue (offerings)")
def _too_few_zones(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    # The default of 3 is met with what the region has.
    asked = network.zones if "zones" in network.model_fields_set else None
    if context.region_known and isinstance(asked, int) and len(context.zone_choice().base) < asked:
        base = context.zone_choice().base
        yield (
            "network.zones",
            f"{context.strategy.region} has {len(base)} zones that EKS allows ({', '.join(base)}), not {asked}",
        )


@rule(
    "POD_SUBNET_MISSING",
    "a zone with nodes has no subnet for pods",
    "https://docs.aws.amazon.com/eks/latest/userguide/cni-custom-network-tutorial.html",
)
def _pod_subnets(context: Context) -> Iterator[Breach]:
    existing = context.strategy.network.existing
    if existing is None or not existing.pod_subnets:
        return
    for zone in existing.private_subnets:
        if zone not in existing.pod_subnets:
            yield (
                "network.existing.pod_subnets",
                f"{zone} has a subnet for nodes and none for pods, so that pods there get no address; add one",
            )


@rule("CONTROL_PLANE_ZONES", "the control plane needs subnets in two zones that EKS allows", _NETWORK)
def _control_plane_zones(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing:
        given = network.existing.control_plane_subnets or network.existing.private_subnets
        path = "network.existing"
        zone_ids = set(given)
        for zone in sorted(set(network.existing.control_plane_subnets) & control_plane_excluded()):
            yield (
                f"{path}.control_plane_subnets.{zone}",
                f"EKS has no control plane in {zone}; use another zone",
            )
    elif isinstance(network.zones, int):
        return
    else:
        path, zone_ids = "network.zones", set(network.zones)
    usable = zone_ids - control_plane_excluded()
    if len(usable) < 2:
        yield (
            path,
            "EKS needs two zones for the control plane, and may not use "
            f"{', '.join(sorted(control_plane_excluded()))}; "
            f"there {'is' if len(usable) == 1 else 'are'} {len(usable)}",
        )


@rule(
    "NETWORK_CIDR_SIZE",
    "the VPC network is too large or too small",
    "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html",
)
def _cidr_size(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing:
        return
    prefix = ipaddress.IPv4Network(network.cidr).prefixlen
    if not cidrs.LARGEST_VPC_PREFIX <= prefix <= cidrs.SMALLEST_VPC_PREFIX:
        yield (
            "network.cidr",
            f"{network.cidr} is a /{prefix}; AWS allows at most a /{cidrs.LARGEST_VPC_PREFIX}, and eight zones' "
            f"subnets need at least a /{cidrs.SMALLEST_VPC_PREFIX}",
        )


@rule(
    "NETWORK_POD_CIDR",
    "the pod network is outside 100.64.0.0/10, of the wrong size, or overlaps the VPC's",
    "https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html",
)
def _pod_cidr(context: Context) -> Iterator[Breach]:
    pod_cidr = context.strategy.network.pod_cidr
    if pod_cidr is None:
        return
    given = ipaddress.IPv4Network(pod_cidr)
    if not given.subnet_of(cidrs.POD_RANGE):
        yield "network.pod_cidr", f"{pod_cidr} is outside {cidrs.POD_RANGE}; use for example 100.64.0.0/16"
    elif not cidrs.LARGEST_VPC_PREFIX <= given.prefixlen <= cidrs.SMALLEST_POD_PREFIX:
        yield (
            "network.pod_cidr",
            f"{pod_cidr} is a /{given.prefixlen}; it has to be between /{cidrs.LARGEST_VPC_PREFIX} and "
            f"/{cidrs.SMALLEST_POD_PREFIX}",
        )
    elif given.overlaps(ipaddress.IPv4Network(context.strategy.network.cidr)):
        yield "network.pod_cidr", f"{pod_cidr} overlaps network.cidr {context.strategy.network.cidr}; choose another"


_SERVICE_RANGES = tuple(ipaddress.IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


@rule(
    "SERVICE_CIDR",
    "the service network is not allowed or overlaps another",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html",
)
def _service_cidr(context: Context) -> Iterator[Breach]:
    given = context.strategy.cluster.service_cidr
    if given is None:
        return
    service = ipaddress.IPv4Network(given)
    if not 12 <= service.prefixlen <= 24 or not any(service.subnet_of(each) for each in _SERVICE_RANGES):
        yield (
            "cluster.service_cidr",
            f"{given} has to be between /12 and /24 and inside {', '.join(map(str, _SERVICE_RANGES))}",
        )
    network = context.strategy.network
    for field in ("cidr", "pod_cidr"):
        other = None if network.existing else getattr(network, field)
        if other is not None and service.overlaps(ipaddress.IPv4Network(other)):
            yield "cluster.service_cidr", f"{given} overlaps network.{field} {other}; choose another"


@rule(
    "NETWORK_PRIVATE",
    "a private network has a way to the internet",
    "https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html",
)
def _private(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    if strategy.network.private and strategy.network.nat_gateways not in (None, "none"):
        yield (
            "network.nat_gateways",
            "a private network has no NAT gateways; remove this line, or set private: false",
        )
    if strategy.network.private and strategy.cluster.endpoint.public_cidrs:
        yield (
            "cluster.endpoint.public_cidrs",
            "a private network keeps the API private too; remove these, or set network.private: false",
        )


@rule(
    "NETWORK_NO_WAY_OUT",
    "nodes can reach neither the internet nor the endpoints they need",
    "https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html",
)
def _no_way_out(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing or network.interface_endpoints is None:
        return
    nat = network.nat_gateways or ("none" if network.private else "single")
    needed = {"ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts"}
    missing = sorted(needed - set(network.interface_endpoints))
    if nat == "none" and missing:
        yield (
            "network.interface_endpoints",
            f"without a NAT gateway nodes also need {', '.join(missing)}; add them, or leave the field out for all",
        )


@rule(
    "ENDPOINT_OPEN",
    "the Kubernetes API is open to the whole internet",
    "https://docs.aws.amazon.com/eks/latest/best-practices/control-plane.html",
    severity=Severity.WARNING,
)
def _open_endpoint(context: Context) -> Iterator[Breach]:
    for index, cidr in enumerate(context.strategy.cluster.endpoint.public_cidrs):
        if ipaddress.IPv4Network(cidr).prefixlen == 0:
            yield (
                f"cluster.endpoint.public_cidrs[{index}]",
                "the Kubernetes API is open to the whole internet; name your own networks",
            )


@rule(
    "KMS_KEY_REGION",
    "a KMS key is in another region than the cluster",
    "https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html",
)
def _key_region(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    keys = {"cluster.secrets_encryption.kms_key_arn": strategy.cluster.secrets_encryption.kms_key_arn}
    for node in context.nodes:
        keys[node_path(node, "disk.kms_key_arn")] = node.disk.kms_key_arn
    for name, storage in (("fsx_lustre", strategy.storage.fsx_lustre), ("efs", strategy.storage.efs)):
        if storage:
            keys[f"storage.{name}.kms_key_arn"] = storage.kms_key_arn
    for path, arn in keys.items():
        if arn is not None and arn.split(":")[3] != strategy.region:
            yield (
                path,
                f"the key is in {arn.split(':')[3]}, the cluster in {strategy.region}; use a key of that region",
            )
