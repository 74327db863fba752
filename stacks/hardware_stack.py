"""One strategy, one stack."""

from __future__ import annotations

from eks_hardware._cdk import (
    AwsProvider,
    AwsProviderAssumeRole,
    AwsProviderDefaultTags,
    Construct,
    LocalBackend,
    NamedRemoteWorkspace,
    RemoteBackend,
    S3Backend,
    TerraformOutput,
    TerraformStack,
)
from eks_hardware.config import models
from eks_hardware.config.resolve import ResolvedStrategy
from eks_hardware.constructs.platform import Platform


class HardwareStack(TerraformStack):
    """Defines the stack of one strategy: provider, backend, platform and outputs.

    Args:
        resolved: the strategy; its name is the stack's id.
    """

    def __init__(self, scope: Construct, *, resolved: ResolvedStrategy) -> None:
        super().__init__(scope, resolved.name)
        self._backend(resolved)
        self._provider(resolved)
        self._platform = Platform(self, "platform", resolved=resolved)
        self._outputs(resolved)

    @property
    def platform(self) -> Platform:
        """Everything that the stack stands up."""
        return self._platform

    def _backend(self, resolved: ResolvedStrategy) -> None:
        backend = resolved.backend
        if isinstance(backend, models.S3Backend):
            S3Backend(
                self,
                bucket=backend.bucket,
                key=backend.key or "",
                region=backend.region,
                encrypt=True,
                kms_key_id=backend.kms_key_arn,
                profile=backend.profile,
            )
            # The binding knows neither of these two.
            if backend.lock:
                self.add_override("terraform.backend.s3.use_lockfile", True)
            if backend.role_arn:
                self.add_override("terraform.backend.s3.assume_role", {"role_arn": backend.role_arn})
        elif isinstance(backend, models.RemoteBackend):
            RemoteBackend(
                self,
                hostname=backend.hostname,
                organization=backend.organization,
                workspaces=NamedRemoteWorkspace(backend.workspace or resolved.name),
            )
        else:
            LocalBackend(self, path=backend.path)

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
        if platform.karpenter:
            outputs["karpenter_controller_role_arn"] = platform.karpenter.controller_role_arn
            outputs["karpenter_node_role_name"] = platform.karpenter.node_role_name
            if platform.karpenter.instance_profile_name:
                outputs["karpenter_instance_profile_name"] = platform.karpenter.instance_profile_name
            if platform.karpenter.queue_name:
                outputs["karpenter_interruption_queue"] = platform.karpenter.queue_name
        for name, value in outputs.items():
            TerraformOutput(self, name, value=value)
