"""A port that another process takes between the search for a free one and its use. The controller is a script."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from eks_hardware.local import emulator, karpenter_process
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.karpenter_process import Karpenter, KarpenterError

# Go's message for a busy port.
_CONTROLLER = """
import http.server, os, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")
try:
    http.server.HTTPServer(("127.0.0.1", int(os.environ["HEALTH_PROBE_PORT"])), Ready).serve_forever()
except OSError:
    sys.exit("listen tcp: bind: address already in use")
"""
_DEPLOYMENT = {"spec": {"template": {"spec": {"containers": [{"name": "controller", "env": []}]}}}}


class _Cluster:
    """A cluster as Karpenter's process uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kubeconfig = folder, folder / "kubeconfig"
        self.starts = 0

    def kubectl(self, *_: str) -> str:
        return json.dumps({"items": [_DEPLOYMENT]})

    def start_program(self, argv: list[str], *, cwd: Path, stdout: Any, env: dict[str, str]) -> subprocess.Popen[bytes]:
        self.starts += 1
        return subprocess.Popen(
            argv, cwd=cwd, env={**os.environ, **env}, stdout=stdout, stderr=stdout, start_new_session=True
        )


class _Emulator:
    def environment(self) -> dict[str, str]:
        return {}


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind((emulator.HOST, 0))  # without listening, so that no check of the controller waits for an answer
        yield int(taken.getsockname()[1])


def karpenter(cluster: _Cluster, folder: Path) -> Karpenter:
    program = folder / "controller"
    program.write_text(f"#!{sys.executable}\n{_CONTROLLER}", encoding="utf-8")
    program.chmod(0o755)
    return Karpenter(cast("Cluster", cluster), cast("Emulator", _Emulator()), "us-west-2", folder, program=program)


def test_karpenter_takes_another_port(busy: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = [busy]
    monkeypatch.setattr(karpenter_process, "free_port", lambda: offered.pop() if offered else emulator.free_port())
    cluster = _Cluster(tmp_path)
    with karpenter(cluster, tmp_path) as running:
        running.check()
    assert cluster.starts == 2


def test_karpenter_gives_up_if_no_port_is_free(busy: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(karpenter_process, "free_port", lambda: busy)
    with pytest.raises(KarpenterError, match="already in use"):
        karpenter(_Cluster(tmp_path), tmp_path).start()
