"""A local Kubernetes: etcd, API server, controller manager and scheduler, and optionally kwok in place of kubelets.

It listens only on the loopback interface, on free ports, with its own certificates. etcd listens only on a socket in
the cluster's folder. The cluster keeps no data, and ends with the process that started it.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from eks_hardware.local import cluster_tools, processes
from eks_hardware.local.cluster_client import Client
from eks_hardware.local.cluster_setup import Setup
from eks_hardware.local.emulator import HOST, free_port, loopback_without_proxy
from eks_hardware.local.guarded_folder import GuardedFolder
from eks_hardware.local.service_proxy import ServiceProxy

START_TIMEOUT_SECONDS = 120.0
ATTEMPTS = 5
LOG_LINES_SHOWN = 15


class ClusterError(Exception):
    """Raised when a part of the cluster did not start or has exited, or ``kubectl`` failed. Shows the output."""


@dataclass(frozen=True)
class _Part:
    """A running program of the cluster. ``port`` is 0 for a program without a port."""

    name: str
    process: subprocess.Popen[bytes]
    log_file: Path
    port: int = 0

    def tail(self) -> str:
        return processes.log_tail(self.log_file, LOG_LINES_SHOWN)


class Cluster:
    """A running Kubernetes control plane; a context manager that stops it.

    Args:
        log_dir: The folder for the parts' logs, which are kept.
        programs: The paths of the programs by name; default: those that ``make cluster-tools`` built.
        access_webhook: The address of a webhook that authenticates tokens, and allows requests that RBAC does not
            allow, as EKS does for IAM identities (:meth:`.emulator.Emulator.access_webhook`).
        kwok: Whether kwok keeps Node objects ready and their pods in phase Running. These pods run no containers, so
            the API server calls no webhooks unless ``controllers`` are given.
        controllers: Controllers that run next to a cluster with kwok, by the label ``app.kubernetes.io/name`` of their
            pods. kwok reports these pods as ready when they have the annotation ``cluster_setup.UP_ANNOTATION``. The
            API server calls webhooks, and reaches only the services of :meth:`route`.
    """

    def __init__(
        self,
        log_dir: Path,
        *,
        programs: Mapping[str, Path] | None = None,
        access_webhook: str = "",
        kwok: bool = False,
        controllers: Collection[str] = (),
    ) -> None:
        self.log_dir = log_dir
        self._access_webhook = access_webhook
        self._kwok = kwok
        self._controllers = controllers
        self._proxy: ServiceProxy | None = None
        self._given_programs = programs
        self._programs: Mapping[str, Path] = {}
        self._folder: GuardedFolder | None = None
        self._setup: Setup | None = None
        self._client: Client | None = None
        self._parts: dict[str, _Part] = {}

    @property
    def folder(self) -> Path:
        """The folder for the cluster's files, which is removed when the cluster stops."""
        return self._running_folder.path

    @property
    def kubeconfig(self) -> Path:
        """The file for ``KUBECONFIG``, with an administrator's certificate."""
        return self._running_setup.kubeconfig

    @property
    def endpoint(self) -> str:
        """The address of the API server."""
        return f"https://{HOST}:{self._parts['kube-apiserver'].port}"

    @property
    def certificate_authority(self) -> Path:
        """The CA certificate with which clients verify the API server."""
        return self._running_setup.certificate_authority

    @property
    def pids(self) -> dict[str, int]:
        """The process group of each part."""
        return {name: part.process.pid for name, part in self._parts.items()}

    @property
    def ports(self) -> list[int]:
        """The ports on which the cluster listens."""
        return [part.port for part in self._parts.values() if part.port]

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop the cluster. If a part has exited, report that instead of the clients' errors."""
        try:
            if kind is None or issubclass(kind, Exception):
                self.check()
        finally:
            self.stop()

    def start(self) -> None:
        """Start the cluster and wait until it accepts pods.

        Raises:
            ToolsMissing: A program is not on this machine.
            ClusterError: A part exited early, or did not answer in time.
        """
        self._programs = self._given_programs or cluster_tools.paths(
            "etcd", "kubernetes", *(("kwok", "kwok-files") if self._kwok else ())
        )
        self.log_dir.mkdir(parents=True, exist_ok=True)
        # Not in log_dir: the path of a socket has at most 104 characters on macOS.
        self._folder = GuardedFolder("eks-hardware-cluster-", self.log_dir)
        try:
            try:
                self._folder.open()
            except OSError as error:
                raise ClusterError(str(error)) from None
            setup = self._setup = Setup(
                self.folder,
                access_webhook=self._access_webhook,
                webhooks=bool(self._controllers) or not self._kwok,
                controllers=self._controllers,
            )
            if self._controllers:
                self._proxy = ServiceProxy(setup.service_proxy)
            self._launch("etcd", setup.etcd())
            port = self._serve("kube-apiserver", setup.api_server, "/readyz")
            setup.write_kubeconfigs(port)
            self._client = Client(HOST, port, setup.tls)
            self._serve("kube-controller-manager", setup.controller_manager, "/healthz")
            self._serve("kube-scheduler", setup.scheduler, "/healthz")
            # The controller manager creates this service account, and the API server rejects pods until it exists.
            self._wait("kube-apiserver", port, "/api/v1/namespaces/default/serviceaccounts/default")
            if self._kwok:
                self._launch("kwok", setup.kwok(self._programs["kwok-files"] / "stage"))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the cluster and remove its files; the logs are kept."""
        try:
            if self._client is not None:
                self._client.close()
                self._client = None
            if self._proxy is not None:
                self._proxy.stop()
                self._proxy = None
        finally:
            self._parts.clear()
            if self._folder is not None:
                self._folder.close()
                self._folder = self._setup = None

    def check(self) -> None:
        """Check that every part is running.

        Raises:
            ClusterError: A part has exited.
        """
        for part in self._parts.values():
            code = part.process.poll()
            if code is not None:
                raise ClusterError(f"{part.name} exited with code {code}:\n{part.tail()}")

    def environment(self) -> dict[str, str]:
        """Return this process's environment, changed so that Kubernetes clients connect only to this cluster."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), **loopback_without_proxy(os.environ)}

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run ``kubectl`` as an administrator and return its output.

        Raises:
            ClusterError: ``kubectl`` failed, or a part of the cluster has exited.
        """
        done = subprocess.run(
            [self._programs["kubectl"], f"--cache-dir={self.folder / 'kubectl'}", *arguments],
            capture_output=True,
            check=False,
            encoding="utf-8",
            env=self.environment(),
            input=stdin,
            pass_fds=self._running_folder.held,
        )
        self.check()
        if done.returncode:
            raise ClusterError(f"kubectl {' '.join(arguments)} failed:\n{(done.stderr or done.stdout).strip()}")
        return done.stdout

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Send a request to the API server as an administrator, and return the object in the response.

        A ``PATCH`` is a JSON merge patch. A request takes milliseconds; a ``kubectl`` call takes a fifth of a second.

        Raises:
            ApiError: The API server refused the request (:mod:`eks_hardware.local.cluster_client`).
            OSError: The API server did not answer.
        """
        assert self._client is not None, "the cluster is not running"
        return self._client.request(method, path, body)

    def route(self, services: Mapping[str, int]) -> None:
        """Set the services that the API server can reach. Each call replaces the services of the previous call.

        Args:
            services: the local port of each service's ``address:port``.
        """
        assert self._proxy is not None, "the cluster has no controllers"
        self._proxy.routes.clear()
        self._proxy.routes.update(services)

    def start_program(
        self, argv: Sequence[str], *, cwd: Path, stdout: IO[bytes], env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program that is stopped with the cluster.

        Args:
            argv: the command line.
            cwd: a folder below the cluster's, which is also the program's home.
            stdout: the log.
            env: variables to add to :func:`.processes.bare_environment`.
        """
        environment = {**processes.bare_environment(cwd), **(env or {})}
        return self._running_folder.start(argv, cwd=cwd, env=environment, stdout=stdout)

    @property
    def _running_folder(self) -> GuardedFolder:
        assert self._folder is not None, "the cluster is not running"
        return self._folder

    @property
    def _running_setup(self) -> Setup:
        assert self._setup is not None, "the cluster is not running"
        return self._setup

    def _launch(self, name: str, arguments: Sequence[str], port: int = 0) -> _Part:
        log_file = self.log_dir / f"{name}.log"
        with log_file.open("wb") as log:
            process = self.start_program([str(self._programs[name]), *arguments], cwd=self.folder, stdout=log)
        part = self._parts[name] = _Part(name, process, log_file, port)
        return part

    def _serve(self, name: str, arguments: Callable[[int], Sequence[str]], path: str) -> int:
        """Start a part on a free port and wait until it is ready; return the port."""
        attempt = 1
        while True:
            port = free_port()
            part = self._launch(name, arguments(port), port)
            try:
                self._wait(name, port, path)
            except ClusterError:
                # Another process took the free port first.
                if attempt == ATTEMPTS or part.process.poll() is None or "already in use" not in part.tail():
                    raise
                processes.kill_group(part.process)
                attempt += 1
            else:
                return port

    def _wait(self, name: str, port: int, path: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not self._running_setup.answers(port, path):
            self.check()
            if time.monotonic() > deadline:
                log = self._parts[name].tail()
                raise ClusterError(f"{name} did not answer {path} within {START_TIMEOUT_SECONDS:.0f} s:\n{log}")
            time.sleep(0.05)
