"""EC2's offers: instance types with their zones from recorded AWS responses, and the AMIs that EKS publishes.

The recorded responses are part of moto, and do not have our catalogue's corrections. Offerings are matched by zone ID,
because ministack numbers zones differently.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import importlib.util
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.local.emulator_patches.ec2_protocol import page, render, request, response, shape

_TYPES_PER_PAGE = 100
_OFFERINGS_PER_PAGE = 1000
_OWNER = "602401143452"
_ZONE_FILTERS = {
    "group-name": "GroupName",
    "opt-in-status": "OptInStatus",
    "region-name": "RegionName",
    "state": "State",
    "zone-id": "ZoneId",
    "zone-name": "ZoneName",
    "zone-type": "ZoneType",
}

NAMES = frozenset(
    {"_ACTION_MAP", "_STUB_AMIS", "_error", "_now_ts", "_p", "_stub_image_view", "_xml", "_zone_name_for_az_id"}
)
"""The names of ministack's module that the patches need."""

_AL2023 = re.compile(
    r"/aws/service/eks/optimized-ami/(?P<kubernetes>[\d.]+)/amazon-linux-2023/(?P<architecture>x86_64|arm64)/"
    r"(?P<variant>standard|nvidia|neuron)/"
    r"(?P<name>recommended|amazon-eks-node-al2023-(?P=architecture)-(?P=variant)-(?P=kubernetes)-v(?P<version>\d{8}))/"
    r"image_id"
)
_BOTTLEROCKET = re.compile(
    r"/aws/service/bottlerocket/aws-k8s-(?P<kubernetes>[\d.]+)(?P<variant>|-nvidia)/(?P<architecture>x86_64|arm64)/"
    r"(?P<version>latest|\d+\.\d+\.\d+)/image_id"
)


def install(ec2: dict[str, Any], ssm: dict[str, Any]) -> None:
    """Patch the functions of ministack that describe instance types, offerings and images."""
    offers = _Offers(ec2)
    ec2["_ACTION_MAP"].update(
        DescribeAvailabilityZones=offers.describe_zones,
        DescribeInstanceTypes=offers.describe_types,
        DescribeInstanceTypeOfferings=offers.describe_offerings,
        DescribeSpotPriceHistory=offers.describe_spot_prices,
    )
    own_parameter, own_view = ssm["_public_parameter"], ec2["_stub_image_view"]

    def parameter(name: str) -> object:
        image = publish(ec2, name)
        if image is None:
            return own_parameter(name)
        return {
            **_PARAMETER,
            "Name": name,
            "Value": image,
            "ARN": f"arn:aws:ssm:{ssm['get_region']()}::parameter{name}",
        }

    def view(image_id: str, name: str, *rest: object) -> dict[str, object]:
        architecture = "arm64" if re.search("arm64|aarch64", name) else "x86_64"
        return {**own_view(image_id, name, *rest), "Architecture": architecture}

    def zone_name(zone_id: str) -> str | None:
        # ministack has only three zones in a region.
        number = re.search(r"-az([1-9])$", zone_id or "")
        return ec2["get_region"]() + chr(ord("a") - 1 + int(number[1])) if number else None

    ec2["_zone_name_for_az_id"] = zone_name
    ssm["_public_parameter"] = parameter
    ec2["_stub_image_view"] = view


def zones_of(ec2: dict[str, object], instance_type: str) -> list[str]:
    """Return the names of the zones in the request's region that offer an instance type."""
    offered = _Offers(ec2).offerings("availability-zone")
    return sorted(offering["Location"] for offering in offered if offering["InstanceType"] == instance_type)


_PARAMETER = {"Type": "String", "Version": 1, "LastModifiedDate": 1728518400}


def publish(ec2: Mapping[str, Any], parameter: str) -> str | None:
    """Return the ID of the AMI that EKS's public parameter names, and make EC2 describe the AMI.

    Return ``None`` for other parameters, and for releases that our data files do not contain.
    """
    name = image_name(parameter)
    if name is None:
        return None
    image = f"ami-{hashlib.sha256(name.encode()).hexdigest()[:17]}"
    stubs = ec2["_STUB_AMIS"]
    if all(image != stub[0] for stub in stubs):
        stubs.append((image, name, f"EKS image {name}", "", "/dev/xvda", _OWNER, "amazon"))
    return image


def image_name(parameter: str) -> str | None:
    """Return the name of the AMI that EKS's public parameter names, or ``None`` if there is no such AMI.

    Sources: https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html,
    https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html
    """
    if match := _AL2023.fullmatch(parameter):
        version = match["version"] or max(al2023_versions())
        if version in al2023_versions():
            return "amazon-eks-node-al2023-{}-{}-{}-v{}".format(
                *match.group("architecture", "variant", "kubernetes"), version
            )
    if match := _BOTTLEROCKET.fullmatch(parameter):
        versions = bottlerocket_versions()
        version = versions[0] if match["version"] == "latest" else match["version"]
        if version in versions:
            return "bottlerocket-aws-k8s-{}{}-{}-v{}".format(
                *match.group("kubernetes", "variant", "architecture"), version
            )
    return None


def al2023_versions() -> frozenset[str]:
    """Return the release dates of all AL2023 AMIs in our data files."""
    releases = facts.karpenter()["ami_aliases"]["releases"]["al2023"]
    return frozenset({*facts.ami_releases()["al2023"]["kubelets"], *(release["version"][1:] for release in releases)})


def bottlerocket_versions() -> tuple[str, ...]:
    """Return the Bottlerocket releases in our data files, newest first."""
    releases = facts.karpenter()["ami_aliases"]["releases"]["bottlerocket"]
    return tuple(release["version"][1:] for release in releases)


class _Offers:
    def __init__(self, ec2: dict[str, Any]) -> None:
        self._ec2 = ec2

    def describe_types(self, params: Mapping[str, object]) -> object:
        asked = request("DescribeInstanceTypesRequest", params, self._ec2["_p"])
        known, named = instance_types(), asked.get("InstanceTypes")
        here = frozenset(
            offering["InstanceType"] for offering in _recorded_offerings("region", self._ec2["get_region"]())
        )
        for name in named or ():
            if name not in here:
                text = f"The following supplied instance types do not exist: [{name}]"
                return self._ec2["_error"]("InvalidInstanceType", text, 400)
        filters = {filter_["Name"]: filter_.get("Values", []) for filter_ in asked.get("Filters", ())}
        names = [name for name in (named or sorted(here & known.keys())) if _matches(known[name], filters)]
        shown, more = page(names, asked, _TYPES_PER_PAGE)
        types = "".join(f"<item>{_type_xml(name)}</item>" for name in shown)
        token = "".join(f"<nextToken>{each}</nextToken>" for each in more.values())
        return self._ec2["_xml"](
            200, "DescribeInstanceTypesResponse", f"<instanceTypeSet>{types}</instanceTypeSet>{token}"
        )

    def describe_offerings(self, params: Mapping[str, object]) -> object:
        asked = request("DescribeInstanceTypeOfferingsRequest", params, self._ec2["_p"])
        location = asked.get("LocationType", "region")
        filters = {filter_["Name"]: filter_.get("Values", []) for filter_ in asked.get("Filters", ())}
        offerings = [
            {**offering, "LocationType": location}
            for offering in self.offerings(location)
            if offering["InstanceType"] in filters.get("instance-type", [offering["InstanceType"]])
            and offering["Location"] in filters.get("location", [offering["Location"]])
        ]
        shown, more = page(offerings, asked, _OFFERINGS_PER_PAGE)
        return response("DescribeInstanceTypeOfferings", {"InstanceTypeOfferings": shown, **more})

    def describe_zones(self, params: Mapping[str, object]) -> object:
        """Return the requested Availability Zones; ministack has only three, and ignores the request's filters."""
        asked = request("DescribeAvailabilityZonesRequest", params, self._ec2["_p"])
        region = self._ec2["get_region"]()
        zones = [
            {
                "ZoneName": self._ec2["_zone_name_for_az_id"](zone),
                "ZoneId": zone,
                "ZoneType": "availability-zone",
                "State": "available",
                "RegionName": region,
                "GroupName": f"{region}-zg-1",
                "NetworkBorderGroup": region,
                "OptInStatus": "opt-in-not-required",
            }
            for zone in load().zone_ids(region)
        ]
        wanted = {
            **{_ZONE_FILTERS[filter_["Name"]]: filter_.get("Values", []) for filter_ in asked.get("Filters", ())},
            **{name: asked[f"{name}s"] for name in ("ZoneName", "ZoneId") if f"{name}s" in asked},
        }
        shown = [zone for zone in zones if all(zone[name] in values for name, values in wanted.items())]
        return response("DescribeAvailabilityZones", {"AvailabilityZones": shown})

    def describe_spot_prices(self, params: Mapping[str, object]) -> object:
        """Return Spot prices from ``config/prices``; if unknown, the On-Demand price, which is the highest possible.

        The data files have a type's prices in order, not by zone. The lowest price is assigned to the first zone.
        """
        asked = request("DescribeSpotPriceHistoryRequest", params, self._ec2["_p"])
        region = self._ec2["get_region"]()
        zones: dict[str, list[str]] = {}
        for offering in self.offerings("availability-zone"):
            zones.setdefault(offering["InstanceType"], []).append(offering["Location"])
        prices = [
            {
                "AvailabilityZone": zone,
                "InstanceType": name,
                "ProductDescription": "Linux/UNIX",
                "SpotPrice": f"{price:.6f}",
                "Timestamp": self._ec2["_now_ts"](),
            }
            for name in asked.get("InstanceTypes", sorted(zones))
            for zone, price in zip(sorted(zones.get(name, ())), _spot_prices(name, region), strict=False)
        ]
        return response("DescribeSpotPriceHistory", {"SpotPriceHistory": prices})

    def offerings(self, location: str) -> Iterator[dict[str, str]]:
        """Yield the offerings in the request's region."""
        region = self._ec2["get_region"]()
        if location != "availability-zone":
            yield from _recorded_offerings(location, region)
            return
        for offering in _recorded_offerings("availability-zone-id", region):
            if zone := self._ec2["_zone_name_for_az_id"](offering["Location"]):
                yield {**offering, "Location": zone}


def _matches(kind: Mapping[str, object], filters: Mapping[str, Iterable[str]]) -> bool:
    """Return whether an instance type passes the filters: ``processor-info.supported-architecture`` and so on."""
    for name, accepted in filters.items():
        value: object = kind
        for part in name.split("."):
            camel = "".join(word.capitalize() for word in part.split("-"))
            value = value.get(camel, value.get(f"{camel}s")) if isinstance(value, Mapping) else None
        values = value if isinstance(value, list) else [str(value).lower() if isinstance(value, bool) else value]
        if not set(map(str, values)) & set(accepted):
            return False
    return True


def _spot_prices(name: str, region: str) -> Iterable[float]:
    """Return an instance type's prices, one for each zone, in USD per hour."""
    for by_region in facts.spot_prices()["types"].get(name, {}).values():
        if region in by_region:
            return by_region[region]
    price = load().price(name, region)
    return () if price is None else itertools.repeat(price.usd_per_hour)


@functools.cache
def _type_xml(name: str) -> str:
    return render(shape("ec2", "InstanceTypeInfo"), instance_types()[name])


@functools.cache
def instance_types() -> dict[str, dict[str, Any]]:
    """Return moto's recorded ``DescribeInstanceTypes`` by name."""
    types: dict[str, dict[str, Any]] = _recorded("instance_types.json.gz")
    return types


@functools.cache
def _recorded_offerings(location: str, region: str) -> list[dict[str, str]]:
    recorded_offerings: list[dict[str, str]] = _recorded(f"instance_type_offerings/{location}/{region}.json.gz")
    return recorded_offerings


def _recorded(path: str) -> Any:
    module = importlib.util.find_spec("moto")
    assert module is not None, "moto is not installed"
    assert module.origin is not None
    with gzip.open(Path(module.origin).parent / "ec2" / "resources" / path) as file:
        return json.load(file)
