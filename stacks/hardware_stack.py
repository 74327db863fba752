"""The stack of one strategy."""

from __future__ import annotations

from eks_hardware._cdk import (
    AwsProvider,
    AwsProviderAssumeRole,
    AwsProviderDefaultTags,
    Construct,
    TerraformOutput,
)
from eks_hardware.constructs.kubernetes import HelmReleases, cluster_helm_provider, platform_releases, references
from eks_hardware.constructs.platform import Platform
from eks_hardware.kubernetes import Bundle, ChartRelease, bundle
from eks_hardware.kubernetes.terraform_text import holds_token
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.stacks.backend import define_backend
from eks_hardware.stacks.extension import Extension
from eks_hardware.stacks.strategy_stack import StrategyStack


class HardwareStack(StrategyStack):
    """The stack of one strategy: provider, backend, platform, Helm releases and outputs.

    With ``kubernetes.stack: separate`` the releases are in a :class:`KubernetesStack`. With ``delivery: manifests``
    there are no releases and no Helm provider.

    Creates: what :class:`Platform` and :class:`HelmReleases` create.

    Args:
        scope: the app.
        resolved: the strategy; its name is the stack's id.
        extension: additions to the strategy.

    Raises:
        ValueError: ``RELEASE_TOKEN`` if chart values contain a Terraform attribute and this stack does not install the
            chart.

    Examples:
        >>> hardware = HardwareStack(app, resolved=resolved)
        >>> hardware.platform.cluster.cluster_name == resolved.name  # a token, filled in by Terraform
        False
        >>> resource(hardware, "kubernetes/karpenter").add_override("timeout", 1200)
    """

    def __init__(self, scope: Construct, *, resolved: ResolvedStrategy, extension: Extension | None = None) -> None:
        extension = extension or Extension()
        resolved = extension.change(resolved)
        super().__init__(scope, resolved=resolved)
        define_backend(self, resolved.backend)
        self._provider(resolved)
        self.platform = Platform(self, "platform", resolved=resolved, define_node_group=extension.node_group)
        extension.resources(self, self.platform)
        self.bundle = extension.releases(bundle(resolved), resolved)
        self.releases = self._kubernetes(resolved, self.bundle)
        self._outputs(resolved)
        extension.overrides(self)

    def _provider(self, resolved: ResolvedStrategy) -> None:
        provider = resolved.provider
        role = provider.assume_role
        AwsProvider(
            self,
            "aws",
            region=resolved.region,
            profile=provider.profile,
            allowed_account_ids=[provider.account_id] if provider.account_id else None,
            assume_role=[
                AwsProviderAssumeRole(
                    role_arn=role.role_arn, external_id=role.external_id, session_name=role.session_name
                )
            ]
            if role
            else None,
            default_tags=[AwsProviderDefaultTags(tags=dict(provider.default_tags))],
        )
        # The binding pins its own release; the stack allows a range of versions (docs/adr/0004).
        self.add_override("terraform.required_providers.aws", {"source": "hashicorp/aws", "version": provider.version})

    def _kubernetes(self, resolved: ResolvedStrategy, releases: Bundle) -> HelmReleases | None:
        kubernetes = resolved.kubernetes
        if kubernetes.delivery != "helm" or kubernetes.stack != "same":
            _refuse_tokens(releases)
            return None
        if not releases.releases:
            return None
        cluster = self.platform.cluster.ref
        cluster_helm_provider(
            self,
            "helm",
            provider=resolved.provider,
            cluster_name=resolved.name,
            region=resolved.region,
            endpoint=cluster.endpoint,
            certificate_authority=cluster.certificate_authority,
        )
        return platform_releases(self, "kubernetes", bundle=releases, platform=self.platform)

    def _outputs(self, resolved: ResolvedStrategy) -> None:
        platform, cluster = self.platform, self.platform.cluster
        outputs = {
            "region": resolved.region,
            "cluster_name": cluster.cluster_name,
            "cluster_endpoint": cluster.endpoint,
            "cluster_security_group_id": cluster.cluster_security_group_id,
            "vpc_id": platform.network.vpc_id,
            "configure_kubectl": f"aws eks update-kubeconfig --region {resolved.region} --name {resolved.name}",
        }
        if resolved.kubernetes_backend:
            # The second stack reads this output and the endpoint from this stack's state.
            outputs["cluster_certificate_authority"] = cluster.ref.certificate_authority
        if platform.karpenter:
            outputs["karpenter_controller_role_arn"] = platform.karpenter.controller_role_arn
        # The second stack looks up a reference by its name, and so do people who fill in the written manifests.
        outputs |= {reference.value: value for reference, value in references(platform).items()}
        for name, value in outputs.items():
            TerraformOutput(self, name, value=value)


def _refuse_tokens(releases: Bundle) -> None:
    """Reject values that only Terraform knows if another stack or tool installs the charts."""
    for release in releases.releases:
        if holds_token(release.values if isinstance(release, ChartRelease) else release.objects):
            raise ValueError(
                f"RELEASE_TOKEN {release.name}: a value must be plain text or a Reference such as "
                "@{vpc_id}, got an attribute of a Terraform resource; only delivery: helm in the same stack can "
                "resolve it"
            )
