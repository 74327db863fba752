"""Requests to a local cluster's API server over one open connection. A ``kubectl`` call would take 0.2 s."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any

_TIMEOUT_SECONDS = 30
_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    """Raised when the API server refuses a request.

    Attributes:
        status: The HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """A client with an administrator's certificate. Threads can share it; requests are sent one at a time."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        self._connection = http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_SECONDS, context=tls)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """Send a request and return the object in the response. A ``PATCH`` is a JSON merge patch.

        Raises:
            ApiError: The API server refused the request.
            OSError: The API server did not answer.
        """
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = _PATCH if method == "PATCH" else "application/json"
        with self._lock:
            status, text = self._send(method, path, json.dumps(body) if body is not None else None, headers)
        answer: dict[str, Any] = json.loads(text) if text.startswith(b"{") else {}
        if status >= http.client.BAD_REQUEST:
            raise ApiError(status, answer.get("message") or f"{method} {path}: HTTP {status}")
        return answer

    def _send(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        reused = self._connection.sock is not None
        try:
            self._connection.request(method, path, body, dict(headers))
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            # The server may have closed an idle connection. In this case it has not read the request.
            if reused and isinstance(error, http.client.RemoteDisconnected | ConnectionError):
                return self._send(method, path, body, headers)
            if isinstance(error, OSError):
                raise
            raise OSError(f"{method} {path}: {error!r}") from error
