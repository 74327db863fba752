"""The command lines of a local cluster's programs, and the certificates and kubeconfigs that they read."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from eks_hardware.kubernetes.device_plugins import NEURON_SCHEDULER
from eks_hardware.local.emulator import HOST

if TYPE_CHECKING:
    from eks_hardware.local.cluster_certificates import Pair

# One of the two ranges that EKS chooses from:
# https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
_SERVICES = "172.20.0.0/16"
_CONTROLLER_MANAGER = "system:kube-controller-manager"
_SCHEDULER = "system:kube-scheduler"
# The second profile stands in for the Neuron chart's scheduler, which cannot run here. The real scheduler also keeps a
# pod's cores together.
_PROFILES = ("default-scheduler", NEURON_SCHEDULER)
APP_LABEL = "app.kubernetes.io/name"
"""The label of a controller's pods."""
UP_ANNOTATION = "eks-hardware.local/up"
"""The annotation of a controller's pods that is "true" when the controller is ready."""
_READY_STAGE = "pod-ready"
_FRONT_PROXY = "front-proxy"
_WEBHOOKS = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")


class Setup:
    """The arguments and files of a cluster's programs. The constructor creates the certificates.

    Args:
        folder: The cluster's folder.
        access_webhook: The address of a webhook for tokens and for requests that RBAC does not allow; empty for none.
        webhooks: Whether the API server calls admission webhooks.
        controllers: The names of the controllers that run next to the cluster.
    """

    def __init__(
        self, folder: Path, *, access_webhook: str = "", webhooks: bool, controllers: Collection[str] = ()
    ) -> None:
        self._folder = folder
        self._access_webhook = access_webhook
        self._webhooks = webhooks
        self._controllers = sorted(controllers)
        # Imported late: its library is an extra.
        from eks_hardware.local.cluster_certificates import Authority

        authority = Authority(folder)
        self._authority = authority.certificate
        self._server = authority.server(HOST)
        self._service_accounts = authority.key("service-accounts")
        self._users = {
            "admin": authority.client("admin", group="system:masters"),
            _CONTROLLER_MANAGER: authority.client(_CONTROLLER_MANAGER),
            _SCHEDULER: authority.client(_SCHEDULER),
        }
        self._front_proxy = authority.client(_FRONT_PROXY)
        self.tls = ssl.create_default_context(cafile=str(self._authority))
        self.tls.load_cert_chain(self._users["admin"].certificate, self._users["admin"].key)

    @property
    def certificate_authority(self) -> Path:
        """The CA certificate with which clients verify the API server."""
        return self._authority

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self._folder / "admin.kubeconfig"

    def etcd(self) -> Sequence[str]:
        """Return the arguments of etcd. It listens on sockets in the folder, which only this user can reach."""
        # Advertised addresses must have a port, which becomes part of the socket's name. Nothing connects to them.
        peer = "unix://peer:1"
        return (
            f"--data-dir={self._folder}/etcd",
            f"--listen-client-urls={self._etcd_url}",
            "--advertise-client-urls=unix://client:1",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        )

    def api_server(self, port: int) -> Sequence[str]:
        """Return the arguments of kube-apiserver."""
        return (
            *self._serving(port),
            f"--etcd-servers={self._etcd_url}",
            f"--advertise-address={HOST}",
            "--endpoint-reconciler-type=none",
            f"--service-cluster-ip-range={_SERVICES}",
            *self._access(),
            # As on EKS: https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
            "--enable-admission-plugins=ExtendedResourceToleration",
            *(() if self._webhooks else (f"--disable-admission-plugins={','.join(_WEBHOOKS)}",)),
            *(self._services() if self._controllers else ()),
            # As on EKS: device plugins are privileged.
            "--allow-privileged=true",
            f"--client-ca-file={self._authority}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={self._service_accounts.certificate}",
            f"--service-account-signing-key-file={self._service_accounts.key}",
        )

    @property
    def service_proxy(self) -> Path:
        """The socket of the proxy through which the API server connects to services."""
        return self._folder / "services.sock"

    def _services(self) -> Sequence[str]:
        """Return the arguments for webhooks and aggregated APIs of controllers that run next to the cluster."""
        transport = {"uds": {"udsName": str(self.service_proxy)}}
        connection = {"proxyProtocol": "HTTPConnect", "transport": transport}
        configuration = {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }
        file = self._folder / "egress.yaml"
        file.write_text(json.dumps(configuration), encoding="utf-8")
        return (
            f"--egress-selector-config-file={file}",
            # As on EKS: an aggregated API trusts the API server to identify the caller.
            f"--proxy-client-cert-file={self._front_proxy.certificate}",
            f"--proxy-client-key-file={self._front_proxy.key}",
            f"--requestheader-client-ca-file={self._authority}",
            f"--requestheader-allowed-names={_FRONT_PROXY}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        )

    def _access(self) -> Sequence[str]:
        """Return the arguments for authentication and authorization."""
        if not self._access_webhook:
            return ("--authorization-mode=Node,RBAC",)
        file = self._folder / "access-webhook.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(json.dumps(kubeconfig(self._access_webhook, "kube-apiserver", {})), encoding="utf-8")
        return (
            "--authorization-mode=Node,RBAC,Webhook",
            *(
                argument
                for review in ("authentication-token", "authorization")
                for argument in (f"--{review}-webhook-config-file={file}", f"--{review}-webhook-version=v1")
            ),
            # A changed access entry takes effect within 10 s. The API server's own cache of tokens has no flag.
            "--authentication-token-webhook-cache-ttl=0s",
            "--authorization-webhook-cache-authorized-ttl=0s",
            "--authorization-webhook-cache-unauthorized-ttl=0s",
        )

    def controller_manager(self, port: int) -> Sequence[str]:
        """Return the arguments of kube-controller-manager."""
        return (
            *self._serving(port),
            f"--kubeconfig={self._kubeconfig_of(_CONTROLLER_MANAGER)}",
            "--leader-elect=false",
            # kwok's nodes never fail. On a busy machine its heartbeats are late, and the pods of a node that was
            # briefly not ready would never become ready again.
            "--node-monitor-grace-period=24h",
            "--use-service-account-credentials=true",
            # The default limit of 20 requests per second delays the start by seconds.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            f"--root-ca-file={self._authority}",
            f"--service-account-private-key-file={self._service_accounts.key}",
        )

    def scheduler(self, port: int) -> Sequence[str]:
        """Return the arguments of kube-scheduler. It also places pods that name another scheduler of ``_PROFILES``."""
        configuration = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self._kubeconfig_of(_SCHEDULER))},
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": name} for name in _PROFILES],
        }
        file = self._folder / "scheduler.yaml"
        file.write_text(json.dumps(configuration), encoding="utf-8")
        return (*self._serving(port), f"--config={file}")

    def kwok(self, folder: Path) -> Sequence[str]:
        """Write the stages of nodes and pods to one file, and return kwok's arguments."""
        kinds = ("pod/fast", "node/fast", "node/heartbeat-with-lease")
        files = sorted(file for kind in kinds for file in (folder / kind).glob("*.yaml"))
        stages = [
            yaml.safe_load(file.read_text(encoding="utf-8")) for file in files if file.name != "kustomization.yaml"
        ]
        for stage in stages:
            if stage["metadata"]["name"] == _READY_STAGE:
                stage["spec"]["selector"]["matchExpressions"].append(self._is_up())
        config = self._folder / "kwok.yaml"
        config.write_text(yaml.safe_dump_all(stages), encoding="utf-8")
        return (f"--kubeconfig={self.kubeconfig}", f"--config={config}", "--manage-all-nodes")

    def _is_up(self) -> dict[str, object]:
        """Return the condition under which kwok reports a pod as ready: a controller's pod needs the annotation."""
        names = ", ".join(map(json.dumps, self._controllers)) or "empty"
        label, annotation = json.dumps(APP_LABEL), json.dumps(UP_ANNOTATION)
        one_of_them = f".metadata.labels[{label}] | IN({names})"
        key = f'if {one_of_them} then .metadata.annotations[{annotation}] else "true" end'
        return {"key": key, "operator": "In", "values": ["true"]}

    def write_kubeconfigs(self, port: int) -> None:
        """Write the kubeconfigs of all users for an API server on this port."""
        for user, pair in self._users.items():
            file = self._kubeconfig_of(user)
            file.touch(mode=0o600)
            file.write_text(json.dumps(self._kubeconfig_with(f"https://{HOST}:{port}", user, pair)), encoding="utf-8")

    def answers(self, port: int, path: str) -> bool:
        """Return whether a program of this cluster answers a request on this port with OK."""
        return is_ok(http.client.HTTPSConnection(HOST, port, timeout=5, context=self.tls), path)

    @property
    def _etcd_url(self) -> str:
        return f"unix://{self._folder}/etcd.sock"

    def _serving(self, port: int) -> Sequence[str]:
        return (
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            f"--tls-cert-file={self._server.certificate}",
            f"--tls-private-key-file={self._server.key}",
            "--profiling=false",
        )

    def _kubeconfig_of(self, user: str) -> Path:
        return self._folder / f"{user.replace(':', '-')}.kubeconfig"

    def _kubeconfig_with(self, server: str, user: str, pair: Pair) -> dict[str, object]:
        """Return a kubeconfig with embedded certificates, so that the file can be copied."""
        credentials = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
        return kubeconfig(server, user, credentials, {"certificate-authority-data": _base64(self._authority)})


def kubeconfig(
    server: str, user: str, credentials: Mapping[str, str], authority: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Return a kubeconfig with one user.

    Args:
        server: the address of the server.
        user: the user's name in the file.
        credentials: the user's fields, such as ``token``.
        authority: the cluster's field with the certificate of the server's authority.
    """
    name = "eks-hardware-local"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, **(authority or {})}}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


def is_ok(connection: http.client.HTTPConnection, path: str) -> bool:
    """Return whether a server answers a request with OK, and close the connection."""
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
