"""A check that the Kubernetes API of a cluster is not open to the whole internet."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eks_hardware.testing.template import Stack, Template

# AWS's defaults for a cluster: https://docs.aws.amazon.com/eks/latest/APIReference/API_VpcConfigRequest.html
_PUBLIC_BY_DEFAULT = True
_CIDRS_BY_DEFAULT = ("0.0.0.0/0",)


def assert_no_public_api(template: Template | Stack) -> None:
    """Assert that no ``aws_eks_cluster`` has a Kubernetes API that the whole internet can reach.

    A public endpoint that is limited to some networks passes. Missing settings fail, because AWS's default is a public
    endpoint open to all networks. Ranges that together contain every address (``0.0.0.0/1`` and ``128.0.0.0/1``) fail
    too. Values that only Terraform knows, such as variables, do not count as private. A stack without a cluster passes.

    Args:
        template: a template, or a stack to synthesize.

    Raises:
        AssertionError: if there is such a cluster; lists each cluster with the networks that can reach its API.

    Examples:
        >>> cluster = {"vpc_config": {"endpoint_public_access": True, "public_access_cidrs": ["0.0.0.0/0"]}}
        >>> assert_no_public_api(Template({"resource": {"aws_eks_cluster": {"main": cluster}}}))
        Traceback (most recent call last):
        AssertionError: the whole internet can reach the Kubernetes API of
          aws_eks_cluster.main: public_access_cidrs has 0.0.0.0/0
    """
    template = template if isinstance(template, Template) else Template.of(template)
    faults = [
        f"  {template.named(address)}: {fault}"
        for address, body in template.resources("aws_eks_cluster").items()
        for fault in _faults(body)
    ]
    if faults:
        raise AssertionError("\n".join(["the whole internet can reach the Kubernetes API of", *faults]))


def _faults(cluster: Mapping[str, object]) -> Iterator[str]:
    config = _block(cluster.get("vpc_config"))
    public = config.get("endpoint_public_access")
    given = public is not None
    public = _PUBLIC_BY_DEFAULT if public is None else public
    if str(public).lower() == "false":
        return
    how = "" if given else "endpoint_public_access is not set, and the default is true; "
    if str(public).lower() != "true":
        how = f"endpoint_public_access is {public!r}, which only Terraform knows; "
    cidrs = config.get("public_access_cidrs")
    if not cidrs:
        yield f"{how}public_access_cidrs is not set, and the default is {', '.join(_CIDRS_BY_DEFAULT)}"
        return
    listed = [cidrs] if isinstance(cidrs, str) else list(cidrs)
    unknown = [each for each in listed if "${" in str(each)]
    if unknown:
        yield f"{how}public_access_cidrs has {', '.join(unknown)}, which only Terraform knows"
    elif wrong := [each for each in listed if not _is_network(each)]:
        yield f"{how}public_access_cidrs has {', '.join(map(str, wrong))}, which is not a valid network"
    elif everything := _everything(listed):
        yield f"{how}public_access_cidrs has {', '.join(everything)}"


def _everything(cidrs: Iterable[str]) -> list[str]:
    """Return the networks that contain all IPv4 or all IPv6 addresses, alone or together."""
    networks = {cidr: ipaddress.ip_network(cidr, strict=False) for cidr in cidrs}
    whole = [cidr for cidr, network in networks.items() if network.prefixlen == 0]
    if whole:
        return whole
    four = [network for network in networks.values() if isinstance(network, ipaddress.IPv4Network)]
    six = [network for network in networks.values() if isinstance(network, ipaddress.IPv6Network)]
    together = {
        4: any(address.prefixlen == 0 for address in ipaddress.collapse_addresses(four)),
        6: any(address.prefixlen == 0 for address in ipaddress.collapse_addresses(six)),
    }
    return [cidr for cidr, network in networks.items() if together[network.version]]


def _is_network(cidr: str) -> bool:
    try:
        ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return False
    return True


def _block(value: object) -> Mapping[str, Any]:
    """Return a block as a map; in JSON it is a map or a list with one map."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = value[0] if value else None
    return value if isinstance(value, Mapping) else {}
