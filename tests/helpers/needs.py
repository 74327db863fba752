"""Messages of the rules about software for nodes."""

from __future__ import annotations

import typing
from typing import Any

from eks_hardware.catalogue import load
from eks_hardware.models import Strategy
from eks_hardware.models.needs import Attention, Framework
from eks_hardware.rules import RULES
from eks_hardware.rules.registry import Context
from eks_hardware.spellings import Precision
from helpers.rules import module_of
from helpers.strategies import TODAY, document, pool, pools

MODULES = ("drivers", "frameworks", "needs", "workload")


CATALOGUE = load()


def trainium_pool(**fields: Any) -> dict[str, Any]:
    return pools(pool(accelerator="trainium", limits={"aws.amazon.com/neuron": 16}, **fields))


def said(*groups: dict[str, Any], **fields: Any) -> dict[str, str]:
    """Return the messages of these rules, by code."""
    context = Context(Strategy.model_validate(document(*groups, **fields)), CATALOGUE, TODAY)
    return {
        code: message
        for code, rule in RULES.items()
        if module_of(rule) in MODULES
        for _, message in rule.check(context)
    }


WORDS = {
    "precision": typing.get_args(Precision),
    "attention": typing.get_args(Attention),
    "framework": typing.get_args(Framework),
    "cuda": ("10.0", "11.8", "12.4", "12.10", "13.0", "99.99"),
    "nvidia_driver": ("450", "470.256.02", "580", "580.159", "595.71.05", "999.999.999"),
    "neuron_sdk": ("1.19", "2.0", "2.26.1", "2.29", "2.30", "2.31.1", "2.99", "2.99.99"),
    "distributed": ("single-node", "multi-node"),
}
