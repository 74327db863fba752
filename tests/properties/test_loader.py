"""Any text results in a document or findings, never another exception."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eks_hardware.findings import StrategyError
from eks_hardware.loader import LoadedStrategy, parse_strategy
from eks_hardware.loader import yaml_nodes as yn
from eks_hardware.loader.yaml_document import parse

STRATEGY = """\
version: 1
name: mixed
region: us-west-2
cluster: &c {kubernetes_version: "1.35"}
network: {cidr: 10.0.0.0/16, nat_gateways: single, zones: [usw2-az1, usw2-az2]}
backend: {type: s3, bucket: my-bucket}
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
  - name: gpu   # a comment
    workload: training
    instance_types: [p4d.24xlarge]
    scaling:
      max: 4
    tags:
      'a': "b"
"""

# Text with a meaning in YAML or in the model, so that mutations get past the scanner.
PIECES = st.sampled_from(
    ["- ", ": ", "\n", "\n  ", "{", "}", "[", "]", ", ", "&c ", "*c", "<<: *c", "!x ", "|", ">", "? ", "'",
     '"', "#", "---\n", "...", "%", "\n- name: x\n- y", "\t", "\r\n", "1", "1.30", "yes", "~", "null", "name",
     "@", "type: ", "\\", "\u0000", "\ufeff", "é", "s3", "local", "[key]", "0x", ".inf", "-",
     "version: 1\n"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map("".join))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = STRATEGY
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.one_of(PIECES, st.text(max_size=3))) + text[end:]
    return text


def loaded_or_refused(text: str) -> LoadedStrategy | StrategyError:
    try:
        return parse_strategy(text)
    except StrategyError as error:
        return error


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(mutated(), TEXTS))
def test_a_strategy_or_findings(text: str) -> None:
    result = loaded_or_refused(text)
    if isinstance(result, StrategyError):
        assert result.findings
        for finding in result.findings:
            assert finding.code
            assert str(finding).isprintable()
            assert finding.position is not None
            assert finding.position.line <= text.count("\n") + text.count("\r") + 2
    else:
        assert result.source.locate("node_groups") is not None


def _scalar(here: tuple[int, int], text: str) -> Any:
    # The position of an empty value is a matter of taste: after the colon, or before the next token.
    return here if text else None, text


def _shape_of_pyyaml(node: Any) -> Any:
    if node is None:
        return None
    here = (node.start_mark.line + 1, node.start_mark.column + 1)
    if node.id == "scalar":
        return _scalar(here, node.value)
    if node.id == "sequence":
        return here, [_shape_of_pyyaml(item) for item in node.value]
    return here, {key.value: _shape_of_pyyaml(value) for key, value in node.value}


def _shape_of_ours(node: yn.Node) -> Any:
    here = (node.position.line, node.position.column)
    if isinstance(node, yn.Scalar):
        return _scalar(here, node.raw)
    if isinstance(node, yn.Sequence):
        return here, [_shape_of_ours(item) for item in node.items]
    assert isinstance(node, yn.Mapping)
    return here, {key: _shape_of_ours(entry.node) for key, entry in node.entries.items()}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(mutated(), TEXTS))
def test_reads_as_the_parser_in_python_does(text: str) -> None:
    parsed = parse(text, "f")
    syntax = [finding for finding in parsed.findings if finding.code == "YAML_SYNTAX"]
    if any(each in text for each in ("<<", "%", "\ufeff", "\\", "\t")) or (parsed.findings and not syntax):
        return  # intentionally refused, or read differently
    try:
        expected = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        # YAML allows redefining an anchor; PyYAML's composer does not.
        again = "found duplicate anchor" in str(error)
        assert syntax or again
    else:
        assert not syntax
        assert parsed.root is not None
        assert _shape_of_ours(parsed.root) == _shape_of_pyyaml(expected)
