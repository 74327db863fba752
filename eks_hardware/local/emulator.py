"""A local AWS emulator on the loopback interface: one ``ministack`` process without persistent state.

The emulator opens no port to the network, stores nothing, starts no containers, and ends with the process that
started it.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import http.client
import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from eks_hardware.installed_from import install_command
from eks_hardware.local import processes

HOST = "127.0.0.1"
ACCESS_KEY = "test"
SECRET_KEY = "test"
ACCOUNT_ID = "000000000000"
"""The account of these keys."""
START_TIMEOUT_SECONDS = 60.0
ATTEMPTS = 5
LOG_LINES_SHOWN = 15

REQUESTS_VARIABLE = "_EKS_HARDWARE_REQUESTS"
"""The environment variable that names the file in which the emulator records requests."""

_PROGRAM = "eks_hardware.local.emulator_program"

# Environment variables that the emulator inherits. Others could change where it listens or stores data.
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "TZ", "USER")


class EmulatorError(Exception):
    """Raised when the emulator did not start or has exited, with the reason and the end of its log."""


def check_installed() -> None:
    """Check that ``ministack`` is installed.

    Raises:
        EmulatorError: ``ministack`` is not installed.
    """
    if importlib.util.find_spec("ministack") is None:
        raise EmulatorError(f"ministack is not installed: {install_command('local')}")


class Emulator:
    """A running ``ministack``; a context manager that stops it.

    Args:
        log_file: The file for the emulator's output.
        work_dir: The folder for the emulator's files, removed when it stops; default: a temporary folder.
        patched: Apply :mod:`eks_hardware.local.emulator_patches`; False leaves ministack unchanged.
        requests_file: The file that records the requests of AWS clients, as
            :mod:`eks_hardware.local.emulator_patches.recorded` describes it; default: none are recorded.
    """

    def __init__(
        self,
        log_file: Path,
        *,
        work_dir: Path | None = None,
        patched: bool = True,
        requests_file: Path | None = None,
    ) -> None:
        self._patched = patched
        self.requests_file = requests_file
        self.log_file = log_file
        self.port = 0
        # Part of the health response, to detect another emulator on the same port.
        self.token = secrets.token_hex(8)
        self._given_work_dir = work_dir
        self._work_dir: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint_url(self) -> str:
        """The address for ``AWS_ENDPOINT_URL``."""
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its process group."""
        assert self._process is not None, "the emulator is not running"
        return self._process.pid

    @property
    def work_dir(self) -> Path:
        """The folder for the emulator's files."""
        assert self._work_dir is not None, "the emulator is not running"
        return self._work_dir

    def __enter__(self) -> Emulator:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop the emulator. If it has already exited, report that instead of the clients' errors."""
        try:
            if kind is not None and issubclass(kind, Exception):
                self.check()
        finally:
            self.stop()

    def start(self) -> None:
        """Start the emulator on a free port and wait until it answers.

        Raises:
            EmulatorError: The emulator is not installed, exited early, or did not answer in time.
        """
        check_installed()
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        if self._given_work_dir is None:
            self._work_dir = Path(tempfile.mkdtemp(prefix="eks-hardware-emulator-"))
        else:
            self._work_dir = self._given_work_dir.absolute()
            self._work_dir.mkdir(parents=True, exist_ok=True)
        try:
            for attempt in range(1, ATTEMPTS + 1):
                self.port = free_port()
                with self.log_file.open("wb") as log:
                    self._launch(log)
                if self._wait_until_ready():
                    return
                self._stop_process()
                # Another process took the free port first.
                if not self._port_was_taken() or attempt == ATTEMPTS:
                    raise EmulatorError(f"the emulator exited before it answered:\n{self.log_tail()}")
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Check that the emulator is running.

        Raises:
            EmulatorError: The emulator process has exited.
        """
        code = self._process.poll() if self._process else None
        if code is not None:
            raise EmulatorError(f"the emulator exited with code {code}:\n{self.log_tail()}")

    def stop(self) -> None:
        """Stop the emulator and remove its files; the log is kept."""
        self._stop_process()
        if self._work_dir is not None:
            shutil.rmtree(self._work_dir, ignore_errors=True)
            self._work_dir = None

    def detach(self) -> None:
        """Keep the emulator running after this process ends; ``stop_detached`` stops it."""
        assert self._process is not None, "the emulator is not running"
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(b"k")
            self._process.stdin.close()
        # Without this, Python warns about a child process that was never waited for.
        self._process.returncode = 0
        self._process = None
        self._work_dir = None

    def is_running(self) -> bool:
        """Return whether the process exists."""
        return self._process is not None and self._process.poll() is None

    def set_api_server(self, endpoint: str, certificate_authority: Path) -> None:
        """Make every EKS cluster report this Kubernetes API server as its own.

        Args:
            endpoint: the API server's address, such as ``https://127.0.0.1:6443``.
            certificate_authority: the file of the CA certificate with which clients verify the API server.
        """
        authority = base64.b64encode(certificate_authority.read_bytes()).decode()
        self._control("api-server", {"endpoint": endpoint, "certificate_authority": authority})

    def access_webhook(self, cluster: str, region: str) -> str:
        """Return the address of the webhook that authenticates and authorizes callers of an EKS cluster's API."""
        return f"{self.endpoint_url}/_ministack/eks-auth/{ACCOUNT_ID}/{region}/{cluster}/{self.token}"

    def set_no_capacity(self, *offers: Mapping[str, str]) -> None:
        """Make EC2 refuse instances with these values of ``type``, ``zone`` and ``lifecycle``.

        An omitted key matches any value. Each call replaces the offers of the previous call.
        """
        self._control("no-capacity", offers)

    def deliver(self, event: Mapping[str, object]) -> None:
        """Make EventBridge deliver an AWS service's event to the targets of all matching rules.

        Args:
            event: an event from :mod:`eks_hardware.local.emulator_patches.events`.
        """
        self._control("event", event)

    def add_reservations(self, region: str, reservations: Sequence[Mapping[str, object]]) -> None:
        """Add capacity reservations to EC2. Unlike on AWS, the caller can choose their IDs.

        Args:
            region: the reservations' region.
            reservations: each with ``instance_type``, ``zone_id`` and ``count``, and optionally ``id``, ``is_block``
                (a Capacity Block of a week), ``tags``, ``owner`` and ``group_arn`` (a resource group).
        """
        self._control("reservations", {"region": region, "reservations": reservations})

    def set_failures(self, every: int) -> None:
        """Make every n-th Terraform request fail, alternately by throttling and with an internal error; 0: none."""
        self._control("failures", every)

    def set_quotas_raised(self, value: bool) -> None:
        """Raise every quota of the account, or restore a new account's defaults, which apply at the start."""
        self._control("raised-quotas", value)

    def set_clock_ahead(self, duration: datetime.timedelta) -> None:
        """Set the emulator's clock ahead of this machine's. Reservations start and end by the emulator's clock.

        EC2 applies what is due before it answers the next request.
        """
        self._control("clock", duration.total_seconds())

    def _control(self, name: str, value: object) -> None:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        try:
            connection.request("POST", f"/_eks_hardware/{name}", json.dumps(value))
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != http.client.NO_CONTENT:
            raise EmulatorError(f"the emulator answered {status} to {name}")

    def environment(self) -> dict[str, str]:
        """Return this process's environment, changed so that AWS clients connect only to the emulator."""
        return environment(self.endpoint_url, self.work_dir, os.environ)

    def log_tail(self, lines: int = LOG_LINES_SHOWN) -> str:
        """Return the last lines of the log."""
        return processes.log_tail(self.log_file, lines)

    def _launch(self, log: IO[bytes]) -> None:
        recording = {REQUESTS_VARIABLE: str(self.requests_file.absolute())} if self.requests_file else {}
        self._process = processes.start(
            [sys.executable, "-m", _PROGRAM, *(["patched"] if self._patched else [])],
            cwd=self.work_dir,
            env={**server_environment(self.port, self.work_dir, self.token, os.environ), **recording},
            stdin=subprocess.PIPE,
            stdout=log,
        )

    def _wait_until_ready(self) -> bool:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while self.is_running():
            if answers(self.port, self.token):
                return True
            if time.monotonic() > deadline:
                raise EmulatorError(
                    f"the emulator did not answer within {START_TIMEOUT_SECONDS:.0f} s:\n{self.log_tail()}"
                )
            time.sleep(0.1)
        return False

    def _port_was_taken(self) -> bool:
        log = self.log_tail(100).lower()
        return "already in use" in log or "errno 98" in log or "errno 48" in log

    def _stop_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        processes.stop(process)
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()


def free_port() -> int:
    """Return an unused loopback port."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def answers(port: int, token: str) -> bool:
    """Return whether the emulator with this token answers on this port."""
    # http.client, because it ignores proxies.
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/_ministack/health")
        return bool(json.load(connection.getresponse())["edition"] == token)
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return False
    finally:
        connection.close()


def stop_detached(pid: int, port: int, token: str, work_dir: Path) -> bool:
    """Stop an emulator that was left running, and remove its files; return whether it was still running.

    A process that does not answer with the token is not this emulator, and is left alone.
    """
    running = answers(port, token)
    if running:
        processes.stop_group(pid)
    shutil.rmtree(work_dir, ignore_errors=True)
    return running


def server_environment(port: int, work_dir: Path, token: str, base: Mapping[str, str]) -> dict[str, str]:
    """Return the emulator's own environment."""
    return {
        **{name: base[name] for name in _INHERITED if name in base},
        # ministack's default is every interface of the machine.
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": HOST,
        "MINISTACK_EDITION": token,
        "PERSIST_STATE": "0",
        "S3_PERSIST": "0",
        "STATE_DIR": str(work_dir / "state"),
        "S3_DATA_DIR": str(work_dir / "s3"),
        "TMPDIR": str(work_dir),
        # Further listeners, on fixed ports of all interfaces.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        # With Docker available, ministack would pull a Kubernetes image for every cluster.
        "DOCKER_HOST": f"unix://{work_dir}/no-docker.sock",
        "PYTHONUNBUFFERED": "1",
    }


def environment(endpoint_url: str, work_dir: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return ``base`` with every AWS setting replaced by the emulator's."""
    # All AWS_* variables: a profile, a web identity or a service's endpoint would override the settings here.
    kept = {name: value for name, value in base.items() if not name.startswith("AWS_")}
    empty = work_dir / "no-aws-config"
    empty.touch()
    return {
        **kept,
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_CONFIG_FILE": str(empty),
        "AWS_SHARED_CREDENTIALS_FILE": str(empty),
        "AWS_EC2_METADATA_DISABLED": "true",
        **loopback_without_proxy(base),
    }


def loopback_without_proxy(base: Mapping[str, str]) -> dict[str, str]:
    """Return variables that exempt this machine from the proxy, in addition to the hosts that ``base`` exempts."""
    direct = [part for part in (base.get("NO_PROXY") or base.get("no_proxy") or "").split(",") if part]
    return dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(dict.fromkeys([*direct, HOST, "localhost"])))
