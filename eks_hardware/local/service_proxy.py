"""A proxy from a local cluster's API server to the services of controllers that run next to the cluster.

An API server calls webhooks and aggregated APIs at a service's address, but this machine has no service network. The
API server therefore connects through this proxy, with HTTP CONNECT
(https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/). The proxy refuses connections to other
controllers' services at once.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import socketserver
import threading
from pathlib import Path
from typing import cast

from eks_hardware.local.emulator import HOST

_CHUNK_BYTES = 65536
_POLL_SECONDS = 0.05


class ServiceProxy:
    """A proxy on a socket, served by threads until it is stopped.

    Args:
        path: the socket to create.

    Attributes:
        routes: the local port of each service's ``address:port``.
    """

    def __init__(self, path: Path) -> None:
        self.routes: dict[str, int] = {}
        self._server = _Server(str(path), _Connection)
        self._server.routes = self.routes
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="services", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop accepting connections."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    routes: dict[str, int]


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        """Connect to the controller whose service the request names."""
        words = self.rfile.readline().decode(errors="replace").split()
        while self.rfile.readline().strip():
            pass
        port = cast(_Server, self.server).routes.get(words[1]) if words[:1] == ["CONNECT"] else None
        # Either end can close the connection at any time.
        with contextlib.suppress(OSError):
            if port is None:
                self.wfile.write(b"HTTP/1.1 502 no controller serves this address\r\n\r\n")
                return
            with socket.create_connection((HOST, port)) as controller:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                _exchange(self.connection, controller)


def _exchange(one: socket.socket, other: socket.socket) -> None:
    """Copy bytes in both directions until one end closes the connection."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(one, selectors.EVENT_READ, other)
        waiting.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in waiting.select():
                sent = cast(socket.socket, key.fileobj).recv(_CHUNK_BYTES)
                if not sent:
                    return
                key.data.sendall(sent)
