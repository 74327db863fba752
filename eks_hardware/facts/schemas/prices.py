"""``prices/*.json`` and ``quotas/service_quotas.json``."""

from __future__ import annotations

from typing import final

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced, Text
from eks_hardware.facts.schemas.catalogue import OfFamilies


class OnDemand(About):
    """``on_demand.json``: by type, source and region."""

    unit: str
    sources: dict[str, Sourced]
    types: dict[str, dict[str, dict[str, float]]]


class Commitments(About):
    """``commitments.json``: by type, source, term (or ``on_demand``) and region."""

    unit: str
    sources: dict[str, Sourced]
    types: dict[str, dict[str, dict[str, dict[str, float]]]]


class Spot(About):
    """``spot.json``: by type, source and region."""

    unit: str
    sources: dict[str, Sourced]
    types: dict[str, dict[str, dict[str, list[float]]]]


class CapacityBlocks(About):
    """``capacity_blocks.json``: by type, the day from which the price applies (as in ``sources``), and region."""

    unit: str
    sources: dict[str, Sourced]
    types: dict[str, dict[str, dict[str, float]]]


class Volumes(About, Sourced):
    """``volumes.json``: by region, volume type and billed unit."""

    unit: str
    regions: dict[str, dict[str, dict[str, float]]]


@final
class RegionalPrice(Sourced):
    """A service's prices by region, and by billed unit if there are several."""

    unit: str
    regions: dict[str, float | dict[str, float]]


@final
class GlobalPrice(Sourced):
    """A service's prices by billed unit, the same in every region."""

    unit: str
    every_region: dict[str, float]


class Services(About):
    control_plane: GlobalPrice
    control_plane_govcloud: RegionalPrice
    control_plane_tiers: GlobalPrice
    nat_gateway: RegionalPrice
    interface_endpoint: RegionalPrice
    public_ipv4: GlobalPrice
    public_ipv4_govcloud: RegionalPrice
    kms_key: GlobalPrice
    kms_key_govcloud: RegionalPrice
    fsx_lustre: RegionalPrice
    load_balancer: RegionalPrice


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


class QuotaRefusal(TypedDict):
    quota: NotRequired[str]
    most: NotRequired[int]
    can_be_raised: NotRequired[bool]
    code: str
    message: str
    source: Text


class QuotaRefusals(Sourced):
    rows: dict[str, QuotaRefusal]


class ServiceQuotas(About):
    vcpus: VcpuQuotas
    capacity_blocks: CapacityBlockQuotas
    others: OtherQuotas
    refusals: QuotaRefusals
