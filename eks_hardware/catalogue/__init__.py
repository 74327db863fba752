"""The hardware catalogue: what an EC2 instance type is, where it is offered and what it costs.

Data files of ``config/catalogue`` hold the facts, each with its source; ``build.py`` makes the two generated ones
(docs/guides/add-an-instance-family.md).
"""

from __future__ import annotations

from eks_hardware.catalogue.efa import address_count, efa_count
from eks_hardware.catalogue.model import (
    Accelerator,
    EfaInterface,
    Hardware,
    InstanceStore,
    InstanceType,
    NetworkCard,
    Price,
    UnknownInstanceTypeError,
)
from eks_hardware.catalogue.store import Catalogue, load

__all__ = [
    "Accelerator",
    "Catalogue",
    "EfaInterface",
    "Hardware",
    "InstanceStore",
    "InstanceType",
    "NetworkCard",
    "Price",
    "UnknownInstanceTypeError",
    "address_count",
    "efa_count",
    "load",
]
