"""The inventory against what is synthesized: the same addresses, the same references, the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.diff.inventory import Resource, references_in, resources
from eks_hardware.kubernetes import bundle
from eks_hardware.resolve import resolve
from eks_hardware.validation import load_strategy
from helpers.paths import GOLDEN, SHIPPED, SPECIAL
from helpers.strategies import group, strategy

FILES = {file.stem: file for folder in (SHIPPED, SPECIAL) for file in sorted(folder.glob("*.yaml"))}

# Known before there is such a resource: a reference to it carries no replacement.
KNOWN = frozenset({"name", "node_group_name", "cluster_name", "rule", "principal_arn", "vpc_id"})
_REFERENCE = re.compile(r"(?<![\w.-])((?:aws|helm)_\w+\.[A-Za-z_][\w-]*)((?:\.[a-z_]\w*|\[[^\]]*\])*)")

# What is compared and nothing else: it says the same in other words.
STAND_INS = frozenset({"description", "assume_role_policy", "policy", "event_pattern", "grantee_principal", "values"})


@cache
def inventory(name: str) -> tuple[Resource, ...]:
    resolved = resolve(load_strategy(FILES[name]).strategy)
    return tuple(each for each in resources(resolved, bundle(resolved)) if not each.stack)


@cache
def synthesized(name: str) -> Mapping[str, Any]:
    """Body by address."""
    stack = json.loads((GOLDEN / name / "stack.json").read_text(encoding="utf-8"))
    return {f"{type_}.{id_}": body for type_, bodies in stack["resource"].items() for id_, body in bodies.items()}


def referred(value: Any) -> Iterator[str]:
    """Addresses that a body refers to by something that is not known before they exist."""
    if isinstance(value, str):
        for address, path in _REFERENCE.findall(value) if "${" in value else ():
            attribute = re.findall(r"\.([a-z_]\w*)", path)
            if attribute and attribute[-1] not in KNOWN:
                yield address
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key not in ("//", "depends_on"):
                yield from referred(each)
    elif isinstance(value, list):
        for each in value:
            yield from referred(each)


@pytest.mark.parametrize("name", FILES)
def test_addresses(name: str) -> None:
    assert sorted(each.address for each in inventory(name)) == sorted(synthesized(name))


@pytest.mark.parametrize("name", FILES)
def test_references(name: str) -> None:
    """What one resource hands to another decides what a replacement carries with it."""
    address = {each.path: each.address for each in inventory(name)}
    found = {
        each.address: {
            address[reference.path] for reference in references_in(each.arguments) if reference.attribute not in KNOWN
        }
        for each in inventory(name)
    }
    expected = {each: set(referred(body)) for each, body in synthesized(name).items()}
    assert found == expected


@pytest.mark.parametrize("name", FILES)
def test_values(name: str) -> None:
    bodies = synthesized(name)
    compared = 0
    for each in inventory(name):
        for argument, value in each.arguments.items():
            if isinstance(value, str | int) and argument not in STAND_INS and "${" not in str(value):
                actual = _at(bodies[each.address], argument)
                if isinstance(actual, str) and "${" in actual:
                    continue
                assert (each.address, argument, _plain(value)) == (each.address, argument, _plain(actual))
                compared += 1
    assert compared > 50


# Blocks that hold more than the one value that the strategy decides on.
_WITHIN = {
    ("metadata_options",): "http_put_response_hop_limit",
    ("monitoring",): "enabled",
    ("placement",): "group_name",
    ("instance_market_options",): "market_type",
    ("zonal_shift_config",): "enabled",
}


def _at(body: Any, argument: str) -> Any:
    path = argument.split(".")
    if within := _WITHIN.get(tuple(path)):
        path.append(within)
    if argument == "encryption_config":
        path += ["provider", "key_arn"]
    for key in path:
        body = (body[0] if isinstance(body, list) else body).get(key)
        if body is None:
            return None
    return body


def _plain(value: Any) -> Any:
    # An id of the local chart is a path of its asset.
    if value is None or value is False:
        return None
    return "eks-hardware" if isinstance(value, str) and "assets/" in value else value


def test_every_row_is_used() -> None:
    """A row of the table that no strategy meets is one that nobody would miss."""
    used = {(each.type, argument) for name in FILES for each in inventory(name) for argument in each.arguments}
    rows = {
        (type_, argument) for type_, row in facts.replacements()["resources"].items() for argument in row["arguments"]
    }
    assert rows - used == set()


def test_a_second_stack_has_the_releases() -> None:
    separate = resolve(strategy(group("g5.xlarge"), kubernetes={"delivery": "helm", "stack": "separate"}))
    same = resolve(strategy(group("g5.xlarge"), kubernetes={"delivery": "helm"}))
    names = {
        stack: {
            each.name
            for each in resources(resolved, bundle(resolved))
            if each.stack == stack and each.type == "helm_release"
        }
        for stack, resolved in (("kubernetes", separate), ("", same))
    }
    assert names["kubernetes"] == names[""] == {"nvidia-device-plugin"}


def test_an_argument_that_the_table_lacks_is_refused() -> None:
    from eks_hardware.diff.inventory.resource import Inventory

    with pytest.raises(KeyError, match=r"aws_vpc: nonsense"):
        Inventory({}).add("aws_vpc", ("vpc",), "network", {"nonsense": 1})
