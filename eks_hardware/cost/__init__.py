"""The hourly cost of a strategy: instances, volumes, storage, network, control plane.

    cost = cost_of(resolve(strategy))
    cost.usd_per_month("max"), cost.unknown("max")

Totals exclude items without a known price.
"""

from eks_hardware.cost.age import OldestPrice, first_day, oldest_price
from eks_hardware.cost.commitments import Commitment, commitment
from eks_hardware.cost.engine import cost_of
from eks_hardware.cost.instance_prices import NO_SAVINGS_PLANS, instance_figure, why_outdated, why_unknown
from eks_hardware.cost.model import (
    HOURS_PER_MONTH,
    LEVELS,
    PURCHASES,
    CostLine,
    Figure,
    Level,
    Purchase,
    StrategyCost,
)

__all__ = [
    "HOURS_PER_MONTH",
    "LEVELS",
    "NO_SAVINGS_PLANS",
    "PURCHASES",
    "Commitment",
    "CostLine",
    "Figure",
    "Level",
    "OldestPrice",
    "Purchase",
    "StrategyCost",
    "commitment",
    "cost_of",
    "first_day",
    "instance_figure",
    "oldest_price",
    "why_outdated",
    "why_unknown",
]
