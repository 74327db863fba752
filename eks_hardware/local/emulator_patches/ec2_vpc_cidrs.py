"""Secondary CIDR blocks of VPCs, which ministack does not support and pod networks need.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateVpcCidrBlock.html
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

NAMES = frozenset({"_ACTION_MAP", "_error", "_matches_vpc_filters", "_p", "_vpc_fields_xml", "_vpcs", "_xml"})
"""The names of ministack's module that the patches need."""

_FILTER = "cidr-block-association.association-id"
_SET = "</cidrBlockAssociationSet>"
_ADDED = "AddedCidrBlocks"


def install(ec2: dict[str, Any]) -> None:
    """Add the two actions, and include the blocks when a VPC is described."""
    value_of, vpcs = ec2["_p"], ec2["_vpcs"]
    own_xml, own_filters = ec2["_vpc_fields_xml"], ec2["_matches_vpc_filters"]

    def associate(params: Mapping[str, object]) -> object:
        vpc_id, cidr = value_of(params, "VpcId"), value_of(params, "CidrBlock")
        if vpc_id not in vpcs:
            return ec2["_error"]("InvalidVpcID.NotFound", f"The vpc ID '{vpc_id}' does not exist", 400)
        vpc = vpcs[vpc_id]
        added: dict[str, str] = vpc.setdefault(_ADDED, {})
        if any(ipaddress.ip_network(cidr).overlaps(ipaddress.ip_network(block)) for block in _blocks(vpc)):
            return ec2["_error"]("InvalidVpc.Range", f"The CIDR '{cidr}' conflicts with another block of the VPC", 400)
        association = f"vpc-cidr-assoc-{secrets.token_hex(8)}1"
        added[association] = cidr
        inner = f"<vpcId>{vpc_id}</vpcId>{_association('cidrBlockAssociation', association, cidr, 'associating')}"
        return ec2["_xml"](200, "AssociateVpcCidrBlockResponse", inner)

    def disassociate(params: Mapping[str, object]) -> object:
        association = value_of(params, "AssociationId")
        for vpc_id, vpc in vpcs.items():
            if cidr := vpc.get(_ADDED, {}).pop(association, None):
                part = _association("cidrBlockAssociation", association, cidr, "disassociating")
                return ec2["_xml"](200, "DisassociateVpcCidrBlockResponse", f"<vpcId>{vpc_id}</vpcId>{part}")
        code, text = "InvalidVpcCidrBlockAssociationID.NotFound", f"The association '{association}' does not exist"
        return ec2["_error"](code, text, 400)

    def described(vpc: Mapping[str, Any], *arguments: Any, **named: object) -> str:
        items = "".join(_association("item", key, cidr, "associated") for key, cidr in vpc.get(_ADDED, {}).items())
        return str(own_xml(vpc, *arguments, **named)).replace(_SET, items + _SET)

    def matches(vpc: Mapping[str, Any], filters: Mapping[str, Sequence[str]]) -> bool:
        wanted = filters.get(_FILTER)
        return bool(own_filters(vpc, filters)) and (wanted is None or not vpc.get(_ADDED, {}).keys().isdisjoint(wanted))

    ec2["_ACTION_MAP"] |= {"AssociateVpcCidrBlock": associate, "DisassociateVpcCidrBlock": disassociate}
    ec2 |= {"_vpc_fields_xml": described, "_matches_vpc_filters": matches}


def block_of(vpcs: Mapping[str, Any], association: str) -> tuple[str, str] | None:
    """Return the VPC and the CIDR block of an association."""
    for vpc_id, vpc in list(vpcs.items()):
        if cidr := vpc.get(_ADDED, {}).get(association):
            return vpc_id, cidr
    return None


def _blocks(vpc: Mapping[str, Any]) -> Sequence[str]:
    return [vpc["CidrBlock"], *vpc.get(_ADDED, {}).values()]


def _association(tag: str, association: str, cidr: str, state: str) -> str:
    return (
        f"<{tag}><associationId>{association}</associationId><cidrBlock>{cidr}</cidrBlock>"
        f"<cidrBlockState><state>{state}</state></cidrBlockState></{tag}>"
    )
