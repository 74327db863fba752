"""One strategy, one stack."""

from __future__ import annotations

from eks_hardware._cdk import (
    AwsProvider,
    AwsProviderAssumeRole,
    AwsProviderDefaultTags,
    Construct,
    TerraformOutput,
    TerraformStack,
)
from eks_hardware.constructs.kubernetes import HelmReleases, cluster_helm_provider, platform_releases
from eks_hardware.constructs.platform import Platform
from eks_hardware.kubernetes import Bundle, ChartRelease, bundle
from eks_hardware.kubernetes.terraform_text import holds_token
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.stacks.backend import define_backend
from eks_hardware.stacks.extension import Extension


class HardwareStack(TerraformStack):
    """Defines the stack of one strategy: provider, backend, platform, Helm releases and outputs.

    With ``kubernetes.stack: separate`` the releases are in a :class:`KubernetesStack`; with ``delivery: manifests``
    there are none, and no Helm provider.

    Creates: what :class:`Platform` and :class:`HelmReleases` create.

    Args:
        scope: the app.
        resolved: the strategy; its name is the stack's id.
        releases: what is installed; by default what follows from the strategy.
        extension: what is added to the strategy.

    Raises:
        ValueError: ``RELEASE_TOKEN`` when values of a chart hold what only Terraform knows, and something else installs
            it.

    Examples:
        >>> hardware = HardwareStack(app, resolved=resolved)
        >>> hardware.platform.cluster.cluster_name == resolved.name  # a token, filled in by Terraform
        False
        >>> resource(hardware, "kubernetes/karpenter").add_override("timeout", 1200)
    """

    def __init__(
        self,
        scope: Construct,
        *,
        resolved: ResolvedStrategy,
        releases: Bundle | None = None,
        extension: Extension | None = None,
    ) -> None:
        extension = extension or Extension()
        resolved = extension.change(resolved)
        super().__init__(scope, resolved.name)
        self._resolved = resolved
        define_backend(self, resolved.backend)
        self._provider(resolved)
        self._platform = Platform(self, "platform", resolved=resolved, define_node_group=extension.node_group)
        extension.resources(self, self._platform)
        self._bundle = extension.releases(bundle(resolved) if releases is None else releases, resolved)
        self._releases = self._kubernetes(resolved, self._bundle)
        self._outputs(resolved)
        extension.overrides(self)

    @property
    def resolved(self) -> ResolvedStrategy:
        """The strategy, as the extension changed it."""
        return self._resolved

    @property
    def bundle(self) -> Bundle:
        """What is installed on the cluster, whoever installs it."""
        return self._bundle

    @property
    def platform(self) -> Platform:
        """Everything that the stack stands up."""
        return self._platform

    @property
    def releases(self) -> HelmReleases | None:
        """The Helm releases, if this stack installs any."""
        return self._releases

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
        # The binding pins its own release; the stack asks for a range (docs/adr/0004).
        self.add_override("terraform.required_providers.aws", {"source": "hashicorp/aws", "version": provider.version})

    def _kubernetes(self, resolved: ResolvedStrategy, releases: Bundle) -> HelmReleases | None:
        kubernetes = resolved.kubernetes
        if kubernetes.delivery != "helm" or kubernetes.stack != "same":
            _refuse_tokens(releases)
            return None
        if not releases.releases:
            return None
        cluster = self._platform.cluster.ref
        cluster_helm_provider(
            self,
            "helm",
            provider=resolved.provider,
            cluster_name=resolved.name,
            region=resolved.region,
            endpoint=cluster.endpoint,
            certificate_authority=cluster.certificate_authority,
        )
        return platform_releases(self, "kubernetes", bundle=releases, platform=self._platform)

    def _outputs(self, resolved: ResolvedStrategy) -> None:
        platform = self._platform
        cluster = platform.cluster
        outputs = {
            "region": resolved.region,
            "cluster_name": cluster.cluster_name,
            "cluster_endpoint": cluster.endpoint,
            "cluster_security_group_id": cluster.cluster_security_group_id,
            "vpc_id": platform.network.vpc_id,
            "configure_kubectl": f"aws eks update-kubeconfig --region {resolved.region} --name {resolved.name}",
        }
        if resolved.kubernetes_backend:
            # The second stack reads it, and the endpoint, from this one's state.
            outputs["cluster_certificate_authority"] = cluster.ref.certificate_authority
        if platform.karpenter:
            outputs["karpenter_controller_role_arn"] = platform.karpenter.controller_role_arn
            outputs["karpenter_node_role_name"] = platform.karpenter.node_role_name
            if platform.karpenter.instance_profile_name:
                outputs["karpenter_instance_profile_name"] = platform.karpenter.instance_profile_name
            if platform.karpenter.queue_name:
                outputs["karpenter_interruption_queue"] = platform.karpenter.queue_name
        if platform.lustre:
            outputs["fsx_lustre_id"] = platform.lustre.file_system_id
            outputs["fsx_lustre_dns_name"] = platform.lustre.dns_name
            outputs["fsx_lustre_mount_name"] = platform.lustre.mount_name
        if platform.efs:
            outputs["efs_id"] = platform.efs.file_system_id
        for name, value in outputs.items():
            TerraformOutput(self, name, value=value)


def _refuse_tokens(releases: Bundle) -> None:
    """Values that only Terraform knows get to the cluster only with Terraform, and from the stack that has them."""
    for release in releases.releases:
        if holds_token(release.values if isinstance(release, ChartRelease) else release.objects):
            raise ValueError(
                f"RELEASE_TOKEN {release.name}: it holds an attribute of a Terraform resource, which only delivery: "
                "helm in the same stack fills in; write plain text, or a Reference such as @{vpc_id}"
            )
