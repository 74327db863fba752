"""``eks-hardware workload`` never crashes for a node group or pool: it writes a manifest or a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from eks_hardware import facts
from eks_hardware.kubernetes.nodes import Node, nodes
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.workloads import KINDS, Request, WorkloadError, manifest
from eks_hardware.workloads.request import Kind
from helpers.paths import SPECIAL, TESTS
from helpers.strategies import strategy_of

EVERY_FILE = sorted([*SPECIAL.glob("*.yaml"), *(TESTS / "corpus" / "good").glob("*.yaml")])


# The inputs of a manifest: a hundred pools that differ in other fields test no more than one.
_DECISIVE = ("hardware", "instance_types", "efa_interfaces", "ami_family", "image_id", "gpu_shares", "user_data")
REQUESTS: Mapping[Kind, tuple[dict[str, Any], ...]] = {
    "job": ({}, {"nodes": 2}, {"accelerators": 1}, {"image": "registry.example/a:1"}),
    "deployment": ({}, {"image": "registry.example/a:1"}),
    "pytorchjob": ({}, {"nodes": 2}),
    "smoke-test": ({}, {"nodes": 2}),
}


def kinds_of_nodes() -> Iterator[tuple[Strategy, ResolvedStrategy, Node]]:
    """Return one node of each kind in each kind of cluster."""
    seen = set()
    for file in EVERY_FILE:
        of = strategy_of(file)
        resolved = resolve(of)
        cluster = of.kubernetes.model_dump_json(exclude_unset=True)
        for node in nodes(resolved):
            keys = sorted(node.labels), sorted((each.key, each.effect) for each in node.taints)
            shape = repr([cluster, type(node), keys, *(getattr(node, name) for name in _DECISIVE)])
            if shape not in seen:
                seen.add(shape)
                yield of, resolved, node


def _programs(image: str) -> set[str]:
    """Return the programs in an image that scripts call, from its facts; those of drivers are on the node."""
    pytorch, neuron = facts.workload_images()["pytorch"], facts.workload_images()["neuron"]
    first = facts.workload_images()["neuron_first_generation"]
    for row in pytorch["images"]:
        if row["image"] == image:
            return {"torchrun", *(("fi_info",) if row["efa"] else ())}
    for of_neuron in neuron["images"]:
        for purpose in ("training", "inference"):
            if of_neuron[purpose] == image:
                efa = ("fi_info",) if purpose in of_neuron["efa"] else ()
                return {"torchrun", "neuron-ls", "nccom-test", *efa}
    return {"neuron-ls"} if image == first["image"] else set()


def test_every_strategy() -> None:
    found = 0
    written: set[str] = set()
    requests: list[tuple[Kind, dict[str, Any]]] = [(kind, each) for kind in KINDS for each in REQUESTS[kind]]
    for of, resolved, node in kinds_of_nodes():
        for kind, request in requests:
            try:
                printed = manifest(of, resolved, Request(kind=kind, group=node.name, **request))
            except WorkloadError:
                continue
            found += 1
            # Half of the manifests are the same except for names, and nothing else takes as long as writing them.
            shape = repr((printed.head, printed.parts)).replace(node.name, "NODE").replace(of.name, "CLUSTER")
            if not request and shape not in written:
                written.add(shape)
                read = list(yaml.load_all(printed.yaml, Loader=yaml.CSafeLoader))
                assert read == json.loads(json.dumps(printed.objects)), (of.name, node.name, kind)
            if kind == "smoke-test":
                image_has_the_programs_that_scripts_call(printed.objects[-1], node)
    assert found > 500


def image_has_the_programs_that_scripts_call(smoke_test: Mapping[str, Any], node: Node) -> None:
    spec = smoke_test["spec"]
    template = spec["pytorchReplicaSpecs"]["Worker"]["template"] if "pytorchReplicaSpecs" in spec else spec["template"]
    (main,) = template["spec"]["containers"]
    called = set(re.findall(r"\b(?:fi_info(?= -)|torchrun(?= /)|neuron-ls(?= --)|nccom-test(?= all))", *main["args"]))
    assert called <= _programs(main["image"]), (node.name, main["image"])
    if node.efa_count:
        assert "fi_info" in called, node.name
