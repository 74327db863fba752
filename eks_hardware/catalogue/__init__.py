"""The hardware catalogue: properties, offerings and prices of EC2 instance types.

The data files of ``config/catalogue`` contain the facts, each with its source. ``build.py`` writes the two generated
files (docs/guides/add-an-instance-family.md).
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
