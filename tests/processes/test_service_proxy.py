"""The proxy between a local cluster's API server and the controllers next to it."""

from __future__ import annotations

import socket
from pathlib import Path

from eks_hardware.local.service_proxy import ServiceProxy


def connect(proxy: Path, request: str) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(10)
    client.connect(str(proxy))
    client.sendall(f"{request}\r\nHost: services\r\n\r\n".encode())
    return client


def test_it_connects_the_services_of_its_routes_only(tmp_path: Path) -> None:
    proxy = ServiceProxy(tmp_path / "socket")
    try:
        with socket.create_server(("127.0.0.1", 0)) as controller:
            proxy.routes["172.20.0.9:443"] = controller.getsockname()[1]
            with connect(tmp_path / "socket", "CONNECT 172.20.0.9:443 HTTP/1.1") as client:
                assert client.recv(100) == b"HTTP/1.1 200 OK\r\n\r\n"
                served, _ = controller.accept()
                with served:
                    client.sendall(b"asked")
                    assert served.recv(100) == b"asked"
                    served.sendall(b"answered")
                    assert client.recv(100) == b"answered"
                assert client.recv(100) == b"", "the controller closed the connection"
            for request in ("CONNECT 172.20.0.8:443 HTTP/1.1", "GET /metrics HTTP/1.1", ""):
                with connect(tmp_path / "socket", request) as client:
                    assert client.recv(100).startswith(b"HTTP/1.1 502 ")
        with connect(tmp_path / "socket", "CONNECT 172.20.0.9:443 HTTP/1.1") as client:
            assert client.recv(100) == b"", "the controller has ended"
    finally:
        proxy.stop()
