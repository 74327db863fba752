"""Charts and objects as Helm releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware._cdk import AssetType, Construct, ITerraformDependable, Release, TerraformAsset
from eks_hardware.kubernetes.local_chart import CHART, CHART_VERSION, chart_values
from eks_hardware.kubernetes.model import Bundle, ChartRelease, ObjectRelease
from eks_hardware.kubernetes.references import Reference
from eks_hardware.kubernetes.terraform_text import terraform_text
from eks_hardware.kubernetes.yaml_text import yaml_text

# Helm keeps revisions as secrets in the cluster; the provider's default keeps all of them. 10 is the default of `helm`.
_REVISIONS = 10


class HelmReleases(Construct):
    """A Helm release for each release of a bundle, in an order that also works for uninstalling.

    A release depends on the releases it comes after and on the resources in ``needs`` and ``release_needs``. Terraform
    creates these before the release and destroys them after it. ``destroy`` therefore uninstalls the objects, including
    Karpenter's NodePools, while Karpenter, its role, its queue, its nodes and their network path to AWS still exist.

    The duration of an uninstallation, according to the source of the provider (3.1.2) and its Helm library (3.18.5):

    * ``wait`` and ``timeout`` also apply to uninstalling. The provider passes both to Helm's ``Uninstall``, which
      deletes in the background and checks every 2 s until each object of the release is gone.
    * Helm does not order custom resources. It handles them last, alphabetically, when it installs and when it
      uninstalls. It deletes all custom resources of a release before it waits for the first one, so this order does not
      matter.
    * A NodePool is deleted immediately; Kubernetes then garbage-collects the NodeClaims it owns. Karpenter removes the
      finalizer of an EC2NodeClass when no NodeClaim references it any more, so waiting for the EC2NodeClass means
      waiting for the nodes. Pods that may not be evicted delay this unless their pool has a
      ``termination_grace_period``.
    * After the timeout the destroy fails, but Helm has already removed the release. Check that ``kubectl get
      nodeclaims`` is empty before the next ``destroy``, which continues with Karpenter.

    ``atomic`` rolls back a failed installation: the provider does not keep a failed release in the state, and the next
    apply would find the name in use. The provider also drops a release from the state when it cannot reach the API
    (https://github.com/hashicorp/terraform-provider-helm/issues/1669); ``upgrade_install`` adopts it again. Every
    release has a version, including the local chart. Without a version, ``upgrade_install`` queries the cluster during
    the plan, even when the cluster does not exist yet.

    Sources: https://github.com/hashicorp/terraform-provider-helm/blob/v3.1.2/helm/resource_helm_release.go,
    https://github.com/helm/helm/blob/v3.18.5/pkg/action/uninstall.go,
    https://github.com/helm/helm/blob/v3.18.5/pkg/releaseutil/kind_sorter.go,
    https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/controllers/nodeclass/controller.go (finalize),
    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go

    Creates: ``helm_release``; copies the chart for eks-hardware's own objects into the stack's folder.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        bundle: charts and objects to install (``eks_hardware.kubernetes.bundle``).
        references: the value of each reference (tokens).
        needs: resources that every release needs for its installation and removal.
        addons: additional resources that releases with ``waits_for_addons`` need.
        release_needs: additional resources that individual releases need, by release name.

    Raises:
        ValueError: ``KUBERNETES_REFERENCE`` if a release contains a reference that is not in ``references``.

    Examples:
        On an existing cluster:

        >>> keda = ChartRelease(
        ...     name="keda",
        ...     namespace="keda",
        ...     chart="keda",
        ...     repository="https://kedacore.github.io/charts",
        ...     version="2.21.1",
        ...     values={"clusterName": Reference.CLUSTER_NAME.text},
        ... )
        >>> charts = HelmReleases(
        ...     stack, "charts", bundle=Bundle((keda,)), references={Reference.CLUSTER_NAME: cluster.name}
        ... )
        >>> charts.releases["keda"].add_override("timeout", 900)
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        bundle: Bundle,
        references: Mapping[Reference, str],
        needs: Sequence[ITerraformDependable] = (),
        addons: Sequence[ITerraformDependable] = (),
        release_needs: Mapping[str, Sequence[ITerraformDependable]] | None = None,
    ) -> None:
        super().__init__(scope, id_)
        self._references = references
        self._needs = needs
        self._addons = addons
        self._with_addons: set[str] = set()
        self._release_needs = release_needs or {}
        self._releases: dict[str, Release] = {}
        self._chart: TerraformAsset | None = None
        if bundle.object_releases:
            self._chart = TerraformAsset(
                self, "chart", path=str(CHART), type=AssetType.DIRECTORY, asset_hash=CHART_VERSION
            )
        for release in bundle.releases:
            self._releases[release.name] = self._define(release)

    @property
    def releases(self) -> Mapping[str, Release]:
        """The Terraform resources by release name, to depend on or to override."""
        return dict(self._releases)

    def _define(self, release: ChartRelease | ObjectRelease) -> Release:
        if isinstance(release, ChartRelease):
            chart, repository, version = release.chart, release.repository, release.version
            values = release.values
        else:
            assert self._chart is not None
            chart, repository, version = self._chart.path, None, CHART_VERSION
            values = chart_values(release.objects)
        return Release(
            self,
            release.name,
            name=release.name,
            namespace=release.namespace,
            create_namespace=release.namespace != "kube-system",
            chart=chart,
            repository=repository,
            version=version,
            values=[self._in_terraform(release.name, yaml_text(values))],
            atomic=True,
            cleanup_on_fail=True,
            upgrade_install=True,
            wait=True,
            timeout=release.timeout_seconds,
            max_history=_REVISIONS,
            depends_on=[
                *(self._releases[name] for name in release.after),
                # A release also waits for everything that the release before it waited for.
                *(() if release.after else self._needs),
                *self._addons_of(release),
                *self._release_needs.get(release.name, ()),
            ]
            or None,
        )

    def _addons_of(self, release: ChartRelease | ObjectRelease) -> Sequence[ITerraformDependable]:
        inherited = not self._with_addons.isdisjoint(release.after)
        if inherited or release.waits_for_addons:
            self._with_addons.add(release.name)
        return self._addons if release.waits_for_addons and not inherited else ()

    def _in_terraform(self, name: str, text: str) -> str:
        def expression(reference: Reference) -> str:
            if reference not in self._references:
                raise ValueError(
                    f"KUBERNETES_REFERENCE {self.node.path}: release {name} contains {reference.text}; pass a value "
                    "for it in references"
                )
            return self._references[reference]

        return terraform_text(text, expression)
