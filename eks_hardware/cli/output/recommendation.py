"""The recommendation as text of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from eks_hardware import facts as data
from eks_hardware.advisor.fitting.defaults import (
    answer_tokens,
    concurrent_sequences,
    context_of,
    prompt_tokens,
    sequence_length,
)
from eks_hardware.advisor.fitting.gates import compute_format, weight_format
from eks_hardware.advisor.model import Prominent
from eks_hardware.advisor.ranking import policy
from eks_hardware.advisor.ranking.limits import span
from eks_hardware.advisor.ranking.reasons import plain, short
from eks_hardware.advisor.ranking.work import run_tokens
from eks_hardware.advisor.ranking.workload_file import DEFAULT_REGIONS
from eks_hardware.advisor.recommend import best_of_families
from eks_hardware.advisor.shapes.public import public_name
from eks_hardware.catalogue import load
from eks_hardware.cli.output import console, facts, table
from eks_hardware.cli.output.narrow import fitted, whole
from eks_hardware.cost import instance_figure
from eks_hardware.doctor.aws_cli import aws_command, wrapped
from eks_hardware.printable import counted, number, usd
from eks_hardware.quotas import vcpu_need

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from eks_hardware.advisor.measured.factors import Compared, Measured
    from eks_hardware.advisor.model import Candidate, Plan, Recommendation, Request
    from eks_hardware.cost import Purchase
    from eks_hardware.quotas import QuotaNeed

_UNBROKEN = "\u00a0"
_REASONS = 3
_SHOWN = 10
_MILLION = 1_000_000
_CHOSEN = "\u2713"
# Reasons that are grouped; `--all` and `--format json` list them for each family.
_TOGETHER = {
    "OFFERED": "OFFERED, not available in these regions",
    "WITHDRAWN": "WITHDRAWN, removed from the EC2 API",
    "HARDWARE": "HARDWARE, neither NVIDIA GPU nor Neuron",
}


def show(
    recommendation: Recommendation, *, top: int, everything: bool, pick: int = 1, cheaper: str | None = None
) -> None:
    """Print at most ``top`` families on one screen; with ``everything`` all reasons, scores, rejections and notes.

    The last line names the choice: the candidate with the number ``pick``.
    """
    out = console()
    best = best_of_families(recommendation.candidates)
    _print(out, _work(recommendation.request))
    if assumed := ", ".join(assumption.replace(" ", _UNBROKEN) for assumption in _assumed(recommendation)):
        _print(out, textwrap.fill(f"Assumed: {assumed}", out.width, break_on_hyphens=False).replace(_UNBROKEN, " "))
    if not best:
        _show_nothing(out, recommendation, everything=everything)
        return
    chosen = best[min(pick, len(best)) - 1]
    out.print()
    out.print(fitted(_table(best[:top], chosen), out))
    _print(out, *_without_price(best[:top]), *_in_fp16(best[:top], chosen, recommendation.request))
    if recommendation.request.measured:
        _print(out, "", *_off(recommendation.request.measured, best))
    if everything:
        _explain(out, recommendation, best, top)
    else:
        out.print()
        out.print(_listed(_why_in_short(chosen, recommendation)))
    _print(out, *(note for note in recommendation.notes if isinstance(note, Prominent)))
    if cheaper:
        _print(out, cheaper)
    _print(out, _dates(best[:top], more=len(best) - top, everything=everything), _choice(chosen))


def _off(measured: Measured, best: Sequence[Candidate]) -> Iterator[str]:
    """Yield how far the estimates are from the user's measurements."""
    off = [
        f"{chip} {'' if work.startswith('memory') else 'speed of '}{work} {factor.value:.2f} "
        f"({counted(factor.rows, 'row')})"
        for chip, work, factor in measured.off()
    ]
    yield f"Measured / estimated in {measured.file}: {', '.join(off) or 'no row has an estimate'}."
    wrong = [row.outcome.row["id"] for row in measured.rows if _is_wrong(row)]
    if wrong:
        yield f"The estimate of whether the model fits is wrong for {', '.join(wrong)}."
    chips = {row.outcome.chip for row in measured.rows if row.ratio}
    if not any(candidate.fit.kind.accelerator and candidate.fit.kind.accelerator.name in chips for candidate in best):
        yield "No candidate has a measured accelerator: speeds are unchanged."


def _is_wrong(each: Compared) -> bool:
    """Return whether the estimate contradicts a measurement of whether a model fits."""
    estimate, row = each.outcome.estimate, each.outcome.row
    return row["kind"] == "fits" and estimate is not None and (estimate <= 1) is not row["figure"]


def _explain(out: Console, recommendation: Recommendation, best: Sequence[Candidate], top: int) -> None:
    _section(out, "Why", _whys(best[:top], policy.policy_for(recommendation.request).name))
    _section(out, _title(best[0]), _winner(best[0], recommendation))
    if len(recommendation.request.regions) > 1:
        out.print("\n[bold]Regions[/], $/h of each family's best size")
        out.print(_regions(best[:top], recommendation, out))
    if recommendation.request.measured:
        _section(out, "Measurements", _each_measured(recommendation.request.measured))
    _section(out, "Not chosen", _rejected(recommendation))
    _section(out, "Notes", ((note, "") for note in recommendation.notes if not isinstance(note, Prominent)))
    out.print()


def _each_measured(measured: Measured) -> Iterator[tuple[str, str]]:
    for each in measured.rows:
        row, estimate = each.outcome.row, each.outcome.estimate
        if estimate is None:
            yield f"{row['id']}: not compared, {each.outcome.reason}", ""
        elif row["kind"] == "fits":
            yield f"{row['id']}: {'ran' if row['figure'] else 'out of memory'}; estimate {estimate:.0%} of memory", ""
        else:
            ratio = f"measured / estimated {each.ratio:.2f}"
            yield f"{row['id']}: {row['figure']:g} {row['unit']}, estimate {estimate:.4g}; {ratio}", ""


def show_choices(recommendation: Recommendation, *, top: int) -> None:
    """Print the workload and a table of the best candidates."""
    out = console()
    best = best_of_families(recommendation.candidates)[:top]
    _print(out, "", _work(recommendation.request))
    out.print(fitted(_table(best), out))
    _print(out, *_without_price(best))


def show_types(groups: Mapping[str, Sequence[str]], region: str) -> None:
    """Print a table of instance types, best first, with their memory and price, below the names of their groups."""
    types_table = table(("#", "Instance type", "Accelerator", "Memory GiB", "$/h"), right=("#", "Memory GiB", "$/h"))
    unknown = []
    for group, names in groups.items():
        if group:
            types_table.add_row("", group, style="bold")
        for rank, name in enumerate(names, 1):
            kind, price = load().get(name), load().price(name, region)
            chip = kind.accelerator
            devices = f"{chip.count} x {chip.name}" if chip else f"{kind.vcpus} vCPUs"
            memory = chip.memory_gib_total if chip and chip.memory_gib_total else kind.memory_gib
            types_table.add_row(str(rank), name, devices, f"{memory:.1f}", usd(price.usd_per_hour if price else None))
            unknown += [name] if price is None else []
    out = console()
    _print(out, "")
    out.print(fitted(types_table, out))
    if unknown:
        _print(out, f"Price unknown: {', '.join(unknown)}. The order does not depend on prices.")
    if len(groups) > 1:
        _print(out, "Each group uses the first type listed. To use another, change instance_types in the file.")


def _show_nothing(out: Console, recommendation: Recommendation, *, everything: bool) -> None:
    if plan := recommendation.unreasonable:
        out.print()
        _print(out, f"Nothing reasonable: {plan.text}.")
        if plan.quota:
            _print(out, "This command requests the quota:", *_increase(plan, plan.quota, out.width))
        else:
            _print(out, f"{plan.remedy} accepts this plan.")
        _print(out, *(note for note in recommendation.notes if isinstance(note, Prominent)))
        if everything:
            _section(out, "Not chosen", _rejected(recommendation))
        elif plan.quota:
            _print(out, "--explain shows the quotas of other families.")
        return
    if not recommendation.nearest:
        out.print("\n[bold]Nothing fits.[/]")
        out.print(
            _listed(
                (f"{rejection.code}: {rejection.text}", rejection.family)
                for rejection in recommendation.rejections[:_SHOWN]
            )
        )
        return
    out.print("\n[bold]Nothing fits.[/] Closest:")
    out.print(
        _listed(
            (f"{miss.text}{f'; {miss.remedy}' if miss.remedy else ''}", miss.kind.family)
            for miss in recommendation.nearest
        )
    )
    _section(out, "Notes", ((note, "") for note in recommendation.notes))
    out.print()
    _print(out, "--format json shows why each family does not fit")


def _increase(plan: Plan, quota: QuotaNeed, width: int) -> list[str]:
    """Return the command that requests the vCPUs of a plan."""
    command = aws_command(
        "service-quotas",
        "request-service-quota-increase",
        service_code=quota.service,
        quota_code=quota.code or "",
        desired_value=math.ceil(quota.needed),
        region=plan.region,
    )
    return wrapped(command, width, "  ")


def _print(out: Console, *lines: str, style: str | None = None) -> None:
    for line in lines:
        out.print(line, style=style, markup=False)


def _section(out: Console, title: str, rows: Iterable[tuple[str, str]]) -> None:
    from rich.markup import escape

    if listed := list(rows):
        out.print(f"\n[bold]{escape(title)}[/]")
        out.print(_listed(listed))


def _listed(rows: Iterable[tuple[str, str]]) -> Table:
    """Return sentences with their labels."""
    from rich.text import Text

    return facts((Text(f"  {label}" if label else " "), Text(text)) for text, label in rows)


def _model(request: Request) -> str:
    size = f"{short(request.shape.parameters)} {request.shape.architecture or 'parameters'}"
    name = public_name(request.workload.model)
    return f"{name} ({size})" if name else size


def _work(request: Request) -> str:
    workload = request.workload
    parts = [_model(request)]
    if workload.method:
        parts.append(workload.method)
    if workload.serving or workload.task == "inference":
        parts.append(workload.serving or "real-time")
    for value in (workload.precision, workload.framework, workload.attention):
        if value:
            parts.append(value)
    if workload.kv_cache_precision:
        parts.append(f"KV cache {workload.kv_cache_precision}")
    if tokens := workload.context_length or workload.sequence_length:
        parts.append(f"context {tokens}")
    if workload.concurrent_sequences:
        parts.append(f"{workload.concurrent_sequences} concurrent")
    if workload.users:
        parts.append(counted(workload.users, "user"))
    if workload.training_tokens:
        parts.append(f"{workload.training_tokens} tokens")
    if workload.within:
        parts.append(f"within {workload.within}")
    regions = request.regions[0] if len(request.regions) == 1 else f"{len(request.regions)} regions"
    return f"{workload.task.capitalize()}: {', '.join(parts)}; priority {workload.budget}; {regions}"


def _assumed(recommendation: Recommendation) -> Iterator[str]:
    """Yield the options that were not given, each with its default."""
    workload, said = recommendation.request.workload, recommendation.request.workload.model_fields_set
    if not workload.learns:
        if "concurrent_sequences" not in said and not workload.users:
            yield f"--concurrency {concurrent_sequences(workload)}"
        if "context_length" not in said:
            yield f"--context {context_of(recommendation.request)}"
    elif workload.trains and "sequence_length" not in said:
        yield f"--context {sequence_length(recommendation.request)}"
    tokens = run_tokens(recommendation.request)
    if tokens and not workload.training_tokens:
        yield f"--tokens {short(tokens)}" if workload.trains else f"{short(tokens)} tokens in all"
    if workload.users and workload.think_seconds is None:
        yield f"{data.ranking()['users']['think_seconds']['value']} s between requests"
    if workload.users and (tokens := answer_tokens(recommendation.request)):
        if workload.prompt_tokens is None:
            yield f"prompts of {prompt_tokens(recommendation.request):,} tokens"
        if workload.answer_tokens is None:
            yield f"answers of {tokens:,} tokens"
    if "precision" not in said and recommendation.candidates:
        yield f"--precision {weight_format(recommendation.request, recommendation.candidates[0].fit.kind)}"
    if "purchase" not in said:
        yield f"--capacity {workload.purchase[0]}"
    if "budget" not in said:
        yield f"--priority {workload.budget}"
    if recommendation.request.regions == DEFAULT_REGIONS:
        yield f"--region {DEFAULT_REGIONS[0]} and {len(DEFAULT_REGIONS) - 1} more"


def _without_price(best: Sequence[Candidate]) -> Iterator[str]:
    """Yield sentences about candidates with an unknown price, if there are any."""
    unknown = [each for each in best if each.usd_per_hour is None]
    if names := [f"{each.fit.kind.name} in {each.region}" for each in unknown if each.about]:
        yield f"Price unknown: {', '.join(names)}. ~ is an estimate from the prices of other regions."
    if names := [each.fit.kind.name for each in unknown if not each.about]:
        yield f"Price unknown: {', '.join(names)}. Ranked at the usual price for the same memory."


def _in_fp16(best: Sequence[Candidate], chosen: Candidate, request: Request) -> Iterator[str]:
    """Yield a sentence about candidates that train in fp16, not bf16. The chosen candidate has its own caution."""
    if request.workload.precision or not request.workload.learns:
        return
    others = [each.fit.kind for each in best if each is not chosen]
    if names := [kind.name for kind in others if compute_format(request, kind) == "fp16"]:
        yield f"No bf16: {', '.join(names)}. Training there needs fp16 with loss scaling."


def _dates(best: Sequence[Candidate], *, more: int, everything: bool) -> str:
    """Return the dates of the prices, and the options that show more."""
    dates = sorted({candidate.price_as_of for candidate in best if candidate.price_as_of})
    sentence = f"Prices: {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, no tax" if dates else "No prices"
    at_most = " (<=: On-Demand)" if any(candidate.price_at_most for candidate in best) else ""
    rest = [*(() if everything else ("--explain",)), *((f"--top {len(best) + more}",) if more > 0 else ())]
    return f"{sentence}{at_most}. More: {', '.join((*rest, '-o FILE'))}."


def _choice(best: Candidate) -> str:
    """Return the choice and its price."""
    price, about = "price unknown", best.about
    if best.usd_per_hour is not None:
        price = f"{'at most ' if best.price_at_most else ''}${usd(best.usd_per_hour)}/h"
    elif about:
        price = f"price unknown, about ${usd(about.usd_per_hour)}/h"
    run = about.usd_per_run if about else best.usd_per_run
    if run is not None and best.hours is not None:
        short_run = f"{run / _MILLION:.1f}M" if run >= _MILLION else usd(run)
        took = span(best.hours)
        duration = f"({took}, counted as 1 hour)" if best.hours < 1 and took != span(1.0) else f"in {took}"
        price += f", {'about ' if about else ''}${short_run} {duration}"
    bought = "" if best.purchase == "on-demand" else f", {best.purchase}"
    return f"{_CHOSEN} {best.hardware}{bought} in {best.region}: {price}"


def _table(best: Sequence[Candidate], chosen: Candidate | None = None) -> Table:
    run = any((each.about or each).usd_per_run is not None for each in best)
    names = ("#", "Instance type", "Accelerator", "Memory GiB", "$/h", "$/run" if run else "$/M tok", "Score")
    rows = [
        (
            f"{_CHOSEN} {rank}" if each is chosen else str(rank),
            each.hardware,
            _devices(each),
            f"{each.fit.memory_gib:.1f}/{each.fit.available_gib:.1f}",
            _hourly(each),
            _of_work(each, of_run=run),
            f"{each.score:.0f}",
        )
        for rank, each in enumerate(best, 1)
    ]
    candidates_table = table(names, right=("#", *names[3:]), fold=("Accelerator",))
    candidates_table.columns[2].max_width = 15
    for row in rows:
        candidates_table.add_row(*row)
    return candidates_table


def _hourly(each: Candidate) -> str:
    return (
        f"~{usd(each.about.usd_per_hour)}"
        if each.about
        else f"{'<=' if each.price_at_most else ''}{usd(each.usd_per_hour)}"
    )


def _of_work(each: Candidate, *, of_run: bool) -> str:
    cost = each.about or each
    value = cost.usd_per_run if of_run else cost.usd_per_million_tokens
    return f"{'~' if each.about and value is not None else ''}{usd(value)}"


def _devices(each: Candidate) -> str:
    chip = each.fit.kind.accelerator
    if chip is None:
        return f"{each.fit.kind.vcpus} vCPUs"
    if chip.fraction is not None:
        return f"{chip.fraction:g} x {chip.name}"
    held = chip.count * each.nodes
    used = each.fit.devices * (each.replicas or (each.fit.replicas_per_node if each.hours is not None else 1))
    return f"{used} of {held} {chip.name}" if used < held else f"{held} x {chip.name}"


def _whys(best: Sequence[Candidate], policy_name: str) -> Iterator[tuple[str, str]]:
    for rank, each in enumerate(best, 1):
        bought = "" if each.purchase == "on-demand" else f"{each.purchase}; "
        yield bought + "; ".join(each.reasons), str(rank)
        names = {"policy": policy_name}
        yield ", ".join(f"{names.get(name, name)} {value:.2f}" for name, value in each.scores.items()), ""


def _title(best: Candidate) -> str:
    where = f"{best.region} ({', '.join(zone.rpartition('-')[2] for zone in best.zone_ids)})"
    return f"{best.hardware}, {best.purchase} in {where}"


def _winner(best: Candidate, recommendation: Recommendation) -> Iterator[tuple[str, str]]:
    for part in best.fit.memory:
        yield f"{part.gib:7.2f} GiB  {part.how}", part.name
    yield f"{best.fit.memory_gib:7.2f} {_of_available(best)}", "total"
    yield from _layout(best)
    yield from _speed_and_commitment(best)
    if quota := _quota(best, recommendation.request):
        yield quota, "quota"
    for index, each in enumerate(best.assumptions):
        yield each, "" if index else "assumed"
    for index, each in enumerate(best.reasons[_REASONS:]):
        yield each, "" if index else "notes"
    yield _guide(recommendation), "policy" if recommendation.request.policy else "guide"


def _why_in_short(best: Candidate, recommendation: Recommendation) -> Iterator[tuple[str, str]]:
    """Yield up to three lines: cost and speed; memory and layout; the cautions, the user's policy or the quota."""
    yield "; ".join(best.reasons[:2]), "why"
    layout = ", ".join(text for text, _ in _layout(best))
    speed = "" if best.tokens_per_second is None else f"; {best.tokens_per_second:,.0f} tokens/s (estimate)"
    yield f"{best.fit.memory_gib:.1f} of {best.fit.available_gib:.1f} GiB, {layout}{speed}", "fit"
    caution = "; ".join(reason for reason in best.reasons[2:] if isinstance(reason, Prominent))
    branch = policy.branch_for(recommendation.request)
    if caution:
        yield caution, "caution"
    elif recommendation.request.policy and branch.applies:
        yield f'"{plain(branch.quote)}"', "policy"
    elif quota := _quota(best, recommendation.request):
        yield quota, "quota"


def _quota(best: Candidate, request: Request) -> str | None:
    """Return the quota that the nodes need; None if a new account has enough, or AWS documents none."""
    need = vcpu_need(best.fit.kind, best.nodes, best.purchase)
    value = request.account_quota(need.code, best.region)
    if value is not None:
        return f"{need.code} ({need.name}): needs {need.needed:,.0f} of {number(value)} {need.unit} in {best.region}"
    if need.code is None or not (need.above_default or need.default is None):
        return None
    has = "" if need.default is None else f"; a new account has {need.default:g}"
    return f"{need.code} ({need.name}): needs {need.needed:,.0f} {need.unit}{has}"


def _guide(recommendation: Recommendation) -> str:
    """Return what the policy says about such workloads."""
    branch = policy.branch_for(recommendation.request)
    if not branch.applies:
        return branch.reading
    where = ", ".join(part for part in (branch.under.strip("*#: "), branch.document) if part)
    return f'"{plain(branch.quote)}" ({where})'


def _of_available(best: Candidate) -> str:
    whole = "a node" if best.fit.kind.accelerator is None else "a device"
    return f"GiB of {best.fit.available_gib:.2f} GiB available on {whole}"


def _layout(best: Candidate) -> Iterator[tuple[str, str]]:
    fit, layout = best.fit, best.fit.parallelism
    words = [*layout.ways]
    if layout.sharding != "none":
        words.append(layout.sharding)
    yield ", ".join(words) or "one device", "layout"
    if best.replicas:
        yield counted(best.replicas, "replica"), ""
    elif fit.replicas_per_node > 1:
        yield f"{fit.replicas_per_node} replicas per node", ""


def _speed_and_commitment(best: Candidate) -> Iterator[tuple[str, str]]:
    if best.tokens_per_second is not None:
        hours = f", {_hours(best.hours)} for the run" if best.hours is not None else ""
        yield f"{best.tokens_per_second:,.0f} tokens/s{hours} (estimate)", "speed"
    if best.usd_per_hour is not None and best.purchase in ("on-demand", "reserved"):
        yield _for_longer(best), "commitment"


def _for_longer(best: Candidate) -> str:
    """Return the price of the nodes per hour with a commitment."""

    def offer(*terms: Purchase) -> str:
        figures = [instance_figure(load(), best.fit.kind.name, best.region, term) for term in terms]
        year, three = (usd(figure.usd_per_hour * best.nodes if figure else None) for figure in figures)
        return f"{year} (1 year), {three} (3 years)" if any(figures) else "unknown"

    reserved, plans = offer("reserved-1y", "reserved-3y"), offer("savings-plan-1y", "savings-plan-3y")
    return f"$/h: Reserved Instances {reserved}; Savings Plans {plans}"


def _hours(hours: float) -> str:
    return f"{hours:,.0f} hours" if hours >= 10 else f"{hours:.1f} hours" if hours >= 0.1 else "minutes"


def _regions(best: Sequence[Candidate], recommendation: Recommendation, out: Console) -> RenderableType:
    """Return the prices of the shown candidates in every requested region."""
    regions = recommendation.request.regions
    rows = []
    for candidate in best:
        alike = [
            one
            for one in recommendation.candidates
            if one.purchase == candidate.purchase and one.fit.kind is candidate.fit.kind
        ]
        there = [next((one for one in alike if one.region == region), None) for region in regions]
        rows.append((candidate.hardware, [_hourly(one) if one else "-" for one in there]))
    prices = table(("", *regions), right=regions, fold=regions, heading="dim")
    for name, figures in rows:
        prices.add_row(f"  {name}", *figures)
    listed = ((", ".join(map(" ".join, zip(regions, figures, strict=True))), name) for name, figures in rows)
    return whole(prices, out) or _listed(listed)


def _rejected(recommendation: Recommendation) -> Iterator[tuple[str, str]]:
    """Yield rejected families: those with accelerators one by one if the reason matters, the others grouped."""
    together: dict[str, list[str]] = {}
    for rejection in recommendation.rejections:
        if rejection.code in _TOGETHER:
            together.setdefault(_TOGETHER[rejection.code], []).append(rejection.family)
        else:
            yield f"{rejection.code}: {rejection.text}", rejection.family
    for why, names in together.items():
        yield f"{why}: {', '.join(names)}", ""
