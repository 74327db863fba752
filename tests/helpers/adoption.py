"""Adoptions for tests: a cluster that another team owns, with pools."""

from __future__ import annotations

from typing import Any

from eks_hardware.adoption import Adoption, ResolvedAdoption, resolve_adoption
from helpers.strategies import TODAY

SUBNETS = {"usw2-az1": "subnet-0aaaaaaaaaaaaaaa1", "usw2-az2": "subnet-0aaaaaaaaaaaaaaa2"}
NETWORK = {"existing": {"vpc_id": "vpc-0123456789abcdef0", "private_subnets": SUBNETS}}


def adoption_document(*pools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an adoption file with pools."""
    karpenter = {"node_pools": list(pools), **fields.pop("karpenter", {})}
    return {
        "name": "shared",
        "region": "us-west-2",
        "cluster": {"kubernetes_version": "1.35"},
        "network": NETWORK,
        "karpenter": karpenter,
        **fields,
    }


def adoption(*pools: dict[str, Any], **fields: Any) -> ResolvedAdoption:
    """Return the resolved adoption; raises its errors."""
    return resolve_adoption(Adoption.model_validate(adoption_document(*pools, **fields)), today=TODAY)
