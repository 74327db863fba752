"""Every resource of a strategy can be found and overridden; the guide docs/guides/change-a-setting.md runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_hardware.explain.sections import sections
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from eks_hardware.testing import Template
from eks_hardware.validation import load_strategy
from helpers.guides import blocks, stacks_of_program
from helpers.paths import GOLDEN, ROOT, SHIPPED

if TYPE_CHECKING:
    from eks_hardware.stacks import HardwareStack, StrategyStack

GUIDE = (ROOT / "docs" / "guides" / "change-a-setting.md").read_text(encoding="utf-8")
PROGRAM, PROPERTIES, LISTING = blocks("change-a-setting")
(LISTED,) = blocks("change-a-setting", "text")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> HardwareStack:
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    resolved = resolve(load_strategy(SHIPPED / "mixed-hardware.yaml").strategy)
    return strategy_stacks(App(outdir=str(tmp_path_factory.mktemp("cdktf.out"))), resolved)[0]


def test_every_resource_has_a_path(stack: HardwareStack) -> None:
    """The paths are those of the golden addresses, so look-ups use stable names."""
    from eks_hardware.constructs.resources import resources

    lines = (GOLDEN / "mixed-hardware" / "addresses.txt").read_text(encoding="utf-8").splitlines()
    promised = {line.split()[-1].partition("/")[2] for line in lines if not line.startswith("data.")}
    assert set(resources(stack)) == promised


def test_an_override_of_every_resource_arrives(tmp_path: Path) -> None:
    from eks_hardware._cdk import App
    from eks_hardware.constructs.resources import resources
    from eks_hardware.stacks import Extension, strategy_stacks

    class Marked(Extension):
        def overrides(self, stack: StrategyStack) -> None:
            for path, each in resources(stack).items():
                each.add_override("timeouts.delete", path)

    resolved = resolve(load_strategy(SHIPPED / "mixed-hardware.yaml").strategy)
    app = App(outdir=str(tmp_path))
    strategy_stacks(app, resolved, extension=Marked())
    app.synth()
    template = Template.from_json(tmp_path / "stacks" / "mixed-hardware" / "cdk.tf.json")
    found = {address: body["timeouts"]["delete"] for address, body in template.resources().items()}
    paths = template.addresses()
    assert found == {address: paths[address].partition("/")[2] for address in template.resources()}
    assert len(found) > 100


def test_the_path_of_a_construct_is_its_main_resource(stack: HardwareStack) -> None:
    from eks_hardware.constructs.resources import resource

    platform = stack.platform
    group = platform.node_groups["gpu-training"]
    assert resource(stack, "platform/nodes-gpu-training") is group.resource
    assert resource(platform, "nodes-gpu-training/Resource") is group.resource
    assert resource(group, "launch-template") is group.launch_template


def test_resources_of_a_type(stack: HardwareStack) -> None:
    from eks_hardware.constructs.resources import resources

    assert set(resources(stack.platform, "aws_placement_group")) == {
        "nodes-gpu-training/placement-group",
        "nodes-trainium-training/placement-group",
        "karpenter/placement-group-gpu-efa",
        "karpenter/placement-group-trainium",
    }
    assert resources(stack, "aws_nonsense") == {}


UNKNOWN = {
    "platform/nodes-gpu-trainin": "did you mean platform/nodes-gpu-training",
    "nodes-gpu-training": "did you mean platform/nodes-gpu-training",
    "platform": "RESOURCE_UNKNOWN platform: there is no such resource below mixed-hardware",
}


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_path_is_reported(stack: HardwareStack, path: str) -> None:
    from eks_hardware.constructs.resources import resource

    with pytest.raises(ValueError, match=f"^RESOURCE_UNKNOWN {path}") as raised:
        resource(stack, path)
    assert UNKNOWN[path] in str(raised.value)


def test_nothing_below_is_reported(stack: HardwareStack) -> None:
    from eks_hardware.constructs.resources import resource

    group = stack.platform.node_groups["system"]
    with pytest.raises(ValueError, match="it has no resources"):
        resource(group.launch_template, "x")


# --- the guide


def test_the_properties_of_the_guide_are_resources(stack: HardwareStack) -> None:
    from eks_hardware._cdk import TerraformResource

    names = {"platform": stack.platform, "stack": stack}
    lines = PROPERTIES.splitlines()
    assert len(lines) > 10
    for line in lines:
        expression, _, type_ = line.partition("#")
        found = eval(expression, names)
        assert isinstance(found, TerraformResource), line
        if type_:
            assert found.terraform_resource_type == type_.strip()


def test_the_listing_of_the_guide(stack: HardwareStack, capsys: pytest.CaptureFixture[str]) -> None:
    from eks_hardware.constructs.resources import resources

    exec(LISTING, {"resources": resources, "stack": stack})
    printed = capsys.readouterr().out.splitlines()
    shown = LISTED.splitlines()
    gap = shown.index("...")
    assert printed[:gap] == shown[:gap]
    assert set(shown[gap + 1 :]) <= set(printed)


def test_the_program_of_the_guide(tmp_path: Path) -> None:
    template = stacks_of_program(tmp_path, PROGRAM)["mixed-hardware"]
    template.has("aws_eks_node_group", {"node_group_name": "gpu-training", "timeouts": {"create": "60m"}})
    template.has("aws_cloudwatch_log_group", {"retention_in_days": 400})
    template.has("helm_release", {"name": "karpenter", "timeout": 1800})
    templates = template.resources("aws_launch_template").values()
    assert {each["tags"]["cost-center"] for each in templates} == {"4711"}
    by_hops = {each["metadata_options"]["http_put_response_hop_limit"]: each for each in templates}
    assert by_hops[2]["enclave_options"] == [{"enabled": True}]


def guide_rows() -> Iterator[tuple[str, str, str, str]]:
    """Return the table of the guide: setting, field, argument, resource."""
    for line in GUIDE.splitlines():
        cells = [each.strip() for each in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] != "to change":
            yield cells[0], cells[1], cells[2], cells[3]


ROWS = list(guide_rows())


def names_in(cell: str) -> list[str]:
    """Return the names in a cell, without text in brackets; ``.taints`` after ``a.labels`` means ``a.taints``."""
    found: list[str] = []
    for name in re.findall(r"`([^`]+)`", re.sub(r"\(`.*?`\)", "", cell)):
        found.append(found[-1].rpartition(".")[0] + name if name.startswith(".") else name)
    return found


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> HardwareStack:
    """Return a strategy with everything in the table."""
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    system = {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}}
    gpu = {"name": "gpu", "instance_types": ["p4d.24xlarge"], "efa": True, "scaling": {"max": 2}}
    pool = {"name": "l4", "instance_families": ["g6"], "limits": {"nvidia.com/gpu": 4}}
    content = {"version": 1, "name": "demo", "region": "us-west-2", "network": {"flow_logs": {}}}
    strategy = Strategy.model_validate({**content, "node_groups": [system, gpu], "karpenter": {"node_pools": [pool]}})
    return strategy_stacks(App(outdir=str(tmp_path_factory.mktemp("cdktf.out"))), resolve(strategy))[0]


def has_field(schema: Mapping[str, Any], path: list[str]) -> bool:
    """Return whether the JSON Schema of strategies has a field; ``[gpu]`` is an item, a key of a map is arbitrary."""
    definitions = schema["$defs"]

    def within(node: Mapping[str, Any], rest: list[str]) -> bool:
        if not rest:
            return True
        if "$ref" in node:
            return within(definitions[node["$ref"].rpartition("/")[2]], rest)
        if any(within(each, rest) for key in ("anyOf", "oneOf", "allOf") for each in node.get(key, ())):
            return True
        if "items" in node:
            return within(node["items"], rest)
        if rest[0] in node.get("properties", {}):
            return within(node["properties"][rest[0]], rest[1:])
        values = [node.get("additionalProperties"), *node.get("patternProperties", {}).values()]
        return any(within(each, rest[1:]) for each in values if isinstance(each, Mapping))

    return within(schema, path)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_of_the_guide(everything: HardwareStack, row: tuple[str, str, str, str]) -> None:
    from eks_hardware.constructs.resources import resource

    _, field, argument, override = row
    schema = json.loads((ROOT / "config" / "strategy.schema.json").read_text(encoding="utf-8"))
    for name in names_in(field):
        assert has_field(schema, re.sub(r"\[\w+\]", "", name).split(".")), name
    places = {f"{section.path}.{each.field}" for section in sections(everything.resolved) for each in section.rows}
    for name in names_in(argument):
        assert name in places or name.startswith("bundle.changed("), name
    for name in names_in(override):
        path = name if name.startswith("kubernetes/") else f"platform/{name}"
        assert resource(everything, path), name


def test_the_table_is_read() -> None:
    assert len(ROWS) > 15
    assert names_in("`a.b`, `.c` (`x`)") == ["a.b", "a.c"]
