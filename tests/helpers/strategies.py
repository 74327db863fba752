"""Small strategies for tests, and the shipped ones."""

from __future__ import annotations

import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from eks_hardware.loader.discovery import DEFAULT_FOLDER
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedNodeGroup, ResolvedNodePool, ResolvedStrategy, resolve
from eks_hardware.validation import load_strategy

TODAY = datetime.date(2026, 11, 20)
"""The date at which rules about dates are tested."""

FOLDER = DEFAULT_FOLDER
SHIPPED = tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))
OVERLAYS = ("local", "manifests", "private")


def group(instance_types: str | list[str] = "m6i.xlarge", name: str = "gpu", /, **fields: Any) -> dict[str, Any]:
    """Return a node group as in a file."""
    given = fields.pop("instance_types", instance_types)
    types = [given] if isinstance(given, str) else given
    return {"name": name, "instance_types": types, "scaling": {"max": 4}, **fields}


SYSTEM = group(name="system", scaling={"min": 2, "max": 4})
"""The untainted group that every cluster needs."""


def pool(name: str = "pool", /, **fields: Any) -> dict[str, Any]:
    """Return a node pool as in a file; CPU nodes by default."""
    hardware = {"instance_types", "instance_families", "accelerator"} & set(fields)
    default: dict[str, Any] = {} if hardware else {"instance_families": ["m7i"]}
    return {"name": name, **default, "limits": {"cpu": 64}, **fields}


def gpu_pool(name: str = "pool", /, **fields: Any) -> dict[str, Any]:
    """Return a node pool with a limit of 8 GPUs."""
    return pool(name, **{"limits": {"nvidia.com/gpu": 8}, **fields})


def pools(*given: dict[str, Any], **karpenter: Any) -> dict[str, Any]:
    """Return the section ``karpenter`` with node pools, as a field of a document."""
    return {"karpenter": {**karpenter, "node_pools": list(given)}}


def document(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a strategy without findings, with additional groups; no software is installed by default."""
    fields["kubernetes"] = {"delivery": "manifests", **fields.get("kubernetes", {})}
    base = {
        "version": 1,
        "name": "demo",
        "region": "us-west-2",
        "cluster": {"creator_is_admin": True},
        "node_groups": [SYSTEM, *groups],
    }
    return {**base, **fields}


def strategy(*groups: dict[str, Any], **fields: Any) -> Strategy:
    return Strategy.model_validate(document(*groups, **fields))


def write_document(file: Path, *groups: dict[str, Any], **fields: Any) -> Path:
    """Write the document of these groups and fields as a strategy file; return the file."""
    file.write_text(yaml.dump(document(*groups, **fields), Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
    return file


def write_overlay(name: str, text: str, folder: Path | str = ".") -> str:
    """Write an overlay into ``overlays`` in a folder; return its name."""
    file = Path(folder, "overlays", f"{name}.yaml")
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return name


def resolved_group(instance_types: str | list[str] = "m6i.xlarge", **fields: Any) -> ResolvedNodeGroup:
    """Return a group of a strategy, resolved."""
    return resolve(strategy(group(instance_types, **fields))).node_groups[-1]


def resolved_gpu_pool(instance_type: str, **fields: Any) -> ResolvedNodePool:
    """Return a GPU pool of a strategy, resolved."""
    return resolve(strategy(**pools(gpu_pool(instance_types=[instance_type], **fields)))).node_pools[0]


_RESOLVED: dict[str, ResolvedStrategy] = {}


def resolved_once(of: Strategy) -> ResolvedStrategy:
    """Return a strategy, resolved. Equal strategies are resolved once, so patch no facts that resolving reads."""
    written = of.model_dump_json(exclude_unset=True)
    if written not in _RESOLVED:
        _RESOLVED[written] = resolve(of)
    return _RESOLVED[written]


@cache
def strategy_of(file: Path) -> Strategy:
    """Return the strategy of a file without errors."""
    return load_strategy(file).strategy


@cache
def resolved_of(file: Path) -> ResolvedStrategy:
    """Return the resolved strategy of a file."""
    return resolve(strategy_of(file))


@cache
def shipped(name: str, overlay: str | None = None) -> Strategy:
    return load_strategy(FOLDER / f"{name}.yaml", overlays=[overlay] if overlay else []).strategy


@cache
def resolved_shipped(name: str, overlay: str | None = None) -> ResolvedStrategy:
    return resolve(shipped(name, overlay))


def cidrs_of(resolved: ResolvedStrategy) -> dict[str, str]:
    """Return the networks of a strategy's subnets, by key."""
    return {subnet.key: subnet.cidr for subnet in resolved.network.subnets}
