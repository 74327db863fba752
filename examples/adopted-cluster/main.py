"""Karpenter's node pools on two clusters that other teams own: one without Karpenter, one with it."""

from __future__ import annotations

import sys
from pathlib import Path

import eks_hardware  # noqa: F401  import it before the provider, which then loads lazily

# isort: split
from cdktf import Annotations, App, TerraformStack
from cdktf_cdktf_provider_aws.provider import AwsProvider, AwsProviderDefaultTags

from constructs import Construct
from eks_hardware.adoption import ResolvedAdoption, load_adoption
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.karpenter import AdoptedKarpenter
from eks_hardware.constructs.kubernetes import adopted_releases, cluster_helm_provider
from eks_hardware.findings import StrategyError
from eks_hardware.kubernetes import karpenter_bundle
from eks_hardware.kubernetes.files.write import write

HERE = Path(__file__).parent
NODE_ROLE = "KarpenterNodeRole-research"  # the node role of the existing Karpenter


class PoolsStack(TerraformStack):
    """Resources for the pools of one existing cluster, which is only looked up."""

    def __init__(self, scope: Construct, *, adoption: ResolvedAdoption, node_role_name: str | None = None) -> None:
        super().__init__(scope, f"{adoption.name}-pools")
        tags = AwsProviderDefaultTags(tags=dict(adoption.provider.default_tags))
        AwsProvider(self, "aws", region=adoption.region, default_tags=[tags])
        # The binding pins the provider release that it was generated from; use a range instead.
        wanted = {"source": "hashicorp/aws", "version": adoption.provider.version}
        self.add_override("terraform.required_providers.aws", wanted)
        for warning in adoption.warnings:
            Annotations.of(self).add_warning(str(warning))
        self.adoption = adoption
        self.cluster = ClusterRef.from_existing(self, "cluster", name=adoption.name)
        self.adopted = AdoptedKarpenter(
            self, "karpenter", adoption=adoption, cluster=self.cluster, node_role_name=node_role_name
        )


class SharedStack(PoolsStack):
    """Karpenter, its pools and their device plugins, installed by Terraform through the Helm provider."""

    def __init__(self, scope: Construct, *, adoption: ResolvedAdoption) -> None:
        super().__init__(scope, adoption=adoption)
        cluster_helm_provider(
            self,
            "helm",
            provider=adoption.provider,
            cluster_name=adoption.name,
            region=adoption.region,
            endpoint=self.cluster.endpoint,
            certificate_authority=self.cluster.certificate_authority,
        )
        adopted_releases(self, "kubernetes", bundle=karpenter_bundle(adoption), adopted=self.adopted)


def stacks(scope: Construct) -> tuple[SharedStack, PoolsStack]:
    return (
        SharedStack(scope, adoption=load_adoption(HERE / "shared.yaml")),
        PoolsStack(scope, adoption=load_adoption(HERE / "research.yaml"), node_role_name=NODE_ROLE),
    )


def write_pools(stack: PoolsStack, folder: Path) -> None:
    """Write the pools as manifests, for kubectl, Flux or Argo CD, without connecting to the cluster."""
    adoption = stack.adoption
    pools = karpenter_bundle(adoption, controller=False, with_device_plugins=False)
    write(pools, folder, name=adoption.name, region=adoption.region, known=stack.adopted.references, force=True)


if __name__ == "__main__":
    app = App()
    try:
        _, research = stacks(app)
    except StrategyError as error:
        sys.exit(str(error))
    app.synth()
    write_pools(research, Path(app.outdir) / "stacks" / research.node.id / "kubernetes")
