"""The real Kueue controller, in place of its chart's pods in a local cluster.

This process does the work of a kubelet: it starts the controller with the settings, certificates and service account of
the newest Kueue pod. The pods become ready with the controller, so that Helm waits for it, as on AWS. The API server
calls the controller's webhooks through :mod:`eks_hardware.local.service_proxy`.
"""

from __future__ import annotations

import base64
import http.client
import json
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from eks_hardware.local import cluster_tools, processes
from eks_hardware.local.cluster import ATTEMPTS, Cluster
from eks_hardware.local.cluster_client import ApiError
from eks_hardware.local.cluster_setup import APP_LABEL, UP_ANNOTATION, is_ok, kubeconfig
from eks_hardware.local.emulator import HOST, free_port
from eks_hardware.resolve.mappings import merged

NAME = "kueue"
"""The controller's name for :class:`.cluster.Cluster`."""

INTERVAL_SECONDS = 0.3
LOG_LINES_SHOWN = 15

Object = Mapping[str, Any]

# https://github.com/kubernetes-sigs/kueue/blob/v0.19.2/charts/kueue/templates/manager/manager.yaml
_CONFIG, _CERTIFICATES = "manager-config", "cert"
# https://github.com/kubernetes-sigs/kueue/blob/v0.19.2/apis/config/v1beta2/defaults.go
_VISIBILITY_PORT = 8082
_TOKEN_SECONDS = 86_400


class KueueError(Exception):
    """Raised when Kueue exits repeatedly. The text shows the end of its log."""


@dataclass(frozen=True)
class _Running:
    """The running controller, and the ReplicaSet whose pods it replaces."""

    replica_set: str
    process: subprocess.Popen[bytes]
    folder: Path
    health: int

    @property
    def certificates(self) -> Path:
        return self.folder / "certificates"


class Kueue:
    """Runs the controller while its chart is installed; a context manager that stops it.

    Args:
        cluster: a running cluster with the controller ``kueue``.
        log_dir: the folder for the controller's log, which is kept.
        program: the controller's path; default: the program that ``make cluster-tools TOOLS=kueue`` built.
    """

    def __init__(self, cluster: Cluster, log_dir: Path, *, program: Path | None = None) -> None:
        self._cluster = cluster
        self._program = program or cluster_tools.paths(NAME)[NAME]
        self._running: _Running | None = None
        self._ended = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)
        self._error: Exception | None = None
        self.log_file = log_dir / f"{NAME}.log"

    def __enter__(self) -> Kueue:
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._end()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raise the error that ended the thread, if there is one."""
        if self._error is not None:
            raise self._error

    def log_tail(self, lines: int = LOG_LINES_SHOWN) -> str:
        """Return the last lines of the log."""
        return processes.log_tail(self.log_file, lines)

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL_SECONDS):
            try:
                self._sync()
            except (ApiError, OSError):
                # Helm is still creating or deleting the objects that the pods need.
                continue
            except Exception as error:
                self._error = error
                return

    def _sync(self) -> None:
        """Start, restart or stop the controller once, to match the pods in the cluster."""
        pods = self._pods()
        if not pods:
            self._end()
            return
        newest = max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
        replica_set = newest["metadata"]["ownerReferences"][0]["uid"]
        if self._running is None or self._running.replica_set != replica_set:
            self._end()
            self._running = self._start(newest, replica_set)
        if (code := self._running.process.poll()) is not None:
            # Restart it, as a kubelet restarts a container. Another process may have taken one of the free ports first.
            self._end()
            self._ended += 1
            if self._ended == ATTEMPTS:
                raise KueueError(f"Kueue exited {ATTEMPTS} times, the last with code {code}:\n{self.log_tail()}")
            return
        self._mount(newest, self._running.certificates)
        waiting = [pod for pod in pods if pod["status"]["phase"] != "Running"]
        if waiting and is_ok(http.client.HTTPConnection(HOST, self._running.health, timeout=5), "/readyz"):
            for pod in waiting:
                place = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
                self._cluster.request("PATCH", place, {"metadata": {"annotations": {UP_ANNOTATION: "true"}}})

    def _pods(self) -> list[Object]:
        """Return the scheduled Kueue pods."""
        path = f"/api/v1/pods?labelSelector={APP_LABEL}%3D{NAME}"
        return [
            pod
            for pod in self._cluster.request("GET", path)["items"]
            if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
        ]

    def _get(self, pod: Object, path: str) -> dict[str, Any]:
        return self._cluster.request("GET", f"/api/v1/namespaces/{pod['metadata']['namespace']}/{path}")

    def _start(self, pod: Object, replica_set: str) -> _Running:
        folder = self._cluster.folder / NAME
        folder.mkdir(exist_ok=True)
        (settings,) = self._get(pod, f"configmaps/{_volume(pod, _CONFIG)['configMap']['name']}")["data"].values()
        given = yaml.safe_load(settings)
        health, webhook, visibility = free_port(), free_port(), free_port()
        running = _Running(replica_set, self._launch(pod, given, folder, health, webhook, visibility), folder, health)
        self._cluster.route(self._routes(pod, {given["webhook"]["port"]: webhook, _VISIBILITY_PORT: visibility}))
        return running

    def _launch(
        self, pod: Object, given: Object, folder: Path, health: int, webhook: int, visibility: int
    ) -> subprocess.Popen[bytes]:
        """Start the program with the pod's arguments and configuration, changed to this machine's ports."""
        configuration = merged(
            given,
            {
                "namespace": pod["metadata"]["namespace"],
                "health": {"healthProbeBindAddress": f"{HOST}:{health}"},
                "metrics": {"bindAddress": "0"},
                "webhook": {"host": HOST, "port": webhook, "certDir": str(folder / "certificates")},
                "visibilityServer": {"bindAddress": HOST, "bindPort": visibility},
                # There is only one controller.
                "leaderElection": {"leaderElect": False},
            },
        )
        (folder / "configuration.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
        (folder / "kubeconfig").touch(mode=0o600)
        (folder / "kubeconfig").write_text(json.dumps(self._kubeconfig(pod)), encoding="utf-8")
        (container,) = pod["spec"]["containers"]
        arguments = [each for each in container["args"] if not each.startswith("--config=")]
        own = [f"--config={folder}/configuration.yaml", f"--kubeconfig={folder}/kubeconfig"]
        with self.log_file.open("ab") as log:
            return self._cluster.start_program([str(self._program), *arguments, *own], cwd=folder, stdout=log)

    def _kubeconfig(self, pod: Object) -> dict[str, object]:
        """Return a kubeconfig for the pod's service account, whose access the chart's roles limit."""
        namespace, account = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS},
        }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        token = self._cluster.request("POST", path, asked)["status"]["token"]
        authority = {"certificate-authority": str(self._cluster.certificate_authority)}
        return kubeconfig(self._cluster.endpoint, account, {"token": token}, authority)

    def _routes(self, pod: Object, ports: Mapping[int, int]) -> dict[str, int]:
        """Return the local port for each service that selects the pod."""
        labels = pod["metadata"]["labels"]
        return {
            f"{service['spec']['clusterIP']}:{port['port']}": ports[port["targetPort"]]
            for service in self._get(pod, "services")["items"]
            if service["spec"].get("selector", {}).items() <= labels.items()
            for port in service["spec"]["ports"]
            if port["targetPort"] in ports
        }

    def _mount(self, pod: Object, folder: Path) -> None:
        """Write the certificates from the Secret, which Kueue itself creates and later replaces."""
        folder.mkdir(exist_ok=True)
        secret = self._get(pod, f"secrets/{_volume(pod, _CERTIFICATES)['secret']['secretName']}")
        for name, encoded in secret.get("data", {}).items():
            content = base64.b64decode(encoded)
            if not (folder / name).is_file() or (folder / name).read_bytes() != content:
                draft = folder / f".{name}"
                draft.touch(mode=0o600)
                draft.write_bytes(content)
                draft.replace(folder / name)

    def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            processes.kill_group(running.process)


def _volume(pod: Object, name: str) -> Object:
    volume: Object = next(each for each in pod["spec"]["volumes"] if each["name"] == name)
    return volume
