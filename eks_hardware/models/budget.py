"""``budget``: what the cluster may cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eks_hardware.models.base import StrategyModel


class SpendingLimit(StrategyModel):
    """What the cluster may cost; a strategy that may cost more is refused.

    Examples:
        >>> SpendingLimit(usd_per_month_at_max=50000).usd_per_month_at_max
        50000.0
    """

    usd_per_month_at_max: Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False)] = Field(
        description="US dollars per month of 730 hours with every group at its max and every pool at its limits; what "
        "is billed by use (data transfer, logs) is not counted."
    )
