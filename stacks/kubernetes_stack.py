"""A separate stack for the charts of one strategy."""

from __future__ import annotations

from eks_hardware._cdk import Construct, TerraformStack
from eks_hardware.constructs.kubernetes import HelmReleases, cluster_helm_provider
from eks_hardware.kubernetes import Reference
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.stacks.backend import define_backend, remote_state
from eks_hardware.stacks.hardware_stack import HardwareStack


class KubernetesStack(TerraformStack):
    """The second stack of a strategy, ``<name>-kubernetes``: Helm provider and releases, no AWS resources.

    It reads the first stack's outputs from that stack's state. Deploy it after the first stack, and destroy it before
    the first stack.

    Creates: ``helm_release``; data source ``terraform_remote_state``.

    Args:
        scope: the app.
        resolved: the strategy, with ``kubernetes.stack: separate``.
        hardware: the first stack; its bundle is installed.

    Raises:
        ValueError: ``KUBERNETES_STACK`` if the strategy has no second stack.

    Examples:
        >>> from eks_hardware.models import KubernetesSpec
        >>> separate = KubernetesSpec(stack="separate")
        >>> two = resolve(strategy.model_copy(update={"name": "two-stacks", "kubernetes": separate}))
        >>> charts = KubernetesStack(app, resolved=two, hardware=HardwareStack(app, resolved=two))
        >>> charts.releases.releases["karpenter"].add_override("timeout", 1200)
    """

    releases: HelmReleases
    """The Helm releases."""

    def __init__(self, scope: Construct, *, resolved: ResolvedStrategy, hardware: HardwareStack) -> None:
        super().__init__(scope, f"{resolved.name}-kubernetes")
        if resolved.kubernetes_backend is None:
            raise ValueError(
                f"KUBERNETES_STACK {resolved.name}: the strategy has no second stack; set kubernetes.stack: separate"
            )
        define_backend(self, resolved.kubernetes_backend)
        state = remote_state(self, "hardware", resolved.backend)
        cluster_helm_provider(
            self,
            "helm",
            provider=resolved.provider,
            cluster_name=resolved.name,
            region=resolved.region,
            endpoint=state.get_string("cluster_endpoint"),
            certificate_authority=state.get_string("cluster_certificate_authority"),
        )
        self.releases = HelmReleases(
            self,
            "kubernetes",
            bundle=hardware.bundle,
            # A reference and its output have the same name.
            references={reference: state.get_string(reference.value) for reference in Reference},
        )
        self.add_dependency(hardware)
