"""Nodes of a local cluster: each instance that the AWS emulator runs registers as it would on AWS.

An instance registers with the labels, taints and settings of its user data (:mod:`eks_hardware.local.node_user_data`),
and with the CPU and memory that EC2 describes (:mod:`eks_hardware.local.node_object`). The strategy is not read.
A node advertises extended resources once the device plugin's pod runs there (:mod:`eks_hardware.local.node_plugins`).
kwok keeps the Node ready and its pods running.
"""

from __future__ import annotations

import base64
import http.client
import threading
import time
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from eks_hardware.local import node_plugins
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.cluster_client import ApiError
from eks_hardware.local.node_object import Image, Machine, node, provider_id
from eks_hardware.local.node_plugins import DISCOVERED_GPU, DISCOVERY, Plugin
from eks_hardware.local.node_user_data import Boot, UserDataError, boot
from eks_hardware.local.readback import Account
from eks_hardware.resolve.extended_resources import EFA, GPU
from eks_hardware.units import GIB

Map = Mapping[str, Any]

INTERVAL_SECONDS = 0.3
ERRORS_SECONDS = 10.0
"""How long the emulator or API server may be unavailable before we report an error."""

_CLUSTER_TAGS = ("eks:cluster-name", "eks:eks-cluster-name")
_PLUGIN_DOMAINS = (*tuple(f"{resource.partition('/')[0]}/" for resource in (GPU, EFA)), "aws.amazon.com/neuron")
_DATA_DISKS = {"bottlerocket": "/dev/xvdb"}
# EKS's default disk size for node groups:
# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (diskSize)
_DISK_GIB = 20


class Kubelets:
    """Registers instances as Nodes, in a thread that runs while this context manager is open.

    Args:
        account: The emulated account.
        cluster: A running cluster, with kwok.
    """

    def __init__(self, account: Account, cluster: Cluster) -> None:
        self._account = account
        self._cluster = cluster
        # Creating a client is not thread-safe; using one is.
        for service in ("ec2", "eks"):
            account.client(service)
        self._authority = cluster.certificate_authority.read_bytes().strip()
        self._machines: dict[str, Machine] = {}
        self._refused: dict[str, str] = {}
        self._elsewhere: dict[str, bool] = {}
        self._kinds: dict[str, Map] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    @property
    def refused(self) -> Mapping[str, str]:
        """The instances that did not register, by ID, with the reason."""
        return MappingProxyType(dict(self._refused))

    def __enter__(self) -> Kubelets:
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="kubelets", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raise the error that ended the thread, if there is one."""
        if self._error is not None:
            raise self._error

    def sync(self) -> None:
        """Update the Nodes once, to match the instances and the device plugins."""
        with self._lock:
            live = {each["InstanceId"]: each for each in self._account.instances()}
            nodes = {item["metadata"]["name"]: item for item in self._cluster.request("GET", "/api/v1/nodes")["items"]}
            for name in [name for name, each in nodes.items() if not _has_instance(each, live)]:
                self._delete(nodes.pop(name))
            for instance_id in self._machines.keys() - live.keys():
                del self._machines[instance_id]
            for instance_id, instance in live.items():
                is_new = instance_id not in self._machines and instance_id not in self._refused
                if is_new and instance["State"]["Name"] == "running" and not self._is_elsewhere(instance):
                    self._boot(instance, nodes)
            self._advertise(nodes)

    def _run(self) -> None:
        failing_since: float | None = None
        while not self._stop.is_set():
            try:
                self.sync()
                failing_since = None
            except Exception as error:
                now = time.monotonic()
                failing_since = failing_since or now
                if now - failing_since > ERRORS_SECONDS:
                    self._error = error
                    return
            self._stop.wait(INTERVAL_SECONDS)

    def _is_elsewhere(self, instance: Map) -> bool:
        """Return whether the tags of EKS or Karpenter name another cluster in the account, which has its own nodes."""
        tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags") or ()}
        name = next((tags[key] for key in _CLUSTER_TAGS if key in tags), None)
        if name is None:
            return False
        if name not in self._elsewhere:
            eks = self._account.client("eks")
            if name not in self._account.items("eks", "list_clusters", "clusters"):
                return False
            self._elsewhere[name] = eks.describe_cluster(name=name)["cluster"].get("endpoint") != self._cluster.endpoint
        return self._elsewhere[name]

    def _boot(self, instance: Map, nodes: dict[str, Map]) -> None:
        instance_id = instance["InstanceId"]
        try:
            machine = self._machine(instance)
            known = nodes.get(machine.name)
            if known is None:
                nodes[machine.name] = self._cluster.request("POST", "/api/v1/nodes", node(machine))
            elif known["spec"].get("providerID") != provider_id(instance):
                raise UserDataError(f"another node has the name {machine.name}")
        except UserDataError as error:
            self._refused[instance_id] = str(error)
        except ApiError as error:
            # The Node of the instance that previously had this address is not deleted yet.
            if error.status == http.client.CONFLICT:
                return
            if error.status not in (http.client.UNPROCESSABLE_ENTITY, http.client.BAD_REQUEST):
                raise
            self._refused[instance_id] = str(error)
        else:
            self._machines[instance_id] = machine

    def _machine(self, instance: Map) -> Machine:
        """Return the booted machine of an instance.

        Raises:
            UserDataError: The instance cannot join this cluster.
        """
        ec2 = self._account.client("ec2")
        answer = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")
        data = base64.b64decode((answer.get("UserData") or {}).get("Value") or "")
        if not data:
            raise UserDataError("the instance was launched without user data")
        by_id = [{"Name": "image-id", "Values": [instance["ImageId"]]}]
        images = self._account.items("ec2", "describe_images", "Images", Filters=by_id)
        image = Image.of(next((each["Name"] for each in images if each["ImageId"] == instance["ImageId"]), ""))
        # A custom AMI can have any name.
        bottlerocket = image.family == "bottlerocket" if image.family else b"[settings" in data
        booted = boot(data, bottlerocket=bottlerocket)
        version = self._joins(booted)
        kind = self._kind(instance["InstanceType"])
        subnets = self._account.items("ec2", "describe_subnets", "Subnets", SubnetIds=[instance["SubnetId"]])
        return Machine(
            instance=instance,
            kind=kind,
            image=image,
            boot=booted,
            version=image.version or version,
            region=self._account.region,
            zone_id=subnets[0]["AvailabilityZoneId"],
            disk=self._disk(instance, kind, booted),
        )

    def _joins(self, booted: Boot) -> str:
        """Check that a node's user data matches its cluster, and return the cluster's Kubernetes version."""
        names = sorted(self._account.items("eks", "list_clusters", "clusters"))
        if booted.cluster not in names:
            known = ", ".join(names) or "none"
            raise UserDataError(f"the user data must name a cluster of the account ({known}), got {booted.cluster!r}")
        if booted.endpoint != self._cluster.endpoint:
            raise UserDataError(
                f"the user data must name the cluster's endpoint {self._cluster.endpoint}, got {booted.endpoint}"
            )
        if booted.authority != self._authority:
            raise UserDataError("the user data must contain the cluster's CA certificate, got a different certificate")
        return str(self._account.client("eks").describe_cluster(name=booted.cluster)["cluster"]["version"])

    def _kind(self, name: str) -> Map:
        if name not in self._kinds:
            (kind,) = self._account.items("ec2", "describe_instance_types", "InstanceTypes", InstanceTypes=[name])
            self._kinds[name] = kind
        return self._kinds[name]

    def _disk(self, instance: Map, kind: Map, booted: Boot) -> Fraction:
        """Return the size in bytes of the disk with pods' files."""
        store = kind.get("InstanceStorageInfo") or {}
        if booted.instance_store and store and store.get("NvmeSupport") != "unsupported":
            return Fraction(store["TotalSizeInGB"] * 10**9)
        device = _DATA_DISKS.get(booted.family) or instance.get("RootDeviceName")
        volumes = {
            mapping["DeviceName"]: mapping["Ebs"]["VolumeId"]
            for mapping in instance.get("BlockDeviceMappings") or ()
            if "Ebs" in mapping
        }
        if device not in volumes:
            return Fraction(_DISK_GIB * GIB)
        (volume,) = self._account.items("ec2", "describe_volumes", "Volumes", VolumeIds=[volumes[device]])
        return Fraction(volume["Size"] * GIB)

    def _delete(self, found: Map) -> None:
        """Delete a Node, as the cloud controller manager does when the instance no longer exists."""
        if "deletionTimestamp" not in found["metadata"]:
            self._ask_for("DELETE", found)

    def _advertise(self, nodes: Mapping[str, Map]) -> None:
        """Set the resources that device plugins advertise on these nodes."""
        machines = {each.name: each for each in self._machines.values() if each.has_devices and each.name in nodes}
        plugins = node_plugins.running(self._cluster) if machines else {}
        for name, machine in machines.items():
            registered, there = nodes[name], plugins.get(name, {})
            self._label(machine, registered, there)
            wanted = {
                **{key: "0" for key in registered["status"].get("capacity", {}) if key.startswith(_PLUGIN_DOMAINS)},
                **{
                    key: str(number)
                    for key, number in node_plugins.advertised(machine, there, registered["metadata"]["labels"]).items()
                },
            }
            # The kubelet, too, keeps the resource of a removed plugin, with the amount 0.
            if any(registered["status"]["allocatable"].get(key) != value for key, value in wanted.items()):
                self._ask_for("PATCH", registered, {"status": {"capacity": wanted, "allocatable": wanted}}, "/status")

    def _label(self, machine: Machine, found: Map, there: Mapping[str, Plugin]) -> None:
        """Set Node Feature Discovery's label on a node where its pod runs."""
        if (
            machine.has_nvidia
            and DISCOVERY in there
            and not DISCOVERED_GPU.items() <= found["metadata"]["labels"].items()
        ):
            self._ask_for("PATCH", found, {"metadata": {"labels": DISCOVERED_GPU}})

    def _ask_for(self, method: str, found: Map, body: Map | None = None, below: str = "") -> None:
        """Send a request about a Node that may no longer exist."""
        try:
            self._cluster.request(method, f"/api/v1/nodes/{found['metadata']['name']}{below}", body)
        except ApiError as error:
            if error.status != http.client.NOT_FOUND:
                raise


def _has_instance(found: Map, live: Mapping[str, Map]) -> bool:
    """Return whether a Node's instance exists; True for a Node without an instance."""
    kind, _, instance_id = found["spec"].get("providerID", "").rpartition("/")
    return not kind.startswith("aws:") or instance_id in live
