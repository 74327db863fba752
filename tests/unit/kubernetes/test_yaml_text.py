"""YAML for people, Helm and kubectl; tests/kubernetes/test_local_chart.py reads it with Helm."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import yaml

from eks_hardware.kubernetes import Reference
from eks_hardware.kubernetes.yaml_text import yaml_text
from helpers.cases import in_one_test


def test_it_is_easy_to_read() -> None:
    script = "#!/bin/bash\nset -e\n"
    value = {
        "apiVersion": "karpenter.sh/v1",
        "spec": {"weight": 10, "labels": {"nvidia.com/gpu": "true"}, "values": ["g5.xlarge", "10%"], "none": {}},
        "userData": script,
    }
    assert yaml_text(value) == (
        "apiVersion: karpenter.sh/v1\n"
        "spec:\n"
        "  weight: 10\n"
        "  labels:\n"
        '    nvidia.com/gpu: "true"\n'
        "  values:\n"
        "  - g5.xlarge\n"
        '  - "10%"\n'
        "  none: {}\n"
        "userData: |\n"
        "  #!/bin/bash\n"
        "  set -e\n"
    )


@in_one_test("text", ["on", "No", "y", "null", "NaN", "1", "1e3", "0o7", "1:30", "2026-11-20", "", "a: b"])
def test_what_could_be_something_else_is_quoted(text: str) -> None:
    assert yaml_text({"key": text}) == f'key: "{text}"\n'
    assert yaml_text({text: 1}) == f'"{text}": 1\n'


@in_one_test(
    "value",
    [
        MappingProxyType({"a": (1, MappingProxyType({"b": True}))}),
        {"twice": [same := {"a": 1}, same]},
        {"long": "word " * 400},
        {"reference": Reference.VPC_ID},
    ],
)
def test_frozen_and_repeated_values_are_plain(value: Any) -> None:
    text = yaml_text(value)
    assert "&" not in text
    assert "!!" not in text
    assert len(text.splitlines()) <= 5
    assert yaml.safe_load(text)
