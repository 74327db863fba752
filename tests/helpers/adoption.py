"""Adoptions for tests: a cluster that another team owns, with pools."""

from __future__ import annotations

from pathlib import Path
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


def synthesized_pools(folder: Path, adopted: ResolvedAdoption, **arguments: Any) -> Path:
    """Return the folder of a stack with the AWS resources of the pools."""
    from eks_hardware._cdk import App, AwsProvider, TerraformStack
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import AdoptedKarpenter

    app = App(outdir=str(folder))
    stack = TerraformStack(app, "pools")
    AwsProvider(stack, "aws", region=adopted.region)
    wanted = {"source": "hashicorp/aws", "version": adopted.provider.version}
    stack.add_override("terraform.required_providers.aws", wanted)
    stack.add_override("terraform.backend.local.path", "terraform.tfstate")
    cluster = ClusterRef.from_existing(stack, "cluster", name=adopted.name)
    AdoptedKarpenter(stack, "karpenter", adoption=adopted, cluster=cluster, **arguments)
    app.synth()
    return folder / "stacks" / "pools"
