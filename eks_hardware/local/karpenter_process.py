"""The real Karpenter controller, with the settings from its chart's Deployment in a local cluster.

In a local cluster, kwok only reports pods as running. This process does the work of Karpenter's pod: it watches the
cluster, and starts instances in the AWS emulator.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eks_hardware.local import cluster_tools, processes
from eks_hardware.local.cluster import ATTEMPTS, Cluster
from eks_hardware.local.cluster_setup import is_ok
from eks_hardware.local.emulator import HOST, Emulator, free_port, loopback_without_proxy
from eks_hardware.units import amount

START_TIMEOUT_SECONDS = 120.0
LOG_LINES_SHOWN = 15

_DEPLOYMENT = "app.kubernetes.io/name=karpenter"


class KarpenterError(Exception):
    """Raised when Karpenter is not installed, did not start, or has exited. The text shows the end of its log."""


class Karpenter:
    """A running Karpenter controller; a context manager that stops it.

    Args:
        cluster: a cluster where Karpenter's chart is installed.
        emulator: the AWS emulator in which Karpenter starts instances.
        region: the EKS cluster's region.
        log_dir: the folder for Karpenter's log, which is kept.
        program: the controller's path; default: the program that ``make cluster-tools`` built.
    """

    def __init__(
        self, cluster: Cluster, emulator: Emulator, region: str, log_dir: Path, *, program: Path | None = None
    ) -> None:
        self._cluster = cluster
        self._emulator = emulator
        self._region = region
        self._given_program = program
        self._process: subprocess.Popen[bytes] | None = None
        self.log_file = log_dir / "karpenter.log"

    def __enter__(self) -> Karpenter:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the controller and wait until it is ready.

        Raises:
            ToolsMissing: The program is not on this machine.
            KarpenterError: The chart is not installed, or the controller exited or was not ready in time.
        """
        program = self._given_program or cluster_tools.paths("karpenter")["karpenter"]
        found = self._cluster.kubectl("get", "deployments", "--all-namespaces", "-l", _DEPLOYMENT, "-o", "json")
        deployments = json.loads(found)["items"]
        if not deployments:
            raise KarpenterError(f"no Deployment has the label {_DEPLOYMENT}; install Karpenter's chart first")
        settings = _settings(deployments[0])
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._launch(program, settings)
            except KarpenterError:
                # Another process took one of the free ports first.
                if attempt == ATTEMPTS or "already in use" not in self.log_tail():
                    raise
            else:
                return

    def _launch(self, program: Path, settings: Mapping[str, str]) -> None:
        health = free_port()
        folder = self._cluster.folder / "karpenter"
        folder.mkdir(exist_ok=True)
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("wb") as log:
            self._process = self._cluster.start_program(
                [str(program)],
                cwd=folder,
                stdout=log,
                env={
                    **settings,
                    **self._connections(),
                    "HEALTH_PROBE_PORT": str(health),
                    "METRICS_PORT": str(free_port()),
                },
            )
        try:
            self._wait(health)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the controller; the log is kept."""
        process, self._process = self._process, None
        if process is not None:
            processes.kill_group(process)

    def check(self) -> None:
        """Check that the controller is running.

        Raises:
            KarpenterError: The controller has exited.
        """
        code = self._process.poll() if self._process else None
        if code is not None:
            raise KarpenterError(f"Karpenter exited with code {code}:\n{self.log_tail()}")

    def log_tail(self, lines: int = LOG_LINES_SHOWN) -> str:
        """Return the last lines of the log."""
        return processes.log_tail(self.log_file, lines)

    def _connections(self) -> dict[str, str]:
        aws = {name: value for name, value in self._emulator.environment().items() if name.startswith("AWS_")}
        return {
            **aws,
            **loopback_without_proxy({}),
            "AWS_REGION": self._region,
            "DISABLE_LEADER_ELECTION": "true",
            "KUBECONFIG": str(self._cluster.kubeconfig),
        }

    def _wait(self, port: int) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not is_ok(http.client.HTTPConnection(HOST, port, timeout=5), "/readyz"):
            self.check()
            if time.monotonic() > deadline:
                raise KarpenterError(f"Karpenter was not ready in {START_TIMEOUT_SECONDS:.0f} s:\n{self.log_tail()}")
            time.sleep(0.1)


def _settings(deployment: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment of the Deployment's container, with the values that pod fields would have in a pod."""
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    return {
        variable["name"]: variable["value"]
        if "value" in variable
        else _field(variable["valueFrom"], deployment, container)
        for variable in container["env"]
    }


def _field(source: Mapping[str, Any], deployment: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    if "fieldRef" in source:
        return str(deployment["metadata"]["namespace"])
    kind, _, resource = source["resourceFieldRef"]["resource"].partition(".")
    quantity = amount(container.get("resources", {}).get(kind, {}).get(resource, "1"))
    # In millicores and bytes, the units that the chart's divisors select.
    return str(int(quantity * 1000 if resource == "cpu" else quantity))
