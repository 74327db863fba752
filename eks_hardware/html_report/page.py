"""The page as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from eks_hardware.catalogue import Hardware
from eks_hardware.cost import Level
from eks_hardware.html_report.drawing import drawing
from eks_hardware.html_report.html import Child, Html, joined, tag
from eks_hardware.html_report.nodes import NodeSet
from eks_hardware.html_report.report import Report
from eks_hardware.html_report.shapes import HARDWARE_NAMES, Piece, badge, devices, efa_mark
from eks_hardware.html_report.tables import (
    cost_table,
    findings_lists,
    price_sources,
    quota_table,
    settings,
    usd_per_month,
)
from eks_hardware.validation.terminal import counted

WIDTHS = (342, 688, 1120)
"""Widths of the drawings in px: a phone, a tablet, a desk; ``page.css`` shows one of them."""

_CSS = Path(__file__).with_name("page.css")

# Nothing is loaded, and no script runs, whatever a strategy says:
# https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Content-Security-Policy
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def report_page(report: Report) -> str:
    """One HTML page that needs nothing else: no network, no script.

    The same report gives the same text, so that the page can be kept beside the strategy and compared.
    """
    return f"<!doctype html>\n{_document(report)}\n"


def _document(report: Report) -> Html:
    name = report.resolved.name
    return tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("title", f"{name}: EKS hardware"),
            tag("style", Html(_CSS.read_text(encoding="utf-8"))),
        ),
        "\n",
        tag("body", _header(report), tag("main", *_sections(report)), _footer(report)),
        lang="en",
    )


# -- what comes first


def _header(report: Report) -> Html:
    resolved = report.resolved
    return tag(
        "header",
        tag("p", "EKS hardware report", class_="kicker"),
        tag("h1", resolved.name),
        tag("p", resolved.description, class_="description") if resolved.description else None,
        tag("p", _summary(report), class_="summary"),
        _figures(report),
    )


def _summary(report: Report) -> str:
    resolved, cost = report.resolved, report.cost
    pools = f" and {counted(len(resolved.node_pools), 'Karpenter node pool')}" if resolved.node_pools else ""
    unknown = " Some prices are unknown and not in these sums." if cost.unknown("max") else ""
    groups = counted(len(resolved.node_groups), "node group")
    return (
        f"EKS {resolved.cluster.kubernetes_version} in {resolved.region}, "
        f"{counted(len(resolved.network.zone_ids), 'zone')}: {groups}{pools}. "
        f"It costs ${cost.usd_per_hour('desired'):,.2f} an hour as desired, and ${cost.usd_per_hour('max'):,.2f} with "
        f"every group and pool at its most.{unknown}"
    )


def _figures(report: Report) -> Html:
    pools = " and what Karpenter makes" if report.resolved.node_pools else ""
    figures = [
        ("Nodes at max", f"{report.nodes_at_max:,}", f"in node groups{pools}"),
        *_device_figures(report),
        _cost_figure(report, "As desired", "desired"),
        _cost_figure(report, "At max", "max"),
    ]
    return tag(
        "dl",
        (
            tag("div", tag("dt", label), tag("dd", value), tag("dd", words, class_="small"))
            for label, value, words in figures
        ),
        class_="figures",
    )


def _cost_figure(report: Report, label: str, level: Level) -> tuple[str, str, str]:
    words = ["a month"]
    if report.cost.unknown(level):
        words.append("known prices only")
    if level == "max" and report.budget_usd_per_month is not None:
        words.append(f"budget {usd_per_month(report.budget_usd_per_month)}")
    return label, usd_per_month(report.cost.usd_per_month(level)), ", ".join(words)


def _device_figures(report: Report) -> Iterator[tuple[str, str, str]]:
    for hardware, (groups, pools) in report.devices_at_max.items():
        if groups and pools:
            words = f"{groups:,} in groups, {pools:,} in pools"
        else:
            words = "within the limits of pools" if pools else "in node groups"
        yield f"{_plural(hardware)} at max", f"{groups + pools:,}", words


def _plural(hardware: Hardware) -> str:
    names = {Hardware.NVIDIA_GPU: "NVIDIA GPUs", Hardware.OTHER: "Other accelerators"}
    return names.get(hardware, HARDWARE_NAMES[hardware])


# -- sections


def _sections(report: Report) -> Iterator[Html]:
    yield _section("cluster", "The cluster", _drawings(report), _legend(report))
    if report.findings:
        yield _section("findings", "Findings", tag("p", _counted_findings(report)), findings_lists(report.findings))
    yield _section("cost", "Cost", *_cost(report))
    yield _section("quotas", "Service quotas", *_quotas(report))
    yield _section(
        "settings",
        "Derived settings",
        tag("p", "What network, control plane, nodes and storage are made with, and why each value is what it is."),
        *settings(report.resolved),
    )


def _counted_findings(report: Report) -> str:
    shown = Counter(each.severity.value for each in report.findings if not each.ignored)
    words = [counted(number, severity) for severity, number in sorted(shown.items())]
    if accepted := sum(1 for each in report.findings if each.ignored):
        words.append(f"{counted(accepted, 'warning')} that the strategy accepts")
    return f"{', '.join(words)}."


def _section(id_: str, title: str, *content: Child) -> Html:
    return tag("section", tag("h2", title, id=id_), *content, aria_labelledby=id_)


def _drawings(report: Report) -> Html:
    description = " ".join(_described(report))
    return tag(
        "figure",
        (drawing(report.resolved, report.nodes, width=width, description=description) for width in WIDTHS),
    )


def _described(report: Report) -> Iterator[str]:
    """The drawing in words."""
    resolved = report.resolved
    network = resolved.network
    yield f"EKS control plane with Kubernetes {resolved.cluster.kubernetes_version}."
    yield f"VPC {network.existing.vpc_id if network.existing else network.cidr} in zones {', '.join(network.zone_ids)}."
    if network.nat_zone_ids:
        yield f"NAT gateways in {', '.join(network.nat_zone_ids)}."
    for each in report.nodes:
        yield f"{_in_words(each)}."
    if services := (*network.interface_endpoints, *network.gateway_endpoints):
        yield f"VPC endpoints: {', '.join(services)}."
    storage = resolved.storage
    if storage.fsx_lustre:
        yield f"FSx for Lustre file system in {storage.fsx_lustre.zone_id}."
    if storage.efs:
        yield f"EFS file system in {', '.join(storage.efs.zone_ids)}."
    if storage.buckets:
        yield f"S3 buckets: {', '.join(each.name for each in storage.buckets)}."


def _in_words(nodes: NodeSet) -> str:
    parts = [
        f"{nodes.kind.capitalize()} {nodes.name} in {', '.join(nodes.zone_ids)}: {nodes.types}",
        f"{nodes.devices.text} a node" if nodes.devices else "no accelerator",
        f"nodes {nodes.size}",
        nodes.capacity,
        *([f"{counted(nodes.efa, 'EFA interface')} a node"] if nodes.efa else []),
        *([f"taint {', '.join(nodes.taints)}"] if nodes.taints else []),
    ]
    return "; ".join(parts)


def _legend(report: Report) -> Html:
    kinds = dict.fromkeys(each.hardware for each in report.nodes)
    entries = [(_sign(badge(kind)), HARDWARE_NAMES[kind]) for kind in kinds]
    accelerated = [each for each in report.nodes if each.devices]
    if accelerated:
        hardware = accelerated[0].hardware
        entries.append((_sign(devices(3, 3, hardware, 40)), "one square an accelerator of a node"))
        if any(each.devices and each.devices.fewest < each.devices.most for each in accelerated):
            entries.append((_sign(devices(0, 3, hardware, 40)), "only the larger of its types have these"))
    if any(each.efa for each in report.nodes):
        entries.append((_sign(efa_mark(4)), "EFA interfaces a node"))
    entries.append((_sign(_frame("group")), "managed node group"))
    if report.resolved.node_pools:
        entries.append((_sign(_frame("pool")), "Karpenter node pool"))
    return tag(
        "ul",
        (tag("li", sign, tag("span", words)) for sign, words in entries),
        class_="legend",
        aria_label="Signs of the drawing",
    )


def _frame(class_: str) -> Piece:
    return Piece(30, 18, lambda x, y: tag("rect", x=x, y=y, width=30, height=18, rx=4, class_=f"card {class_}"))


def _sign(piece: Piece) -> Html:
    width, height = round(piece.width) + 4, round(piece.height) + 4
    return tag(
        "svg",
        piece.draw(2, 2),
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        aria_hidden="true",
        class_="sign-of",
    )


def _cost(report: Report) -> Iterator[Child]:
    cost = report.cost
    yield tag(
        "p",
        "Node groups at their min, desired and max; Karpenter's pools at zero, zero and their limits. Taxes, discounts "
        "and credits aside.",
    )
    yield cost_table(cost)
    if cost.not_counted:
        yield tag("h3", "Not counted")
        yield tag("ul", (tag("li", each) for each in cost.not_counted))


def _quotas(report: Report) -> Iterator[Child]:
    raised = len(report.to_raise)
    words = f"A new account has too little of {counted(raised, 'quota')}." if raised else "A new account has enough."
    yield tag(
        "p",
        f"{words} ",
        tag("span", f"eks-hardware doctor {report.resolved.name}", class_="code"),
        " asks what yours has.",
    )
    yield quota_table(report.quotas)


def _footer(report: Report) -> Html:
    return tag(
        "footer",
        tag("h2", "Prices"),
        joined(price_sources(report.cost)),
        tag("p", f"Made by eks-hardware {report.version} from the strategy {report.resolved.name}."),
    )
