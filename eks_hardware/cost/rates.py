"""Hourly prices by region of everything except instances."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.cost.model import HOURS_PER_MONTH, Figure
from eks_hardware.resolve import BlockDevice, ResolvedFsxLustre
from eks_hardware.units import MIB_PER_GIB

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.prices import GlobalPrice, RegionalPrice

# The performance included in a gp3 volume, and the tiers above which further IOPS of an io2 volume cost less:
# https://aws.amazon.com/ebs/pricing/
_GP3_IOPS = 3000
_GP3_MIBPS = 125
_IO2_TIERS = ((32_000, "iops_month"), (64_000, "iops_month_tier_2"), (None, "iops_month_tier_3"))


def control_plane(region: str, *, extended: bool) -> Figure | None:
    """Return the price of the EKS control plane, in standard or extended support."""
    support = "extended" if extended else "standard"
    prices = facts.service_prices()
    return _listed(prices["control_plane"], region, support) or _listed(
        prices["control_plane_govcloud"], region, support
    )


def control_plane_tier(region: str, tier: str) -> Figure | None:
    """Return the price of a provisioned control plane tier, which is added to that of the control plane."""
    return _listed(facts.service_prices()["control_plane_tiers"], region, tier)


def nat_gateway(region: str) -> Figure | None:
    """Return the price of a NAT gateway."""
    return _listed(facts.service_prices()["nat_gateway"], region)


def public_address(region: str) -> Figure | None:
    """Return the price of a public IPv4 address in use."""
    prices = facts.service_prices()
    return _listed(prices["public_ipv4"], region, "in-use") or _listed(prices["public_ipv4_govcloud"], region, "in-use")


def interface_endpoint(region: str) -> Figure | None:
    """Return the price of an interface endpoint in one zone."""
    return _listed(facts.service_prices()["interface_endpoint"], region)


def load_balancer(region: str) -> Figure | None:
    """Return the price of a load balancer (Application or Network), without capacity units."""
    return _listed(facts.service_prices()["load_balancer"], region)


def key(region: str) -> Figure | None:
    """Return the price of a customer managed KMS key."""
    prices, kind = facts.service_prices(), "customer-managed"
    return _listed(prices["kms_key"], region, kind, units_per_month=1) or _listed(
        prices["kms_key_govcloud"], region, kind, units_per_month=1
    )


def lustre(region: str, file_system: ResolvedFsxLustre) -> Figure | None:
    """Return the price of an FSx for Lustre file system, by size, type and throughput."""
    throughput = file_system.throughput_mibps_per_tib
    kind = file_system.deployment_type + (f"-{throughput}" if throughput else "")
    return _listed(facts.service_prices()["fsx_lustre"], region, kind, units_per_month=file_system.size_gib)


def volumes(region: str, devices: Sequence[BlockDevice]) -> Figure | None:
    """Return the price of all EBS volumes of one node; None if one of them has no known price."""
    table = facts.volume_prices()
    listed = table["regions"].get(region, {})
    if any(device.volume_type not in listed for device in devices):
        return None
    usd_per_month = sum(_volume(device, listed[device.volume_type]) for device in devices)
    return Figure(usd_per_hour=usd_per_month / HOURS_PER_MONTH, as_of=table["as_of"], source=table["source"])


def standard_support_until(kubernetes_version: str) -> datetime.date | None:
    """Return the last day of standard support of a Kubernetes version; None for an unknown version."""
    dates = facts.eks()["versions"]["supported"].get(kubernetes_version)
    return datetime.date.fromisoformat(dates["standard_until"]) if dates else None


def _volume(device: BlockDevice, prices: Mapping[str, float]) -> float:
    """Return the price in US dollars per month."""
    stored = device.size_gib * prices["gib_month"]
    iops = device.iops or 0
    if device.volume_type == "gp3":
        more_iops = max(0, iops - _GP3_IOPS)
        more_mibps = max(0, (device.throughput_mibps or 0) - _GP3_MIBPS)
        return stored + more_iops * prices["iops_month"] + more_mibps / MIB_PER_GIB * prices["gibps_month"]
    below = 0
    for until, name in _IO2_TIERS:
        most = iops if until is None else min(iops, until)
        stored += max(0, most - below) * prices[name]
        below = most
    return stored


def _listed(
    price: GlobalPrice | RegionalPrice, region: str, name: str | None = None, *, units_per_month: float | None = None
) -> Figure | None:
    """Return the figure of a price. With ``units_per_month`` the price is per month of one unit."""
    amounts: float | dict[str, float] | None = None
    if "regions" in price:
        amounts = price["regions"].get(region)
    elif facts.partition(region) == "aws":
        amounts = price["every_region"]
    usd = amounts.get(name or "") if isinstance(amounts, dict) else amounts
    if usd is None:
        return None
    usd_per_hour = usd if units_per_month is None else usd * units_per_month / HOURS_PER_MONTH
    return Figure(usd_per_hour=usd_per_hour, as_of=price["as_of"], source=price["source"], note=price.get("note"))
