"""The Helm provider of a cluster."""

from __future__ import annotations

from eks_hardware._cdk import (
    Construct,
    Fn,
    HelmProvider,
    HelmProviderKubernetes,
    HelmProviderKubernetesExec,
    TerraformStack,
)
from eks_hardware.resolve import ResolvedProvider

# The version that every AWS CLI with `get-token` returns since client-go dropped v1alpha1 (Kubernetes 1.24):
# https://registry.terraform.io/providers/hashicorp/helm/latest/docs#exec-plugins
_EXEC_API_VERSION = "client.authentication.k8s.io/v1beta1"


def _token_arguments(provider: ResolvedProvider, *, cluster_name: str, region: str) -> list[str]:
    """Return the arguments with which ``aws`` prints a token for the principal that Terraform uses.

    ``get-token`` has no option for an external ID; the rule KUBERNETES_EXTERNAL_ID rejects a role that needs one.
    Source: https://docs.aws.amazon.com/cli/latest/reference/eks/get-token.html
    """
    arguments = ["eks", "get-token", "--cluster-name", cluster_name, "--region", region, "--output", "json"]
    if provider.assume_role:
        arguments += ["--role-arn", provider.assume_role.role_arn]
    if provider.profile:
        arguments += ["--profile", provider.profile]
    return arguments


def cluster_helm_provider(
    scope: Construct,
    id_: str,
    *,
    provider: ResolvedProvider,
    cluster_name: str,
    region: str,
    endpoint: str,
    certificate_authority: str,
) -> HelmProvider:
    """Define the Helm provider of a cluster, one per stack.

    The provider runs the AWS CLI for a token whenever it calls the API. A token in the configuration would be written
    to the plan. It would also expire after 15 minutes, before a first apply has created the nodes.

    Args:
        scope: the stack.
        id_: construct id.
        provider: AWS provider settings (profile, role).
        cluster_name: the cluster's name as plain text.
        region: AWS region.
        endpoint: URL of the Kubernetes API (may be a token, unknown until the first apply).
        certificate_authority: the API's certificate in base64 (may be a token).

    Examples:
        >>> helm = cluster_helm_provider(
        ...     stack,
        ...     "helm",
        ...     provider=resolved.provider,
        ...     cluster_name="shared",
        ...     region="us-west-2",
        ...     endpoint=cluster.endpoint,
        ...     certificate_authority=cluster.certificate_authority,
        ... )
    """
    helm = HelmProvider(
        scope,
        id_,
        kubernetes=HelmProviderKubernetes(
            host=endpoint,
            cluster_ca_certificate=Fn.base64decode(certificate_authority),
            exec=HelmProviderKubernetesExec(
                api_version=_EXEC_API_VERSION,
                command="aws",
                args=_token_arguments(provider, cluster_name=cluster_name, region=region),
            ),
        ),
    )
    # The binding pins its own release; the stack allows a range of versions (docs/adr/0011).
    TerraformStack.of(scope).add_override(
        "terraform.required_providers.helm", {"source": "hashicorp/helm", "version": provider.helm_version}
    )
    return helm
