"""A deployed strategy on a local Kubernetes: its nodes, its releases and Karpenter, with everything real but AWS."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eks_hardware.kubernetes.local_chart import CHART, chart_values
from eks_hardware.kubernetes.model import Bundle, ChartRelease
from eks_hardware.kubernetes.references import Reference, known, replaced
from eks_hardware.local import addon_pods, install_scripts
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.karpenter_process import Karpenter
from eks_hardware.local.kubelets import Kubelets
from eks_hardware.local.readback import Account
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.workloads import Request, manifest
from helpers.kubernetes.objects import Object, manifest_list


@dataclass(frozen=True)
class Installed:
    """The running parts.

    Attributes:
        strategy: the strategy; None for pools on a cluster that others made.
        cluster: the Kubernetes that the EKS cluster describes as its own.
        account: the emulated account.
        emulator: the emulated AWS.
        kubelets: what makes Node objects of instances.
        karpenter: the controller.
        rendered: the folder with ``install.sh``.
        environment: the environment of the scripts.
    """

    strategy: Strategy | None
    resolved: ResolvedStrategy
    cluster: Cluster
    account: Account
    emulator: Emulator
    kubelets: Kubelets
    karpenter: Karpenter
    rendered: Path
    environment: Mapping[str, str]

    def run(self, script: str, *, codes: tuple[int, ...] = (0,), **variables: str) -> str:
        """Run a script of the folder; return what it printed."""
        return _run([self.rendered / script], {**self.environment, **variables}, codes)

    def get(self, kinds: str, *arguments: str) -> list[Object]:
        found: list[Object] = json.loads(
            self.cluster.kubectl("get", kinds, "--all-namespaces", "-o", "json", *arguments)
        )["items"]
        return found

    def instances(self) -> dict[str, Mapping[str, Any]]:
        """Return the instances by the name of their Node."""
        return {each["PrivateDnsName"]: each for each in self.account.instances()}

    def instances_of(self, source: str) -> list[Mapping[str, Any]]:
        """Return the running instances of a node group or pool."""
        return [each for each in self.instances().values() if source_of(each) == source]

    def scale(self, group: str, nodes: int) -> None:
        """Set a node group's desired size, as a user or an autoscaler does."""
        self.account.client("eks").update_nodegroup_config(
            clusterName=self.resolved.name, nodegroupName=group, scalingConfig={"desiredSize": nodes}
        )

    def printed(self, group: str) -> list[Object]:
        """Return the job that ``workload`` prints for a group or pool."""
        assert self.strategy is not None
        request = Request(kind="job", group=group, name=f"on-{group}")
        return [dict(each) for each in manifest(self.strategy, self.resolved, request).objects]

    @contextlib.contextmanager
    def created(self, objects: Sequence[Object]) -> Iterator[None]:
        """Create objects, and delete them at the end."""
        text = manifest_list(objects)
        self.cluster.kubectl("create", "-f", "-", stdin=text)
        try:
            yield
        finally:
            self.cluster.kubectl("delete", "-f", "-", "--wait=false", "--ignore-not-found", stdin=text)

    def pods(self, selector: str) -> dict[str, tuple[str, str]]:
        """Return the phase and the node of the pods with a label, by name."""
        return {
            each["metadata"]["name"]: (each["status"]["phase"], each["spec"].get("nodeName", ""))
            for each in self.get("pods", "-l", selector)
        }

    def check(self) -> None:
        """Check that every part runs, and that every instance became a node."""
        self.karpenter.check()
        self.kubelets.check()
        assert not self.kubelets.refused, dict(self.kubelets.refused)


def source_of(instance: Mapping[str, Any]) -> str:
    """Return the name of an instance's node group or pool."""
    tags = {each["Key"]: each["Value"] for each in instance.get("Tags", ())}
    return str(tags.get("karpenter.sh/nodepool") or tags.get("eks:nodegroup-name", ""))


def long_running(objects: Sequence[Object], name: str) -> Object:
    """Return a pod like those of a printed job, which may be disrupted.

    kwok ends the pods of jobs at once, and keeps others running. Karpenter waits for pods with the job's annotation:
    https://karpenter.sh/v1.14/concepts/disruption/#pod-level-controls
    """
    (job,) = (each for each in objects if each["kind"] == "Job")
    template = job["spec"]["template"]
    labels = {**template["metadata"].get("labels", {}), "long-running": name}
    namespace = job["metadata"].get("namespace", "default")
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@contextlib.contextmanager
def installed(
    strategy: Strategy | None,
    resolved: ResolvedStrategy,
    bundle: Bundle,
    *,
    cluster: Cluster,
    account: Account,
    emulator: Emulator,
    rendered: Path,
    outputs: Mapping[str, str],
    tools: Mapping[str, Path],
    directory: Path,
    with_helm: bool = False,
) -> Iterator[Installed]:
    """Install a deployed strategy's releases with its ``install.sh``, and remove them with ``uninstall.sh``.

    Args:
        rendered: the folder of manifests that the synthesis wrote.
        outputs: the outputs of the stack.
        directory: a folder for charts and logs.
        with_helm: install everything with Helm, as Terraform does, instead of ``install.sh``.
    """
    charts = directory / "charts"
    wanted = [Chart(each.chart, each.version) for each in bundle.charts]
    charts_folder(wanted, charts, tools)
    environ = install_scripts.environment(cluster.environment(), directory / "bin", tools, charts, outputs)

    with Kubelets(account, cluster) as kubelets:
        addon_pods.apply(account, cluster, resolved.name)
        if with_helm:
            install_with_helm(bundle, known(resolved), rendered, environ)
        else:
            _run([rendered / "install.sh"], environ)
        with Karpenter(cluster, emulator, resolved.region, directory, program=tools["karpenter"]) as karpenter:
            running = Installed(strategy, resolved, cluster, account, emulator, kubelets, karpenter, rendered, environ)
            yield running
            running.run("uninstall.sh")
            running.check()


def install_with_helm(
    bundle: Bundle, names: Mapping[Reference, str], rendered: Path, environment: Mapping[str, str]
) -> None:
    """Install or adopt every release with Helm, as Terraform's Helm provider does.

    Args:
        bundle: the releases.
        names: the value of each reference.
        rendered: the folder of manifests, for the charts' values.
        environment: the environment of the scripts in the folder.
    """
    for release in bundle.releases:
        if isinstance(release, ChartRelease):
            chart = f"{environment['CHARTS']}/{release.chart}-{release.version}.tgz"
            values = (rendered / "values" / f"{release.name}.yaml").read_text(encoding="utf-8")
        else:
            chart, objects = str(CHART), [replaced(each, names.__getitem__) for each in release.objects]
            values = json.dumps(chart_values(objects), default=dict)
        command = ["helm", "upgrade", "--install", release.name, chart, "--namespace", release.namespace]
        options = ["--create-namespace", "--atomic", "--wait", f"--timeout={release.timeout_seconds}s", "--values=-"]
        _run([*command, *options], environment, stdin=values)


def _run(
    command: Sequence[str | Path], environment: Mapping[str, str], codes: tuple[int, ...] = (0,), stdin: str = ""
) -> str:
    done = subprocess.run(
        command, env=environment, input=stdin, capture_output=True, check=False, encoding="utf-8", timeout=900
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextlib.contextmanager
def local_kubernetes(
    emulator: Emulator, name: str, region: str, tools: Mapping[str, Path], directory: Path
) -> Iterator[Cluster]:
    """Run a Kubernetes that EKS clusters describe as their own."""
    webhook = emulator.access_webhook(name, region)
    with Cluster(directory, programs=tools, access_webhook=webhook, kwok=True) as cluster:
        emulator.set_api_server(cluster.endpoint, cluster.certificate_authority)
        yield cluster
