"""Instances as EC2 describes them, launched from the groups of synthesized stacks, and an account that has them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, cast

from eks_hardware.local.emulator_patches import ec2_offers
from eks_hardware.local.emulator_patches.eks_nodes import merged_user_data
from eks_hardware.local.readback import Account
from eks_hardware.testing import Template
from helpers.kubernetes.scheduling import group_of, launch_template_of

Map = Mapping[str, Any]

REGION, ZONE, ZONE_ID = "us-west-2", "us-west-2b", "usw2-az1"
CLUSTER = "mixed-hardware"
SUBNET = "subnet-1"
IMAGES = {
    "AL2023_x86_64_STANDARD": "amazon-eks-node-al2023-x86_64-standard-1.35-v20260625",
    "AL2023_x86_64_NVIDIA": "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260625",
    "AL2023_x86_64_NEURON": "amazon-eks-node-al2023-x86_64-neuron-1.35-v20260625",
    "BOTTLEROCKET_x86_64_NVIDIA": "bottlerocket-aws-k8s-1.35-nvidia-x86_64-v1.57.0-0123abcd",
}


class StubAccount:
    """An account with one cluster, that answers the calls of :class:`eks_hardware.local.kubelets.Kubelets`."""

    region = REGION

    def __init__(self, endpoint: str, authority: str) -> None:
        self.authority = authority
        self.cluster = {
            "name": CLUSTER,
            "version": "1.35",
            "endpoint": endpoint,
            "certificateAuthority": {"data": authority},
            "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16"},
        }
        self.launched: dict[str, dict[str, Any]] = {}
        self.user_data: dict[str, bytes] = {}
        self.errors: list[Exception] = []

    def as_account(self) -> Account:
        """Return it with the type that it replaces."""
        return cast(Account, self)

    def client(self, _service: str) -> StubAccount:
        return self

    def items(self, _service: str, operation: str, key: str, **arguments: Any) -> list[Any]:
        return list(getattr(self, operation)(**arguments)[key])

    def instances(self) -> list[dict[str, Any]]:
        if self.errors:
            raise self.errors.pop()
        return [each for each in self.launched.values() if each["State"]["Name"] != "terminated"]

    def describe_instance_attribute(self, InstanceId: str, Attribute: str) -> dict[str, Any]:  # noqa: N803
        assert Attribute == "userData"
        data = self.user_data[InstanceId]
        return {"InstanceId": InstanceId, "UserData": {"Value": base64.b64encode(data).decode()} if data else {}}

    def describe_instance_types(self, InstanceTypes: list[str]) -> dict[str, Any]:  # noqa: N803
        return {"InstanceTypes": [instance_type(each) for each in InstanceTypes]}

    def describe_images(self, Filters: list[Map]) -> dict[str, Any]:  # noqa: N803
        ((image,),) = (each["Values"] for each in Filters)
        return {"Images": [{"ImageId": image, "Name": IMAGES[image]}] if image in IMAGES else []}

    def describe_subnets(self, SubnetIds: list[str]) -> dict[str, Any]:  # noqa: N803
        return {"Subnets": [{"SubnetId": each, "AvailabilityZoneId": ZONE_ID} for each in SubnetIds]}

    def describe_volumes(self, VolumeIds: list[str]) -> dict[str, Any]:  # noqa: N803
        return {"Volumes": [{"VolumeId": each, "Size": int(each.removeprefix("vol-"))} for each in VolumeIds]}

    def list_clusters(self) -> dict[str, Any]:
        return {"clusters": [CLUSTER]}

    def describe_cluster(self, name: str) -> dict[str, Any]:
        assert name == CLUSTER
        return {"cluster": self.cluster}

    def launch(self, kind: str, data: bytes, *, image: str, efas: int = 0, disk_gib: int = 100) -> str:
        """Start an instance and return its ID. ``image`` is a key of ``IMAGES`` or the ID of an image of your own."""
        number = len(self.launched) + 1
        instance_id, address = f"i-{number:017x}", f"10.0.0.{number}"
        self.user_data[instance_id] = data
        self.launched[instance_id] = {
            "InstanceId": instance_id,
            "InstanceType": kind,
            "ImageId": image,
            "State": {"Name": "running"},
            "Placement": {"AvailabilityZone": ZONE},
            "PrivateIpAddress": address,
            "PrivateDnsName": f"ip-{address.replace('.', '-')}.{REGION}.compute.internal",
            "SubnetId": SUBNET,
            "RootDeviceName": "/dev/xvda",
            "BlockDeviceMappings": [
                {"DeviceName": device, "Ebs": {"VolumeId": f"vol-{size}"}}
                for device, size in (("/dev/xvda", disk_gib), ("/dev/xvdb", disk_gib * 2))
            ],
            "NetworkInterfaces": [{"InterfaceType": each} for each in ["interface", *["efa-only"] * efas]],
        }
        return instance_id

    def launch_group(self, template: Template, group: str) -> str:
        """Start an instance of a managed node group."""
        body = group_of(template, group)
        launch = launch_template_of(template, body)
        efas = sum(each.get("interface_type", "")[:3] == "efa" for each in launch.get("network_interfaces", ()))
        kind = (body.get("instance_types") or [launch["instance_type"]])[0]
        return self.launch(kind, self.merged_user_data(body, launch), image=body["ami_type"], efas=efas)

    def merged_user_data(self, group: Map, launch: Map) -> bytes:
        """Return user data as EKS makes it: that of the launch template, and the cluster and the group's own settings.

        Source: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-user-data
        """
        labels = {**group["labels"], "eks.amazonaws.com/nodegroup": group["node_group_name"]}
        given = base64.b64decode(launch.get("user_data", "")).decode()
        return merged_user_data(given, group["ami_type"], self.cluster, labels, group.get("taint") or ()).encode()


def instance_type(name: str) -> dict[str, Any]:
    """Return a type as EC2 describes it."""
    return ec2_offers.instance_types()[name]
