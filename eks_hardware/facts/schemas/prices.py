"""``prices/*.json`` and ``quotas/service_quotas.json``."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced, Text
from eks_hardware.facts.schemas.catalogue import OfFamilies


class OnDemand(About):
    """``on_demand.json``: by type, source and region."""

    unit: str
    sources: dict[str, Sourced]
    types: dict[str, dict[str, dict[str, float]]]


class Reserved(About, Sourced):
    """``reserved.json``: by type, term (or ``on_demand``) and region."""

    unit: str
    types: dict[str, dict[str, dict[str, float]]]


class Spot(About, Sourced):
    """``spot.json``: by type and region."""

    how: Text
    unit: str
    types: dict[str, dict[str, list[float]]]


class Volumes(About, Sourced):
    """``volumes.json``: by region, volume type and what is billed."""

    unit: str
    regions: dict[str, dict[str, dict[str, float]]]


class ServicePrice(Sourced):
    """Prices of one service: by region or ``every_region``, and by billed unit if there are several."""

    unit: str
    regions: NotRequired[dict[str, float | dict[str, float]]]
    every_region: NotRequired[dict[str, float]]


class Services(About):
    control_plane: ServicePrice
    control_plane_tiers: ServicePrice
    nat_gateway: ServicePrice
    nat_gateway_undated: ServicePrice
    interface_endpoint: ServicePrice
    public_ipv4: ServicePrice
    kms_key: ServicePrice
    fsx_lustre: ServicePrice


class VcpuQuotaRow(OfFamilies):
    on_demand: str | None
    spot: str | None


class QuotaDefault(TypedDict):
    name: str
    default: int | None


class VcpuQuotas(Sourced):
    service: str
    unit: str
    rows: list[VcpuQuotaRow]
    defaults: dict[str, QuotaDefault]


class CapacityBlockQuota(QuotaDefault):
    code: str


class CapacityBlockQuotas(Sourced):
    service: str
    unit: str
    families: dict[str, CapacityBlockQuota]


class OtherQuota(CapacityBlockQuota):
    service: str
    unit: str
    source: Text


class OtherQuotas(Sourced):
    quotas: dict[str, OtherQuota]


class ServiceQuotas(About):
    vcpus: VcpuQuotas
    capacity_blocks: CapacityBlockQuotas
    others: OtherQuotas
