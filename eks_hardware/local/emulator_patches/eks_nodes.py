"""EKS clusters and managed node groups, as far as nodes see them.

A cluster has a security group in EC2 and the address of the local Kubernetes. A managed node group starts instances
from its launch template, with the user data that EKS merges.
"""

from __future__ import annotations

import base64
import email.parser
import email.policy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from eks_hardware.local.emulator_patches import control, ec2_offers
from eks_hardware.local.emulator_patches.ec2_instances import Instances, Offer
from eks_hardware.local.emulator_patches.ec2_protocol import SENT
from eks_hardware.spellings import capacity_of_eks, kubernetes_effect

Map = Mapping[str, Any]

_UPDATE = re.compile(r"/clusters/([A-Za-z0-9_-]+)/node-groups/([A-Za-z0-9_-]+)/update-config")
_NODE_CONFIG = "application/node.eks.aws"


NAMES = frozenset(
    {
        "_clusters",
        "_create_cluster",
        "_create_nodegroup",
        "_delete_cluster",
        "_delete_nodegroup",
        "_handle_request_sync",
        "_json_resp",
        "_nodegroups",
        "_sanitize",
        "new_uuid",
    }
)
EC2_NAMES = frozenset({"_new_sg_id", "_security_groups"})
"""The names of ministack's modules that the patches need."""


def install(eks: dict[str, Any], ec2: dict[str, object]) -> None:
    """Patch ministack's functions that create, update and delete clusters and node groups."""
    _security_groups(eks, ec2)
    own_sanitize = eks["_sanitize"]

    def sanitize(cluster: Map) -> dict[str, object]:
        shown: dict[str, object] = own_sanitize(cluster)
        if local := control.api_server():
            shown["endpoint"] = local["endpoint"]
            shown["certificateAuthority"] = {"data": local["certificate_authority"]}
        return shown

    eks["_sanitize"] = sanitize
    _node_groups(eks, _Groups(eks, ec2))


def _security_groups(eks: dict[str, Any], ec2: Map) -> None:
    """Give every cluster its security group, which EKS creates and deletes with the cluster.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
    """
    own_create, own_delete = eks["_create_cluster"], eks["_delete_cluster"]

    def create(body: Map, *arguments: object, **options: object) -> object:
        name = body.get("name", "")
        existed = name in eks["_clusters"]
        answer = own_create(body, *arguments, **options)
        record = eks["_clusters"].get(name)
        if existed or record is None:
            return answer
        network = record["resourcesVpcConfig"]
        subnets = [ec2["_subnets"].get(subnet_id) for subnet_id in network["subnetIds"]]
        network["vpcId"] = next((subnet["VpcId"] for subnet in subnets if subnet), network["vpcId"])
        network["clusterSecurityGroupId"] = _new_security_group(ec2, name, network["vpcId"])
        return eks["_json_resp"](200, {"cluster": eks["_sanitize"](record)})

    def delete(name: str) -> object:
        record = eks["_clusters"].get(name)
        answer = own_delete(name)
        if record is not None:
            group = record["resourcesVpcConfig"]["clusterSecurityGroupId"]
            ec2["_security_groups"].pop(group, None)
            ec2["_tags"].pop(group, None)
        return answer

    eks.update(_create_cluster=create, _delete_cluster=delete)


def _new_security_group(ec2: Map, cluster: str, vpc: str) -> str:
    """Create a cluster's security group, which allows all internal and all outgoing traffic; return its ID."""
    group, account = ec2["_new_sg_id"](), ec2["get_account_id"]()
    name = f"eks-cluster-sg-{cluster}-{group[3:12]}"
    rule = {"IpProtocol": "-1", "IpRanges": [], "Ipv6Ranges": [], "PrefixListIds": [], "UserIdGroupPairs": []}
    ec2["_security_groups"][group] = {
        "GroupId": group,
        "GroupName": name,
        "Description": "EKS created security group for the control plane and nodes",
        "VpcId": vpc,
        "OwnerId": account,
        "IpPermissions": [{**rule, "UserIdGroupPairs": [{"GroupId": group, "UserId": account}]}],
        "IpPermissionsEgress": [{**rule, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
    }
    tags = {"Name": name, f"kubernetes.io/cluster/{cluster}": "owned", "aws:eks:cluster-name": cluster}
    ec2["_tags"][group] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return str(group)


def _node_groups(eks: dict[str, Any], groups: _Groups) -> None:
    own_create, own_delete, own_route = eks["_create_nodegroup"], eks["_delete_nodegroup"], eks["_handle_request_sync"]

    def create(cluster: str, body: Map) -> Any:
        existed = f"{cluster}/{body.get('nodegroupName')}" in eks["_nodegroups"]
        answer = own_create(cluster, body)
        if not existed:
            groups.scale(cluster, str(body.get("nodegroupName")))
        return answer

    def delete(cluster: str, name: str) -> object:
        groups.scale(cluster, name, to=0)
        return own_delete(cluster, name)

    def route(method: str, path: str, headers: object, body: bytes, query: object) -> object:
        match = _UPDATE.fullmatch(path)
        group = eks["_nodegroups"].get("/".join(match.groups())) if match else None
        if match is None or group is None or method != "POST":
            return own_route(method, path, headers, body, query)
        group["scalingConfig"].update(json.loads(body).get("scalingConfig", {}))
        groups.scale(match[1], match[2])
        update = {"id": eks["new_uuid"](), "status": "Successful", "type": "ConfigUpdate", "params": [], "errors": []}
        return eks["_json_resp"](200, {"update": update})

    eks.update(_create_nodegroup=create, _delete_nodegroup=delete, _handle_request_sync=route)


class _Groups:
    """The instances of managed node groups."""

    def __init__(self, eks: Map, ec2: dict[str, Any]) -> None:
        self._eks, self._ec2 = eks, ec2
        self._instances = Instances(ec2)

    def scale(self, cluster: str, name: str, to: int | None = None) -> None:
        """Start or terminate instances until the group has ``to`` of them; default: its desired size."""
        group = self._eks["_nodegroups"].get(f"{cluster}/{name}")
        if group is None:
            return
        wanted = group["scalingConfig"].get("desiredSize", 0) if to is None else to
        running = list(self._running(cluster, name))
        if surplus := running[wanted:]:
            self._ec2["_ACTION_MAP"]["TerminateInstances"](
                {f"InstanceId.{number}": [each] for number, each in enumerate(surplus, 1)}
            )
        for number in range(len(running), wanted):
            self._start(group, number)

    def _running(self, cluster: str, name: str) -> Iterator[str]:
        for identity, record in list(self._ec2["_instances"].items()):
            tags = {tag["Key"]: tag["Value"] for tag in self._ec2["_tags"].get(identity, ())}
            here = (tags.get("eks:cluster-name"), tags.get("eks:nodegroup-name")) == (cluster, name)
            if here and record["State"]["Name"] == "running":
                yield identity

    def _start(self, group: Map, number: int) -> None:
        reference = group.get("launchTemplate") or {}
        specification = {
            "LaunchTemplateId": reference.get("id"),
            "LaunchTemplateName": reference.get("name"),
            "Version": str(reference.get("version") or "$Default"),
        }
        data, _, _ = self._ec2["_resolve_launch_template_data"](specification)
        data = data.get(SENT, data)
        kind = data.get("InstanceType") or group["instanceTypes"][0]
        subnet = self._ec2["_subnets"].get(group["subnets"][number % len(group["subnets"])])
        if subnet is None:
            return
        image = data.get("ImageId") or self._image(group)
        offer = Offer(
            data=data,
            instance_type=kind,
            subnet=subnet,
            image_id=image,
            lifecycle=capacity_of_eks(group["capacityType"]),
        )
        user_data = data.get("UserData", "")
        if not data.get("ImageId"):
            # For a custom AMI, EKS adds no user data.
            user_data = self._merged(group, user_data, image)
        tags = {
            "eks:cluster-name": group["clusterName"],
            "eks:nodegroup-name": group["nodegroupName"],
            f"kubernetes.io/cluster/{group['clusterName']}": "owned",
        }
        # EKS retries when EC2 refuses a launch; here, the group's next change retries.
        self._instances.start_up_to(1, offer, {"instance": tags}, user_data=user_data)

    def _image(self, group: Map) -> str:
        """Return the ID of the AMI that EKS chooses for a group's AMI type and release.

        Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html (amiType)
        """
        family, _, rest = group["amiType"].partition("_")
        architecture = "arm64" if "ARM" in rest.upper() else "x86_64"
        minor = ".".join(str(group["version"]).split(".")[:2])
        release = str(group.get("releaseVersion") or "")
        if family == "BOTTLEROCKET":
            variant = "-nvidia" if "NVIDIA" in rest else ""
            version = release.partition("-")[0] or "latest"
            name = f"/aws/service/bottlerocket/aws-k8s-{minor}{variant}/{architecture}/{version}/image_id"
        else:
            variant = next((each for each in ("nvidia", "neuron") if each.upper() in rest.upper()), "standard")
            date = release.partition("-")[2]
            exact = f"amazon-eks-node-al2023-{architecture}-{variant}-{minor}-v{date}" if date else "recommended"
            name = f"/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/{architecture}/{variant}/{exact}/image_id"
        return ec2_offers.publish(self._ec2, name) or "ami-00000000"

    def _merged(self, group: Map, user_data: str, image: str) -> str:
        """Return a node's user data in base64: the launch template's, merged with EKS's own settings.

        Source: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
        """
        cluster = self._eks["_sanitize"](self._eks["_clusters"][group["clusterName"]])
        labels = {
            "eks.amazonaws.com/capacityType": group["capacityType"],
            "eks.amazonaws.com/nodegroup": group["nodegroupName"],
            "eks.amazonaws.com/nodegroup-image": image,
            **group.get("labels", {}),
        }
        whole = merged_user_data(
            base64.b64decode(user_data).decode(), group["amiType"], cluster, labels, group.get("taints", ())
        )
        return base64.b64encode(whole.encode()).decode()


def merged_user_data(given: str, ami_type: str, cluster: Map, labels: Map, taints: object) -> str:
    """Return a launch template's user data with EKS's own settings.

    Args:
        given: the launch template's user data.
        ami_type: the group's ``amiType``.
        cluster: the cluster, as ``DescribeCluster`` returns it.
        labels: the labels that EKS sets.
        taints: the group's taints, as in the EKS API.
    """
    merge = _bottlerocket if ami_type.startswith("BOTTLEROCKET") else _node_config
    return merge(given, cluster, labels, taints)


def _node_config(given: str, cluster: Map, labels: Map, taints: Any) -> str:
    """Return an AL2023 node's MIME document: EKS's NodeConfig, then the launch template's parts."""
    flags = [f"--node-labels={','.join(f'{key}={value}' for key, value in labels.items())}"]
    if taints:
        text = ",".join(
            f"{taint['key']}={taint.get('value', '')}:{kubernetes_effect(taint['effect'])}" for taint in taints
        )
        flags.append(f"--register-with-taints={text}")
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": cluster["name"],
                "apiServerEndpoint": cluster["endpoint"],
                "certificateAuthority": cluster["certificateAuthority"]["data"],
                "cidr": cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"],
            },
            "kubelet": {"flags": flags},
        },
    }
    parts = [(_NODE_CONFIG, yaml.safe_dump(config)), *_parts(given)]
    lines = ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="//"', ""]
    for kind, text in parts:
        lines += ["--//", f"Content-Type: {kind}", "", text.rstrip("\n"), ""]
    return "\n".join([*lines, "--//--", ""])


def _parts(given: str) -> Iterator[tuple[str, str]]:
    """Yield the type and text of each part of a MIME document."""
    if not given:
        return
    document = email.parser.Parser(policy=email.policy.default).parsestr(given)
    for part in document.walk():
        if not part.is_multipart():
            yield part.get_content_type(), str(part.get_payload())


def _bottlerocket(given: str, cluster: Map, labels: Map, taints: Any) -> str:
    """Return a Bottlerocket node's settings: the launch template's, merged with EKS's own."""
    # Imported late: only strategies with Bottlerocket need these modules.
    from eks_hardware.local.node_user_data import bottlerocket_settings
    from eks_hardware.resolve.user_data import bottlerocket_toml

    settings = bottlerocket_settings(given.encode()) if given else {}
    kubernetes = settings.setdefault("kubernetes", {})
    kubernetes.update(
        {
            "api-server": cluster["endpoint"],
            "cluster-certificate": cluster["certificateAuthority"]["data"],
            "cluster-name": cluster["name"],
            "node-labels": {**kubernetes.get("node-labels", {}), **labels},
        }
    )
    for taint in taints:
        values = kubernetes.setdefault("node-taints", {}).setdefault(taint["key"], [])
        values.append(f"{taint.get('value', '')}:{kubernetes_effect(taint['effect'])}")
    return bottlerocket_toml(settings)
