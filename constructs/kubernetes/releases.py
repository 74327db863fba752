"""Charts and objects as Helm releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware._cdk import AssetType, Construct, ITerraformDependable, Release, TerraformAsset
from eks_hardware.kubernetes.local_chart import CHART, CHART_VERSION, chart_values
from eks_hardware.kubernetes.model import Bundle, ChartRelease, ObjectRelease
from eks_hardware.kubernetes.references import Reference
from eks_hardware.kubernetes.terraform_text import terraform_text
from eks_hardware.kubernetes.yaml_text import yaml_text

# Helm keeps them as secrets in the cluster; the provider's default keeps all of them. 10 is the default of `helm`.
_REVISIONS = 10


class HelmReleases(Construct):
    """Defines a Helm release for each release of a bundle, in an order that also works backwards.

    A release depends on those it comes after and on what ``needs`` and ``release_needs`` name: Terraform makes these
    before it, and destroys them after it. So ``destroy`` first uninstalls the objects, Karpenter's NodePools among
    them, while Karpenter, its role, its queue, its nodes and their way to AWS are all still there.

    How long that takes, read in the provider (2.17.0, 3.1.2) and in the Helm library it is built with (3.18.5):

    * ``wait`` and ``timeout`` also apply to uninstalling: the provider passes both to Helm's ``Uninstall``, which
      deletes in the background and then asks every 2 s until each object of the release is gone.
    * Helm has no order for custom resources: they come last, alphabetically, both ways. All of a release are deleted
      before the first is waited for, so this order does not matter.
    * A NodePool is gone at once; its NodeClaims, which it owns, are then collected. An EC2NodeClass has a finalizer
      that Karpenter takes away when no NodeClaim names it any more: waiting for it is waiting for the nodes. Pods
      that may not be evicted delay this unless their pool has a ``termination_grace_period``.
    * When the time is over, the destroy fails, but Helm has already forgotten the release. See that
      ``kubectl get nodeclaims`` is empty before the next ``destroy``, which goes on to Karpenter.

    ``atomic`` undoes a failed installation: the provider 3.x does not keep a failed one in the state, and the next
    apply would find its name taken. It also drops a release from the state when it cannot reach the API
    (https://github.com/hashicorp/terraform-provider-helm/issues/1669): ``upgrade_install`` takes it up again.
    Each release states its version, the local chart too: without one ``upgrade_install`` would ask the cluster while
    planning, also before there is one.

    Sources: https://github.com/hashicorp/terraform-provider-helm/blob/v3.1.2/helm/resource_helm_release.go,
    https://github.com/helm/helm/blob/v3.18.5/pkg/action/uninstall.go,
    https://github.com/helm/helm/blob/v3.18.5/pkg/releaseutil/kind_sorter.go,
    https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/controllers/nodeclass/controller.go (finalize),
    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go

    Creates: ``helm_release``; the chart of our own objects is copied beside the stack.

    Args:
        scope: the construct or stack that it belongs to.
        id_: its name there, part of the addresses.
        bundle: what is installed (``eks_hardware.kubernetes.bundle``).
        references: the value of each reference (tokens).
        needs: what every release needs, to be installed and to be uninstalled.
        addons: what each release that ``waits_for_addons`` needs too.
        release_needs: what single releases need in addition, by name.

    Raises:
        ValueError: ``KUBERNETES_REFERENCE`` when a release has a reference that ``references`` lacks.

    Examples:
        On a cluster that exists already:

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
        """The Terraform resources by name of release, to depend on or to override."""
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
                # A release that comes after another also waits for what the other waited for.
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
                    f"KUBERNETES_REFERENCE {self.node.path}: release {name} holds {reference.text}; pass a value for "
                    "it in references"
                )
            return self._references[reference]

        return terraform_text(text, expression)
