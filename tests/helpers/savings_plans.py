"""Rates of Savings Plans as AWS answers them."""

from __future__ import annotations

from typing import Any


def savings_rate(
    seconds: int, usd: str, *, usage: str = "USW2-BoxUsage:p5.48xlarge", operating_system: str = "Linux/UNIX"
) -> dict[str, Any]:
    """Return a rate of a Compute Savings Plan for p5.48xlarge in us-west-2.

    Source: https://docs.aws.amazon.com/savingsplans/latest/APIReference/API_SavingsPlanOfferingRate.html
    """
    properties = {
        "region": "us-west-2",
        "instanceType": "p5.48xlarge",
        "productDescription": operating_system,
        "tenancy": "shared",
    }
    plan = {"planType": "Compute", "paymentOption": "No Upfront", "currency": "USD", "durationSeconds": seconds}
    return {
        "savingsPlanOffering": plan,
        "rate": usd,
        "unit": "Hrs",
        "usageType": usage,
        "properties": [{"name": name, "value": value} for name, value in properties.items()],
    }
