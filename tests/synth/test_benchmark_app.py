"""The TypeScript app of the benchmark: the same resources at the same addresses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from benchmarks.typescript_app import differences, main_source, stack_source
from helpers.running import Run


@pytest.fixture(scope="module")
def documents(lazy_run: Run) -> dict[str, dict[str, Any]]:
    return {name: json.loads(content) for name, content in lazy_run.stacks().items()}


@pytest.mark.parametrize("name", ["mixed-hardware", "development", "gpu-training"])
def test_every_resource_is_defined_once(documents: dict[str, dict[str, Any]], name: str) -> None:
    document = documents[name]
    source = stack_source(name, document)
    count = sum(len(named) for part in ("resource", "data") for named in document.get(part, {}).values())
    assert len(re.findall(r"^  const r\d+ = new ", source, re.MULTILINE)) == count
    assert source.count("new TerraformOutput(") == len(document["output"])


def test_references_are_tokens_as_a_person_would_write_them(documents: dict[str, dict[str, Any]]) -> None:
    source = stack_source("mixed-hardware", documents["mixed-hardware"])
    assert re.search(r"new Subnet\(\w+, \"[\w-]+\", \{.*vpcId: r\d+\.id", source)
    assert 'import { Vpc } from "@cdktf/provider-aws/lib/vpc";' in source
    assert "${aws_vpc." not in source


def test_what_the_binding_does_not_know_is_an_override(documents: dict[str, dict[str, Any]]) -> None:
    document = documents["mixed-hardware"]
    group = next(iter(document["resource"]["aws_eks_node_group"].values()))
    group["update_config"]["no_such_setting"] = "minimal"
    assert 'addOverride("update_config.no_such_setting", "minimal");' in stack_source("mixed-hardware", document)


def test_an_app_has_all_its_stacks() -> None:
    assert main_source(["a", "b"]).count("(app);") == 2


def test_a_difference_is_named_by_its_place() -> None:
    ours = {"resource": {"aws_vpc": {"a": {"//": 1, "cidr_block": "10.0.0.0/16", "tags": {"x": "y"}}}}}
    theirs = {"resource": {"aws_vpc": {"a": {"//": 2, "cidr_block": "10.1.0.0/16", "tags": {"x": "y"}}}}}
    assert differences(ours, ours) == []
    assert differences(ours, theirs) == ['resource.aws_vpc.a.cidr_block: "10.0.0.0/16" and "10.1.0.0/16"']
