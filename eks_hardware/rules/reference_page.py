"""The documentation page of all codes, written from the same data as ``eks-hardware rules``."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.findings import Severity
from eks_hardware.rules import examples
from eks_hardware.rules.explanations import BASE, Explanation, explanations

_HEAD = """\
# What strategies are checked for

{total} codes: {errors} errors, which stop everything, and {warnings} warnings. `eks-hardware validate` reports them
with file, line and column, `cdktf synth` stops at the errors, and `eks-hardware rules CODE` prints what stands here.

Examples are parts of a strategy; laid over this one, in which nothing is found:

```yaml
{base}```

This page is written by `pytest tests/docs/test_rules_page.py --update-golden`.
"""

TITLES = {
    "access": "Access and ARNs",
    "addons": "EKS add-ons",
    "budget": "Budget",
    "capacity": "Capacity and updates",
    "charts": "Charts",
    "cluster": "Cluster",
    "delivery": "Delivery of charts",
    "doctor": "Account (`eks-hardware doctor`)",
    "fields": "Fields of the file",
    "file": "The file itself",
    "gpu": "GPU sharing and monitoring",
    "hardware": "Hardware, EFA, capacity, zones",
    "ignore": "Ignored warnings",
    "images": "Machine images",
    "karpenter": "Karpenter",
    "lock": "Lock files",
    "needs": "What the software needs",
    "network": "Network",
    "node_pools": "Node pools",
    "node_settings": "Settings of nodes",
    "overlap": "Pools beside each other",
    "platform": "Platform services",
    "storage": "Storage",
    "user_data": "User data",
    "workloads": "Workloads and models",
}
"""Titles of the areas, in the order of the page."""


def rules_page() -> str:
    """The page as Markdown: a table of all codes by area, then each with its example and fix."""
    known = sorted(explanations().values(), key=lambda each: (TITLES[each.area], each.code))
    warnings = sum(each.severity is Severity.WARNING for each in known)
    head = _HEAD.format(total=len(known), errors=len(known) - warnings, warnings=warnings, base=BASE)
    sections = (line for each in known for line in _section(each))
    return "\n".join([head, *_contents(known), "## Each code, with an example and its fix\n", *sections])


def _contents(known: list[Explanation]) -> Iterator[str]:
    for area in dict.fromkeys(each.area for each in known):
        yield f"## {TITLES[area]}\n"
        yield "| code | | what is wrong |\n|---|---|---|"
        for each in known:
            if each.area == area:
                yield f"| [{each.code}](#{each.code.lower()}) | {each.severity.value} | {_cell(each.summary)} |"
        yield ""


def _section(each: Explanation) -> Iterator[str]:
    yield f"### {each.code}\n"
    yield f"{each.severity.value.capitalize()}: {each.summary}.\n"
    yield f"{each.why}\n"
    if each.breaks:
        yield f"```yaml\n{each.breaks.rstrip()}\n```\n"
    says = [f"{found.path}: {found.message}" if found.path else found.message for found in examples.found(each)]
    for said in [each.example] if each.example else says:
        yield "> " + said.replace("<", "&lt;") + "\n"
    if each.fixed:
        yield f"Better:\n\n```yaml\n{each.fixed.rstrip()}\n```\n"
    yield f"Source: {f'<{each.address}>' if each.address else each.source}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
