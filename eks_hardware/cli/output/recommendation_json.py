"""The recommendation as JSON, with stable keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from eks_hardware.advisor.ranking import policy
from eks_hardware.advisor.recommend import best_of_families
from eks_hardware.quotas import vcpu_need

if TYPE_CHECKING:
    from eks_hardware.advisor.measured.factors import Measured
    from eks_hardware.advisor.model import Candidate, Miss, Plan, Recommendation, Request


def content(recommendation: Recommendation, cheaper: str | None = None) -> dict[str, object]:
    """Return the whole recommendation with stable keys."""
    branch = policy.branch_for(recommendation.request)
    best = best_of_families(recommendation.candidates)
    return {
        "request": {
            "workload": recommendation.request.workload.model_dump(mode="json", exclude_unset=True),
            "model": asdict(recommendation.request.shape),
            "regions": list(recommendation.request.regions),
        },
        "policy": {
            "branch": recommendation.branch,
            "quote": recommendation.branch_quote,
            "under": branch.under,
            "document": branch.document,
            "reading": branch.reading,
            "today": branch.today and dict(branch.today),
        },
        "candidates": [
            {
                "rank": rank,
                **_candidate(each),
                "quota": _quota_content(each, recommendation.request),
                "alternatives": _alternatives(each, recommendation.candidates),
            }
            for rank, each in enumerate(best, 1)
        ],
        "rejections": [asdict(rejection) for rejection in recommendation.rejections],
        "nearest": [_miss(miss) for miss in recommendation.nearest],
        "unreasonable": recommendation.unreasonable and _plan(recommendation.unreasonable),
        "cheaper": cheaper,
        "notes": list(recommendation.notes),
        **({"measurements": _measurements(recommendation.request.measured)} if recommendation.request.measured else {}),
    }


def _measurements(measured: Measured) -> dict[str, object]:
    """Return how far the estimates are from a user's measurements; ratios are measured / estimated."""
    return {
        "file": measured.file,
        "off": [
            {"accelerator": chip, "work": work, "ratio": factor.value, "rows": factor.rows}
            for chip, work, factor in measured.off()
        ],
        "rows": [
            {
                "id": row.outcome.row["id"],
                "accelerator": row.outcome.chip,
                "work": row.work,
                "measured": row.outcome.row["figure"],
                "estimate": row.outcome.estimate,
                "unit": row.outcome.row["unit"],
                "ratio": row.ratio,
                "reason": row.outcome.reason,
            }
            for row in measured.rows
        ],
    }


def _candidate(each: Candidate) -> dict[str, object]:
    fit, chip = each.fit, each.fit.kind.accelerator
    return {
        "instance_type": fit.kind.name,
        "family": fit.kind.family,
        "accelerator": chip and chip.name,
        "nodes": each.nodes,
        "replicas": each.replicas,
        "devices": fit.devices,
        "replicas_per_node": fit.replicas_per_node,
        "region": each.region,
        "zone_ids": list(each.zone_ids),
        "purchase": each.purchase,
        "usd_per_hour": each.usd_per_hour,
        "price_as_of": each.price_as_of,
        "price_at_most": each.price_at_most,
        "tokens_per_second": each.tokens_per_second,
        "hours": each.hours,
        "usd_per_million_tokens": each.usd_per_million_tokens,
        "usd_per_run": each.usd_per_run,
        "about": each.about and asdict(each.about),
        "parallelism": fit.parallelism._asdict(),
        "memory_gib": fit.memory_gib,
        "available_gib": fit.available_gib,
        "memory": [part._asdict() for part in fit.memory],
        "score": each.score,
        "scores": dict(each.scores),
        "policy": each.policy,
        "maturity": each.maturity,
        "reasons": list(each.reasons),
        "assumptions": list(each.assumptions),
    }


def _quota_content(each: Candidate, request: Request) -> dict[str, object]:
    """Return the quota of the nodes in vCPUs; ``account`` is the user's, ``default`` that of a new account."""
    need = vcpu_need(each.fit.kind, each.nodes, each.purchase)
    return {
        "code": need.code,
        "name": need.name,
        "needed": need.needed,
        "default": need.default,
        "account": request.account_quota(need.code, each.region),
    }


def _alternatives(best: Candidate, candidates: Iterable[Candidate]) -> list[dict[str, object]]:
    """Return other sizes, regions and purchasing options of the same family."""
    return [
        {
            "instance_type": candidate.fit.kind.name,
            "nodes": candidate.nodes,
            "region": candidate.region,
            "purchase": candidate.purchase,
            "usd_per_hour": candidate.usd_per_hour,
            "score": candidate.score,
        }
        for candidate in candidates
        if candidate is not best and candidate.fit.kind.family == best.fit.kind.family
    ]


def _plan(plan: Plan) -> dict[str, object]:
    return {
        "instance_type": plan.fit.kind.name,
        "nodes": plan.nodes,
        "region": plan.region,
        "hours": plan.hours,
        "usd_per_run": plan.usd_per_run,
        "text": plan.text,
        "remedy": plan.remedy,
    }


def _miss(miss: Miss) -> dict[str, object]:
    return {
        "instance_type": miss.kind.name,
        "missing_gib": miss.missing_gib,
        "gates": [gate.code for gate in miss.gates],
        "text": miss.text,
        "remedy": miss.remedy,
    }
