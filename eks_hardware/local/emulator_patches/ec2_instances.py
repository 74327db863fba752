"""EC2 instances as Karpenter and managed node groups start and see them.

Without these patches, ministack starts instances in a dry run, and reports no error for unknown launch templates. Its
``CreateFleet`` response is incomplete, and its instances have no zone, network interfaces or user data. ministack also
ignores launch templates and reservations in ``RunInstances``.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eks_hardware.local.emulator_patches import control, events
from eks_hardware.local.emulator_patches.ec2_protocol import SENT, is_dry_run, render, request, response, shape
from eks_hardware.local.emulator_patches.ec2_reservations import NAMES as RESERVATION_NAMES
from eks_hardware.local.emulator_patches.ec2_reservations import Refusal, Reservations

Map = Mapping[str, Any]

NAMES = frozenset(
    {
        "_ACTION_MAP",
        "_DEFAULT_SUBNET_ID",
        "_STUB_AMIS",
        "_error",
        "_instance_xml",
        "_instances",
        "_launch_instances_internal",
        "_launch_templates",
        "_new_volume_id",
        "_p",
        "_parse_member_list",
        "_resolve_iam_instance_profile",
        "_resolve_launch_template_data",
        "_stub_image_view",
        "_subnets",
        "_tags",
        "_volume_inner_xml",
        "_volumes",
        "_xml",
        "get_account_id",
        "get_region",
        "new_uuid",
        *RESERVATION_NAMES,
    }
)
"""The names of ministack's module that the patches need."""

# The fields of RunInstances that ministack ignores.
_OWN_LAUNCHES = frozenset({"CapacityReservationSpecification", "InstanceMarketOptions", "LaunchTemplate"})
# Marks a record that has every field of the API.
_COMPLETE = "__complete"
# ministack runs EKS requests in separate threads. The lock ensures that no request sees an incomplete instance, and
# that no two instances get the same address.
_STARTING = threading.RLock()


def install(ec2: dict[str, Any]) -> None:
    """Patch ministack's functions that start, describe, stop and terminate instances."""
    instances, reservations = Instances(ec2), Reservations(ec2)
    actions = ec2["_ACTION_MAP"]
    own_xml, own_attribute, own_run = (
        ec2["_instance_xml"],
        actions["DescribeInstanceAttribute"],
        actions["RunInstances"],
    )
    own_terminate = events.with_state_changes(ec2, "TerminateInstances", actions["TerminateInstances"])

    def instance_xml(record: Map) -> str:
        if _COMPLETE not in record:
            return str(own_xml(record))
        tags = ec2["_tags"].get(record["InstanceId"], [])
        return f"<item>{render(shape('ec2', 'Instance'), {**record, 'Tags': tags})}</item>"

    def attribute(params: Map) -> object:
        record = ec2["_instances"].get(ec2["_p"](params, "InstanceId"))
        if record is None or ec2["_p"](params, "Attribute") != "userData":
            return own_attribute(params)
        found = {"InstanceId": record["InstanceId"], "UserData": {"Value": record.get("UserData", "")}}
        inner = render(shape("ec2", "InstanceAttribute"), found)
        return ec2["_xml"](200, "DescribeInstanceAttributeResponse", inner)

    def terminate(params: Map) -> object:
        answer = own_terminate(params)
        instances.delete_volumes(ec2["_parse_member_list"](params, "InstanceId"))
        return answer

    def end(instance_ids: list[str]) -> None:
        terminate({f"InstanceId.{number}": [each] for number, each in enumerate(instance_ids, 1)})

    def run(params: Map) -> object:
        asked = request("RunInstancesRequest", params, ec2["_p"])
        return instances.run(asked) if asked.keys() & _OWN_LAUNCHES else own_run(params)

    own_describe = actions["DescribeInstances"]

    def describe(params: Map) -> object:
        with _STARTING:
            return own_describe(params)

    ec2["_instance_xml"] = instance_xml
    ec2["_volume_inner_xml"] = _with_throughput(ec2["_volume_inner_xml"])
    actions.update(reservations.actions())
    actions.update(
        CreateFleet=instances.create_fleet,
        DescribeInstanceAttribute=attribute,
        DescribeInstances=describe,
        DescribeLaunchTemplates=_unknown_templates(ec2),
        RunInstances=run,
        StopInstances=events.with_state_changes(ec2, "StopInstances", actions["StopInstances"]),
        TerminateInstances=terminate,
    )
    actions.update({name: _dry(ec2, reservations.on_time(own, end)) for name, own in actions.items()})


def _dry(ec2: Map, own: Callable[..., object]) -> Callable[..., object]:
    """Return an action that changes nothing in a dry run."""

    def act(params: Map, *arguments: object) -> object:
        if is_dry_run(params, ec2["_p"]):
            text = "Request would have succeeded, but DryRun flag is set."
            return ec2["_error"]("DryRunOperation", text, 412)
        return own(params, *arguments)

    return act


def _unknown_templates(ec2: Map) -> Callable[..., object]:
    """Return ``DescribeLaunchTemplates`` with EC2's errors for launch templates that do not exist."""
    own = ec2["_ACTION_MAP"]["DescribeLaunchTemplates"]

    def describe(params: Map) -> object:
        asked = request("DescribeLaunchTemplatesRequest", params, ec2["_p"])
        known = list(ec2["_launch_templates"].values())
        text = "At least one of the launch templates specified in the request does not exist."
        for name in asked.get("LaunchTemplateNames", ()):
            if all(name != each["LaunchTemplateName"] for each in known):
                return ec2["_error"]("InvalidLaunchTemplateName.NotFoundException", text, 400)
        for identity in asked.get("LaunchTemplateIds", ()):
            if all(identity != each["LaunchTemplateId"] for each in known):
                return ec2["_error"]("InvalidLaunchTemplateId.NotFound", text, 400)
        return own(params)

    return describe


@dataclass(frozen=True)
class Offer:
    """One way to start an instance: a launch template's data with an instance type and a subnet.

    Attributes:
        data: The request's ``LaunchTemplateData``.
        template: The launch template specification, for the response.
        override: The override, for the response.
        lifecycle: ``on-demand``, ``spot`` or ``capacity-block``.
    """

    data: Map
    instance_type: str
    subnet: Map
    image_id: str
    lifecycle: str
    template: Map = field(default_factory=dict)
    override: Map = field(default_factory=dict)

    @property
    def zone(self) -> str:
        """The name of the subnet's zone."""
        return str(self.subnet["AvailabilityZone"])


class Instances:
    """Instances in ministack's own store."""

    def __init__(self, ec2: dict[str, Any]) -> None:
        self._ec2 = ec2
        self._reservations = Reservations(ec2)

    def create_fleet(self, params: Map) -> object:
        """Start the instances of a fleet of type ``instant``: each from the offer with the lowest priority number.

        Karpenter sends prices as priorities. An offer without capacity, or whose reservation is full, becomes an
        error in the response, as on AWS.
        """
        asked = request("CreateFleetRequest", params, self._ec2["_p"])
        target = asked["TargetCapacitySpecification"]
        lifecycle = target.get("DefaultTargetCapacityType", "on-demand")
        offers: list[Offer] = []
        for config in asked.get("LaunchTemplateConfigs", ()):
            data, _, missing = self._ec2["_resolve_launch_template_data"](config["LaunchTemplateSpecification"])
            if missing:
                return missing
            offers += self._offers(config, data.get(SENT, data), lifecycle)
        offers.sort(key=lambda each: (float(each.override.get("Priority", 0)), each.instance_type, each.zone))
        tags = _tags_for(asked.get("TagSpecifications", ()))
        started, failed = [], []
        missing_count = int(target["TotalTargetCapacity"])
        for offer in offers:
            records, refusal = self.start_up_to(missing_count, offer, tags)
            missing_count -= len(records)
            if records:
                started.append(_fleet_instance(offer, records))
            if refusal is None:
                break
            failed.append(_fleet_error(offer, refusal))
        identity = f"fleet-{self._ec2['new_uuid']()}"
        return response("CreateFleet", {"FleetId": identity, "Errors": failed, "Instances": started})

    def _offers(self, config: Map, data: Map, lifecycle: str) -> Iterator[Offer]:
        for override in config.get("Overrides") or [{}]:
            interfaces = data.get("NetworkInterfaces") or [{}]
            subnet_id = override.get("SubnetId") or interfaces[0].get("SubnetId") or self._ec2["_DEFAULT_SUBNET_ID"]
            yield Offer(
                data=data,
                instance_type=override.get("InstanceType") or data["InstanceType"],
                subnet=self._ec2["_subnets"][subnet_id],
                image_id=override.get("ImageId") or data.get("ImageId", ""),
                lifecycle=lifecycle,
                template=config["LaunchTemplateSpecification"],
                override={**override, "SubnetId": subnet_id},
            )

    def run(self, asked: Map) -> object:
        """Answer ``RunInstances`` with a launch template, a reservation or a market: at least ``MinCount``, or none."""
        template: Map = {}
        if specification := asked.get("LaunchTemplate"):
            found, _, missing = self._ec2["_resolve_launch_template_data"](specification)
            if missing:
                return missing
            template = found.get(SENT, found)
        data = {**template, **asked}
        interfaces = data.get("NetworkInterfaces") or [{}]
        subnet_id = data.get("SubnetId") or interfaces[0].get("SubnetId") or self._ec2["_DEFAULT_SUBNET_ID"]
        offer = Offer(
            data=data,
            instance_type=data["InstanceType"],
            subnet=self._ec2["_subnets"][subnet_id],
            image_id=data.get("ImageId", ""),
            lifecycle=data.get("InstanceMarketOptions", {}).get("MarketType", "on-demand"),
        )
        with _STARTING:
            records, refusal = self.start_up_to(int(asked["MaxCount"]), offer, {})
            if refusal and len(records) < int(asked["MinCount"]):
                for record in records:
                    self.discard(record)
                return self._ec2["_error"](*refusal, 400)
        shown = [{**record, "Tags": self._ec2["_tags"].get(record["InstanceId"], [])} for record in records]
        identity = f"r-{self._ec2['new_uuid']().replace('-', '')[:17]}"
        return response("RunInstances", {"ReservationId": identity, "Instances": shown}, of="Reservation")

    def start_up_to(
        self, count: int, offer: Offer, tags: Mapping[str, Map], *, user_data: str = ""
    ) -> tuple[list[Map], Refusal | None]:
        """Start instances until EC2 refuses one; return their records, and the reason for fewer.

        Args:
            count: the number of instances.
            offer: the instance to start.
            tags: tags by resource type, in addition to the launch template's.
            user_data: in base64; default: the launch template's.
        """
        records: list[Map] = []
        with _STARTING:
            while len(records) < count:
                reservation, refusal = self._reservations.choose(
                    offer.data, offer.instance_type, offer.zone, offer.lifecycle
                )
                if refusal is None and reservation is None:
                    refusal = _no_capacity(offer)
                if refusal is not None:
                    return records, refusal
                records.append(self._start(offer, tags, user_data or offer.data.get("UserData", ""), reservation))
        return records, None

    def discard(self, record: Map) -> None:
        """Remove an instance that was started for a request that EC2 then refuses as a whole."""
        self.delete_volumes([record["InstanceId"]])
        self._ec2["_tags"].pop(record["InstanceId"], None)
        self._ec2["_instances"].pop(record["InstanceId"], None)

    def _start(self, offer: Offer, tags: Mapping[str, Map], user_data: str, reservation: str | None) -> Map:
        ec2, data = self._ec2, offer.data
        profile, _ = ec2["_resolve_iam_instance_profile"](
            iam_arn=data.get("IamInstanceProfile", {}).get("Arn"),
            iam_name=data.get("IamInstanceProfile", {}).get("Name"),
            allow_missing=True,
        )
        interfaces = data.get("NetworkInterfaces") or [{"DeviceIndex": "0", "Groups": data.get("SecurityGroupIds", [])}]
        groups = interfaces[0].get("Groups") or []
        address = self._address(offer.subnet)
        record: dict[str, Any]
        (record,) = ec2["_launch_instances_internal"](
            image_id=offer.image_id,
            instance_type=offer.instance_type,
            subnet_id=offer.subnet["SubnetId"],
            count=1,
            user_data=user_data,
            sg_ids=groups,
            requested_private_ip=address,
            iam_profile=profile,
        )
        identity, region = record["InstanceId"], ec2["get_region"]()
        every = _merged_tags(_tags_for(data.get("TagSpecifications", ())), tags)
        suffix = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
        record.update(
            {
                _COMPLETE: True,
                "Architecture": self._architecture(offer.image_id),
                "CapacityReservationId": reservation,
                "CapacityReservationSpecification": {
                    "CapacityReservationPreference": "open",
                    **data.get("CapacityReservationSpecification", {}),
                },
                "InstanceLifecycle": None if offer.lifecycle == "on-demand" else offer.lifecycle,
                "MetadataOptions": {"State": "applied", **data.get("MetadataOptions", {})},
                "NetworkInterfaces": [self._interface(interface, offer.subnet) for interface in interfaces],
                "Placement": {
                    **data.get("Placement", {}),
                    "AvailabilityZone": offer.zone,
                    "AvailabilityZoneId": offer.subnet["AvailabilityZoneId"],
                    "Tenancy": data.get("Placement", {}).get("Tenancy", "default"),
                },
                "PrivateDnsName": f"ip-{address.replace('.', '-')}.{suffix}",
                "SpotInstanceRequestId": _spot_request(identity) if offer.lifecycle == "spot" else None,
                "PublicDnsName": None,
                "PublicIpAddress": None,
                "VirtualizationType": record["Virtualization"],
                "VpcId": offer.subnet["VpcId"],
            }
        )
        self._attach_volumes(record, data.get("BlockDeviceMappings", ()), every.get("volume", {}))
        if of_instance := every.get("instance"):
            ec2["_tags"][identity] = _as_list(of_instance)
        return record

    def delete_volumes(self, instance_ids: list[str]) -> None:
        """Delete the volumes with ``DeleteOnTermination``."""
        for identity in instance_ids:
            for mapping in self._ec2["_instances"].get(identity, {}).get("BlockDeviceMappings", ()):
                if mapping["Ebs"]["DeleteOnTermination"]:
                    self._ec2["_volumes"].pop(mapping["Ebs"]["VolumeId"], None)
                    self._ec2["_tags"].pop(mapping["Ebs"]["VolumeId"], None)

    def _address(self, subnet: Map) -> str:
        """Return a free address in a subnet. AWS reserves the first four addresses and the last one."""
        living = [
            instance for instance in self._ec2["_instances"].values() if instance["State"]["Name"] != "terminated"
        ]
        used = {instance["PrivateIpAddress"] for instance in living}
        hosts = list(ipaddress.ip_network(subnet["CidrBlock"]))[4:-1]
        return next(str(host) for host in hosts if str(host) not in used)

    def _architecture(self, image_id: str) -> str:
        stubs = [self._ec2["_stub_image_view"](*image) for image in self._ec2["_STUB_AMIS"] if image[0] == image_id]
        return str(stubs[0]["Architecture"]) if stubs else "x86_64"

    def _interface(self, sent: Map, subnet: Map) -> Map:
        return {
            "Attachment": {
                "DeviceIndex": sent.get("DeviceIndex", 0),
                "NetworkCardIndex": sent.get("NetworkCardIndex", 0),
                "Status": "attached",
                "DeleteOnTermination": True,
            },
            "Groups": [{"GroupId": group} for group in sent.get("Groups", ())],
            "InterfaceType": sent.get("InterfaceType", "interface"),
            "NetworkInterfaceId": f"eni-{self._ec2['new_uuid']().replace('-', '')[:17]}",
            "OwnerId": self._ec2["get_account_id"](),
            "Status": "in-use",
            "SubnetId": subnet["SubnetId"],
            "VpcId": subnet["VpcId"],
        }

    def _attach_volumes(self, record: dict[str, Any], mappings: Any, tags: Map) -> None:
        """Attach the volumes of an instance's block device mappings; the root volume already exists."""
        volumes = self._ec2["_volumes"]
        root = record["BlockDeviceMappings"][0]
        template = volumes[root["Ebs"]["VolumeId"]]
        template["AvailabilityZone"] = record["Placement"]["AvailabilityZone"]
        for mapping in mappings:
            sent, device = mapping.get("Ebs"), mapping["DeviceName"]
            if sent is None:
                continue
            volume = template
            if device != root["DeviceName"]:
                identity = self._ec2["_new_volume_id"]()
                attachment = {**template["Attachments"][0], "VolumeId": identity, "Device": device}
                volume = volumes[identity] = {**template, "VolumeId": identity, "Attachments": [attachment]}
                ebs = {**root["Ebs"], "VolumeId": identity}
                record["BlockDeviceMappings"].append({"DeviceName": device, "Ebs": ebs})
            volume.update(
                {
                    "Size": int(sent.get("VolumeSize", volume["Size"])),
                    "VolumeType": sent.get("VolumeType", volume["VolumeType"]),
                    "Iops": int(sent.get("Iops", volume["Iops"])),
                    "Throughput": int(sent.get("Throughput", volume["Throughput"])),
                    "Encrypted": sent.get("Encrypted") == "true",
                }
            )
        if tags:
            for mapping in record["BlockDeviceMappings"]:
                self._ec2["_tags"][mapping["Ebs"]["VolumeId"]] = _as_list(tags)


def _with_throughput(own: Callable[[Map], Any]) -> Callable[[Map], str]:
    """Return ministack's function that describes a volume, with the throughput added."""

    def described(volume: Map) -> str:
        throughput = volume.get("Throughput")
        return str(own(volume)) + (f"<throughput>{throughput}</throughput>" if throughput else "")

    return described


def _fleet_instance(offer: Offer, records: list[Map]) -> Map:
    return {
        "InstanceIds": [record["InstanceId"] for record in records],
        "InstanceType": offer.instance_type,
        "LaunchTemplateAndOverrides": _template_and_overrides(offer),
        "Lifecycle": offer.lifecycle,
    }


def _fleet_error(offer: Offer, refusal: Refusal) -> Map:
    code, message = refusal
    return {
        "ErrorCode": code,
        "ErrorMessage": message,
        "LaunchTemplateAndOverrides": _template_and_overrides(offer),
        "Lifecycle": offer.lifecycle,
    }


def _template_and_overrides(offer: Offer) -> Map:
    overrides = {**offer.override, "InstanceType": offer.instance_type, "AvailabilityZone": offer.zone}
    return {"LaunchTemplateSpecification": offer.template, "Overrides": overrides}


def _no_capacity(offer: Offer) -> Refusal | None:
    """Return EC2's error if there is no capacity outside reservations."""
    if control.has_capacity(offer.instance_type, offer.zone, offer.lifecycle):
        return None
    text = (
        f"We currently do not have sufficient {offer.instance_type} capacity in the Availability Zone you requested "
        f"({offer.zone})."
    )
    return "InsufficientInstanceCapacity", text


def _spot_request(instance_id: str) -> str:
    return f"sir-{instance_id[-8:]}"


def _tags_for(specifications: Any) -> dict[str, dict[str, str]]:
    """Return the tags by resource type."""
    return {
        specification["ResourceType"]: {tag["Key"]: tag.get("Value", "") for tag in specification.get("Tags", ())}
        for specification in specifications
    }


def _merged_tags(first: Mapping[str, Map], second: Mapping[str, Map]) -> dict[str, dict[str, str]]:
    return {kind: {**first.get(kind, {}), **second.get(kind, {})} for kind in {*first, *second}}


def _as_list(tags: Map) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
