"""The Kubernetes part of the demo: a local cluster, the strategy's releases, and a workload on each kind of node.

Nodes are created from the emulator's instances. The real Karpenter starts some of them, and the real Kueue admits jobs.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from eks_hardware import data
from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.scripts import INSTALL, PULL_CHARTS, UNINSTALL
from eks_hardware.kubernetes.files.summary import ReleaseSummary, Summary, read_summary
from eks_hardware.kubernetes.nodes import POOL_LABEL
from eks_hardware.local import (
    addon_pods,
    cluster_tools,
    demo_folder,
    install_scripts,
    named_reservations,
    sample_workloads,
)
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.cluster_tools.build import provide
from eks_hardware.local.demo_folder import DemoError
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.karpenter_process import Karpenter
from eks_hardware.local.kubelets import Kubelets
from eks_hardware.local.kueue_process import NAME as KUEUE
from eks_hardware.local.kueue_process import Kueue
from eks_hardware.local.readback import Account
from eks_hardware.local.sample_workloads import Placed, Sample
from eks_hardware.local.stand_in_charts import IN_MODULES, Chart, charts_folder
from eks_hardware.local.steps import Step, Steps
from eks_hardware.models import Strategy
from eks_hardware.printable import counted, joined
from eks_hardware.resolve import ResolvedStrategy, resolve

NODES_SECONDS = 180.0
WORKLOADS_SECONDS = 300.0
INSTANCES_SECONDS = 300.0
_POLL_SECONDS = 0.3
_TOOLS = ("etcd", "kwok", "kwok-files", "helm")
_CONTROLLER = "karpenter"
_LOAD_BALANCERS = "aws-load-balancer-controller"
_WEBHOOKS = "mutatingwebhookconfigurations,validatingwebhookconfigurations"


@dataclass(frozen=True)
class Options:
    """The strategy and charts of a local cluster.

    Attributes:
        strategy: the strategy as the demo deploys it.
        charts: a folder with the charts that ``pull-charts.sh`` downloaded; None for stand-ins.
        differences: sentences about what the demo changes in the strategy.
    """

    strategy: Strategy
    charts: Path | None = None
    differences: tuple[str, ...] = ()


class DemoCluster:
    """One run on a local cluster.

    Args:
        console: the console to print to.
        options: the strategy and charts to run.
        run_dir: the folder for logs and charts.
        log_file: the file for the scripts' output.
    """

    def __init__(self, console: Console, options: Options, run_dir: Path, log_file: Path) -> None:
        self._console = console
        self._steps = Steps(console)
        self._options = options
        self._resolved: ResolvedStrategy = resolve(options.strategy)
        self._reservations = named_reservations.named(options.strategy, self._resolved)
        self._run_dir = run_dir
        self._log_file = log_file
        self._running = contextlib.ExitStack()
        self._programs: Mapping[str, Path] = {}
        self._stand_ins: tuple[Chart, ...] = ()
        self._has_kueue = False
        self._kueue: Kueue | None = None
        self._without_pods: list[str] = []
        self._samples: tuple[Sample, ...] = ()
        self._background = ThreadPoolExecutor(1)
        self._starting: Future[float] | None = None
        self._karpenter: Karpenter | None = None

    def provide_programs(self, step: Step) -> None:
        """Find the cluster's programs, and build the missing ones.

        Raises:
            ToolsMissing: a program is missing and cannot be built.
        """
        kubernetes = cluster_tools.kubernetes_tool(self._resolved.kubernetes.kubernetes_version, os.environ)
        charts = {each.key for each in bundle(self._resolved).charts}
        of_modules = {IN_MODULES[key] for key in charts & IN_MODULES.keys()}
        names = [kubernetes.name, *_TOOLS, *sorted(of_modules), *(("karpenter",) if self._resolved.karpenter else ())]
        provide(*names, say=step.update)
        # The load balancer controller cannot run here, and the webhooks of its real chart would get no answer.
        if KUEUE in charts and not (self._options.charts and _LOAD_BALANCERS in charts):
            with contextlib.suppress(cluster_tools.ToolsMissing):
                provide(KUEUE, say=step.update)
                names.append(KUEUE)
        self._has_kueue = KUEUE in names
        self._programs = cluster_tools.paths(*names)

    def start(self, emulator: Emulator, account: Account) -> None:
        """Start Kubernetes before the deployment, because nodes get its address from EKS."""
        self._emulator, self._account = emulator, account
        with self._steps.step("Kubernetes") as step:
            step.update("starting etcd, API server, controller manager, scheduler and kwok")
            self._cluster = self._running.enter_context(
                Cluster(
                    self._run_dir / "kubernetes",
                    programs=self._programs,
                    access_webhook=emulator.access_webhook(self._resolved.name, self._resolved.region),
                    kwok=True,
                    controllers=(KUEUE,) if self._has_kueue else (),
                )
            )
            emulator.set_api_server(self._cluster.endpoint, self._cluster.certificate_authority)
            emulator.add_reservations(self._resolved.region, self._reservations)
            version = json.loads(self._cluster.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
            step.result = f"{version.removeprefix('v')} on {self._cluster.endpoint}"

    def print_differences(self) -> None:
        """Print how the demo on this machine differs from the strategy's file."""
        if self._options.differences:
            self._print("Different from the strategy's file on this machine:")
            for difference in self._options.differences:
                self._print(f"- {difference}")
            self._console.print()

    @property
    def kubeconfig(self) -> Path:
        """The file for ``KUBECONFIG``."""
        return self._cluster.kubeconfig

    def stop(self) -> None:
        """Stop Kubernetes and everything on it."""
        self._background.shutdown()
        self._running.close()

    def install(self, folder: Path, outputs: Mapping[str, str]) -> None:
        """Wait for the node groups' nodes and the add-ons, and run the ``install.sh`` in the strategy's folder.

        Raises:
            DemoError: the nodes did not join, an add-on does not run, or the script failed.
            KueueError: the script failed because Kueue exited.
        """
        self._folder = folder
        self._kubelets = self._running.enter_context(Kubelets(self._account, self._cluster))
        with self._steps.step("Nodes") as step:
            self._wait_for_nodes(step)
        with self._steps.step("Add-ons") as step:
            step.update("waiting for their pods")
            addons, self._without_pods = addon_pods.apply(self._account, self._cluster, self._resolved.name)
            _wait(NODES_SECONDS, lambda: addon_pods.not_running(self._cluster), "add-ons do not run")
            step.result = (
                f"{counted(len(addons), 'add-on')}, with the requests that they have on AWS" if addons else "none"
            )
        if self._has_kueue:
            log_dir = self._run_dir / "kubernetes"
            kueue = Kueue(self._cluster, log_dir, program=self._programs[KUEUE])
            self._kueue = self._running.enter_context(kueue)
        summary = read_summary(folder)
        charts = self._charts(summary)
        self._environment = install_scripts.environment(
            self._cluster.environment(), self._run_dir / "bin", self._programs, charts, outputs
        )
        try:
            self._install_releases(summary)
        except DemoError:
            if self._kueue:
                self._kueue.check()
            raise
        if self._starting:
            with self._steps.step("Karpenter") as step:
                step.update("waiting for the controller")
                step.result = f"the real controller was ready {self._starting.result():.1f} s after its chart"

    def _install_releases(self, summary: Summary) -> None:
        """Run ``install.sh``, and print each release once installed."""
        lines = install_scripts.run(self._folder / INSTALL, self._environment, self._log_file)
        with contextlib.closing(lines):
            for release in summary.releases:
                with self._steps.step("Install") as step:
                    step.update(release.name)
                    waiting = install_scripts.awaited(release, self._folder)
                    any(map(waiting.is_installed, lines))
                    step.result = _described(release, is_stand_in=_chart(release) in self._stand_ins)
                if release.chart == _CONTROLLER:
                    self._starting = self._background.submit(self._start_karpenter)
            for _ in lines:
                pass

    def run_workloads(self) -> None:
        """Run one sample workload for each group and pool, and print where they run.

        Raises:
            DemoError: not all of them run.
        """
        self._samples, without = sample_workloads.samples(self._options.strategy, self._resolved)
        total, scaled = len(self._samples), self._scale_empty_groups()
        placed: list[Placed] = []
        failure: DemoError | None = None
        try:
            with self._steps.step("Workloads") as step:
                placed += sample_workloads.run(
                    self._cluster,
                    self._samples,
                    seconds=WORKLOADS_SECONDS,
                    tell=lambda done: step.update("waiting for nodes and pods", done, total),
                )
                self._check_all_run(placed)
                step.result = f"{total} of {total} run:"
        except DemoError as error:
            failure = error
        self._console.print()
        self._console.print(table(placed))
        self._console.print()
        self._print_notes([f"No workload for {name}." for name in without], scaled)
        if failure:
            raise failure

    def _check_all_run(self, placed: Sequence[Placed]) -> None:
        ran = {pod.sample.job for pod in placed}
        if waiting := [sample for sample in self._samples if sample.job not in ran]:
            self._check_karpenter()
            lines = [*sample_workloads.reasons(self._cluster, waiting), *self._refused()]
            count = f"{len(waiting)} of {counted(len(self._samples), 'workload')}"
            raise DemoError(f"not running after {WORKLOADS_SECONDS:.0f} s, {count}:\n" + "\n".join(lines))

    def uninstall(self) -> None:
        """Delete the workloads, run ``uninstall.sh``, wait until Karpenter's instances end, and stop Kubernetes."""
        with self._steps.step("Uninstall") as step:
            self._check_karpenter()  # without it, node pools are never deleted
            step.update("deleting the workloads")
            sample_workloads.delete(self._cluster, self._samples)
            step.update("uninstall.sh")
            lines = install_scripts.run(self._folder / UNINSTALL, self._environment, self._log_file)
            with contextlib.closing(lines):
                for line in lines:
                    step.update(line)
            step.update("waiting for Karpenter's instances")
            _wait(INSTANCES_SECONDS, self._instances_of_karpenter, "instances that Karpenter started still run")
            step.update("stopping Kubernetes")
            self.stop()
            step.result = "no release, workload or Karpenter node remains"

    def _wait_for_nodes(self, step: Step) -> None:
        """Wait until all nodes of the node groups are ready."""
        eks, cluster = self._account.client("eks"), self._resolved.name
        wanted = sum(
            eks.describe_nodegroup(clusterName=cluster, nodegroupName=each)["nodegroup"]["scalingConfig"]["desiredSize"]
            for each in self._account.items("eks", "list_nodegroups", "nodegroups", clusterName=cluster)
        )

        def missing() -> list[str]:
            ready = self._ready_nodes()
            step.update("waiting for nodes", ready, wanted)
            return [f"{ready} of {wanted} nodes are ready"] if ready < wanted else []

        try:
            _wait(NODES_SECONDS, missing, "the node groups' nodes did not join")
        except DemoError as error:
            raise DemoError("\n".join([str(error), *self._refused()])) from None
        step.result = f"{counted(wanted, 'node')} of the node groups"

    def _ready_nodes(self) -> int:
        items = self._cluster.request("GET", "/api/v1/nodes")["items"]
        ready = {"type": "Ready", "status": "True"}
        return sum(
            any(ready.items() <= condition.items() for condition in item["status"].get("conditions", ()))
            for item in items
        )

    def _charts(self, summary: Summary) -> Path:
        """Return a folder with the charts of all releases."""
        folder = self._run_dir / "charts"
        wanted = [chart for release in summary.releases if (chart := _chart(release))]
        self._stand_ins = charts_folder(
            wanted,
            folder,
            self._programs,
            given=self._options.charts,
        )
        return folder

    def _refused(self) -> list[str]:
        """Return a line for each instance that did not become a node, with the reason."""
        return [f"{name}: {why}" for name, why in self._kubelets.refused.items()]

    def _start_karpenter(self) -> float:
        """Start the controller while the script continues; return the seconds until the controller was ready."""
        began = time.monotonic()
        self._karpenter = self._running.enter_context(
            Karpenter(
                self._cluster,
                self._emulator,
                self._resolved.region,
                self._run_dir / "kubernetes",
                program=self._programs["karpenter"],
            )
        )
        return time.monotonic() - began

    def _check_karpenter(self) -> None:
        """Check that Karpenter is running, if the strategy has it.

        Raises:
            KarpenterError: Karpenter has exited.
        """
        if self._karpenter:
            self._karpenter.check()

    def _scale_empty_groups(self) -> list[str]:
        """Scale each empty node group to one node; return the groups' names."""
        scaled = []
        for group in self._resolved.node_groups:
            place = {"clusterName": self._resolved.name, "nodegroupName": group.name}
            eks = self._account.client("eks")
            if not eks.describe_nodegroup(**place)["nodegroup"]["scalingConfig"]["desiredSize"]:
                eks.update_nodegroup_config(**place, scalingConfig={"desiredSize": 1})
                scaled.append(group.name)
        return scaled

    def _instances_of_karpenter(self) -> list[str]:
        return [
            f"{instance['InstanceId']} {instance['InstanceType']}"
            for instance in self._account.instances()
            if any(tag["Key"] == POOL_LABEL for tag in instance.get("Tags", ()))
        ]

    def _print_notes(self, notes: Sequence[str], scaled: Sequence[str]) -> None:
        """Print how the demo differs from AWS."""
        first = "Instances boot at once, and no container runs."
        working = ["Karpenter"] * bool(self._resolved.karpenter) + ["Kueue"] * self._has_kueue
        if len(working) == 1:
            first += f" {working[0]} is the only controller that works: it runs next to the cluster."
        elif working:
            first += f" {joined(working, 'and')} are the only controllers that work: they run next to the cluster."
        lines = [first, *notes]
        if self._reservations:
            lines.append(
                "The emulator has the capacity reservations that the strategy names, with as many instances as the "
                f"node group's max, or {named_reservations.POOL_INSTANCES} for a node pool."
            )
        if self._without_pods:
            lines.append(f"Add-ons without recorded requests have no pods: {', '.join(self._without_pods)}.")
        if scaled:
            lines.append(f"The demo scaled these groups from 0 to 1 node, as an autoscaler does: {', '.join(scaled)}.")
        if self._stand_ins:
            names = ", ".join(sorted(chart.name for chart in self._stand_ins))
            lines.append(
                f"Stand-ins with the same workloads and placement replace these charts: {names}. {PULL_CHARTS} "
                "downloads the real ones, and --charts FOLDER installs them."
            )
        found = {each.partition("/")[2] for each in self._cluster.kubectl("get", _WEBHOOKS, "-o", "name").split()}
        webhooks = sorted(name for name in found if not (self._has_kueue and name.startswith(f"{KUEUE}-")))
        if webhooks:
            lines.append(f"No container runs that could answer these webhooks. Left out: {', '.join(webhooks)}.")
        self._print("Different from AWS:")
        for each in lines:
            self._print(
                textwrap.fill(
                    each, self._console.width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
                )
            )
        self._console.print()

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def differences(own: Strategy, here: Strategy) -> tuple[str, ...]:
    """Return sentences about the settings and the Kubernetes version that differ on this machine.

    Args:
        own: the strategy in its file.
        here: the strategy with the emulator's overlay.
    """
    overlay = yaml.safe_load((data.FOLDER / "overlays" / "local.yaml").read_text(encoding="utf-8"))
    changed = []
    for section, fields in overlay.items():
        for field in fields:
            before, after = (getattr(getattr(each, section), field) for each in (own, here))
            if before != after:
                how = "left out" if after is None else f"{after}, not {before}"
                changed.append(f"{section}.{field} is {how}")
    wanted = resolve(here).kubernetes.kubernetes_version
    built = cluster_tools.kubernetes_tool(wanted, os.environ).minor
    if wanted != built:
        tool = f"kubernetes-{wanted}"
        build = (
            f"make cluster-tools TOOLS={tool}"
            if Path.cwd() == demo_folder.CHECKOUT
            else f"{shlex.quote(sys.executable)} -m {cluster_tools.__name__} {tool}"
        )
        hint = f"; to build it: {build}" if tool in cluster_tools.TOOLS else ""
        changed.append(f"Kubernetes is {built}, not {wanted}{hint}")
    return tuple(changed)


def table(placed: Sequence[Placed]) -> Table:
    """Return the table of running workloads, 80 columns wide."""
    summary = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold underline")
    for name in ("Workload", "Group or pool", "Instance type", "Zone", "Devices"):
        summary.add_column(name, overflow="fold")
    summary.add_column("After", justify="right", no_wrap=True)
    for pod in placed:
        sample = pod.sample
        summary.add_row(sample.job, sample.node, pod.instance_type, pod.zone, pod.devices, f"{pod.seconds:.1f} s")
    return summary


def _chart(release: ReleaseSummary) -> Chart | None:
    return Chart(release.chart, release.version) if release.chart else None


def _described(release: ReleaseSummary, *, is_stand_in: bool) -> str:
    """Return a release's name with its version or its number of objects, on one line."""
    if release.chart:
        return f"{release.name} {release.version}{', a stand-in' if is_stand_in else ''}"
    return f"{release.name}: {counted(sum(release.kinds.values()), 'object')}"


def _wait(seconds: float, left: Callable[[], list[str]], failure: str) -> None:
    """Wait until nothing is left to wait for.

    Raises:
        DemoError: the wait took longer than ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while missing := left():
        if time.monotonic() > deadline:
            raise DemoError(f"{failure} after {seconds:.0f} s:\n" + "\n".join(missing))
        time.sleep(_POLL_SECONDS)
