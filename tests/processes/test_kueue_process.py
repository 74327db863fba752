"""Kueue's process in place of its pods. The cluster and the controller are not the real ones of tests/cluster."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from eks_hardware.local import emulator, kueue_process
from eks_hardware.local.cluster import ATTEMPTS, Cluster
from eks_hardware.local.cluster_client import ApiError
from eks_hardware.local.cluster_setup import UP_ANNOTATION
from eks_hardware.local.kueue_process import Kueue, KueueError
from helpers.polling import eventually

# Is ready when its certificate is mounted.
CONTROLLER = """
import http.server, os, sys, yaml
(file,) = (each.removeprefix("--config=") for each in sys.argv if each.startswith("--config="))
with open(file) as text:
    settings = yaml.safe_load(text)
host, port = settings["health"]["healthProbeBindAddress"].split(":")
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        there = os.path.exists(settings["webhook"]["certDir"] + "/tls.crt")
        self.send_response(200 if there and self.path == "/readyz" else 500)
        self.end_headers()
try:
    http.server.HTTPServer((host, int(port)), Ready).serve_forever()
except OSError:
    sys.exit("listen tcp: bind: address already in use")
"""
LABELS = {"app.kubernetes.io/name": "kueue", "pod-template-hash": "1"}
SPACE = "/api/v1/namespaces/kueue-system"


def kueue_pod(replica_set: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "kueue-1",
            "namespace": "kueue-system",
            "labels": LABELS,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"uid": replica_set}],
        },
        "spec": {
            "nodeName": "node",
            "serviceAccountName": "kueue",
            "containers": [{"args": ["--config=/etc/kueue.yaml", "--zap-log-level=2"]}],
            "volumes": [
                {"name": "cert", "secret": {"secretName": "certificate"}},
                {"name": "manager-config", "configMap": {"name": "configuration"}},
            ],
        },
        "status": {"phase": "Pending"},
    }


class FakeCluster:
    """A cluster as Kueue's process uses it."""

    endpoint = "https://127.0.0.1:6443"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate_authority = folder / "ca.crt"
        self.pods: list[dict[str, Any]] = []
        self.secret: dict[str, Any] = {}
        self.started: list[subprocess.Popen[bytes]] = []
        self.routes: Mapping[str, int] = {}

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        service = {"clusterIP": "172.20.0.9", "ports": [{"port": 443, "targetPort": 9443}]}
        answers: dict[str, Any] = {
            "/api/v1/pods?labelSelector=app.kubernetes.io/name%3Dkueue": {"items": self.pods},
            f"{SPACE}/configmaps/configuration": {"data": {"kueue.yaml": "{webhook: {port: 9443}}"}},
            f"{SPACE}/secrets/certificate": self.secret,
            f"{SPACE}/services": {"items": [{"spec": {**service, "selector": LABELS}}, {"spec": {"ports": []}}]},
            f"{SPACE}/serviceaccounts/kueue/token": {"status": {"token": "of-the-account"}},
        }
        if method == "PATCH":
            assert (path, body) == (f"{SPACE}/pods/kueue-1", {"metadata": {"annotations": {UP_ANNOTATION: "true"}}})
            self.pods[0]["status"]["phase"] = "Running"
            return {}
        if path not in answers:
            raise ApiError(404, path)
        return dict(answers[path])

    def start_program(self, argv: list[str], *, cwd: Path, stdout: Any) -> subprocess.Popen[bytes]:
        self.started.append(
            subprocess.Popen(argv, cwd=cwd, env=os.environ, stdout=stdout, stderr=stdout, start_new_session=True)
        )
        return self.started[-1]

    def route(self, services: Mapping[str, int]) -> None:
        self.routes = services


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    return FakeCluster(tmp_path)


def kueue(cluster: FakeCluster, text: str = CONTROLLER) -> Kueue:
    program = cluster.folder / "controller"
    program.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    program.chmod(0o755)
    return Kueue(cast("Cluster", cluster), cluster.folder, program=program)


def phases_of_pods(cluster: FakeCluster) -> list[str]:
    return [each["status"]["phase"] for each in cluster.pods]


def test_pods_are_ready_when_the_controller_is(cluster: FakeCluster) -> None:
    with kueue(cluster):
        cluster.pods = [kueue_pod("first")]
        assert eventually(lambda: len(cluster.started), 1) == 1
        assert phases_of_pods(cluster) == ["Pending"], "it has no certificate"
        cluster.secret = {"data": {"tls.crt": base64.b64encode(b"certificate").decode()}}
        assert eventually(lambda: phases_of_pods(cluster), ["Running"]) == ["Running"]
        assert list(cluster.routes) == ["172.20.0.9:443"]
        assert "of-the-account" in (cluster.folder / "kueue" / "kubeconfig").read_text(encoding="utf-8")
        # Helm changes the configuration: the Deployment has another ReplicaSet.
        cluster.pods = [kueue_pod("second")]
        assert eventually(lambda: phases_of_pods(cluster), ["Running"]) == ["Running"]
        assert [each.poll() is None for each in cluster.started] == [False, True]
        cluster.pods = []
        assert eventually(lambda: cluster.started[-1].poll() is not None)


def test_it_takes_another_port(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.secret = {"data": {"tls.crt": ""}}
    with socket.socket() as taken:
        taken.bind((emulator.HOST, 0))  # without listening, so that no check of the controller waits for an answer
        offered = [taken.getsockname()[1]]
        monkeypatch.setattr(kueue_process, "free_port", lambda: offered.pop() if offered else emulator.free_port())
        with kueue(cluster):
            cluster.pods = [kueue_pod("first")]
            assert eventually(lambda: phases_of_pods(cluster), ["Running"]) == ["Running"]
    assert len(cluster.started) == 2


def test_it_starts_again_until_it_has_ended_too_often(cluster: FakeCluster) -> None:
    def failure(running: Kueue) -> str:
        try:
            running.check()
        except KueueError as error:
            return str(error)
        return ""

    cluster.pods = [kueue_pod("first")]
    running = kueue(cluster, "import sys; sys.exit('no such field')")
    with contextlib.suppress(KueueError), running:
        expected = f"Kueue exited {ATTEMPTS} times, the last with code 1:\n" + "\n".join(["no such field"] * ATTEMPTS)
        assert eventually(lambda: failure(running), expected) == expected
    assert len(cluster.started) == ATTEMPTS
