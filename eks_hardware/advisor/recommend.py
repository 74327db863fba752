"""The recommender: gates, fit, price, speed and score for every instance type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import batch_size
from eks_hardware.advisor.fitting.fit import Fitter, fit
from eks_hardware.advisor.fitting.formats import narrower
from eks_hardware.advisor.fitting.gates import maturity, sold_as, type_gates
from eks_hardware.advisor.model import Candidate, Fit, Gate, Maturity, Miss, Plan, Recommendation, Rejection, Request
from eks_hardware.advisor.ranking import policy
from eks_hardware.advisor.ranking.draft import Draft
from eks_hardware.advisor.ranking.limits import closest_plan, plan_above
from eks_hardware.advisor.ranking.quotas import Shortage, closest_misses, plan_of, quota_notes, shortage_of
from eks_hardware.advisor.ranking.reasons import notes_of, reasons_of, short
from eks_hardware.advisor.ranking.rejected import nearest_of, rejections_by_family, rejections_of
from eks_hardware.advisor.ranking.score import Scored, Weighed, basis_of, order, score
from eks_hardware.advisor.ranking.work import at_pace, compared_per, in_flight, is_planned, longest_hours, run_tokens
from eks_hardware.advisor.speed.cheapest import cheapest
from eks_hardware.advisor.speed.deadline import in_time, takes_longer
from eks_hardware.advisor.speed.estimate import Speed, speed
from eks_hardware.advisor.speed.latency import fastest, quick_enough
from eks_hardware.advisor.speed.replicas import replicas
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType, load
from eks_hardware.catalogue.store import label_name
from eks_hardware.cost import Figure, Purchase, instance_figure
from eks_hardware.cost.price_estimate import PriceEstimates
from eks_hardware.models import WorkloadSpec
from eks_hardware.printable import usd
from eks_hardware.software import chip_of
from eks_hardware.suggestions import close

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis

# The price of each purchasing option. A capacity reservation is billed at the On-Demand rate, used or not
# (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html).
_PRICED_AS: Mapping[str, Purchase] = {
    "on-demand": "on-demand",
    "spot": "spot",
    "reserved": "on-demand",
    "capacity-block": "capacity-block",
}
_BELOW_ON_DEMAND = ("spot", "capacity-block")
"""Purchasing options that cost at most the On-Demand price."""
_CPU_SIZES = 2
_NEURON = "neuron"  # Trainium and Inferentia
_REGIONS = 3


def recommend(request: Request, *, catalogue: Catalogue | None = None, only: Sequence[str] = ()) -> Recommendation:
    """Return the hardware that suits a workload, best first, and why other hardware does not.

    ``only`` lists families, accelerators, kinds of hardware or instance types (or patterns of them) to choose from.
    """
    catalogue = catalogue or load()
    branch = policy.branch_for(request)
    search, basis, candidates = _searched(request, branch, catalogue, only)
    placed = {candidate.fit.kind.family for candidate in candidates}
    rejections = rejections_of(search.misses, placed, search.screened.rejections)
    first, better = next(iter(candidates), None), _above_quota(search, request, branch, catalogue)
    notes = [
        *notes_of(request, branch, best_of_families(candidates), rejections, basis),
        *quota_notes(request, first, better),
    ]
    return Recommendation(
        request=request,
        branch=branch.id,
        branch_quote=branch.quote,
        candidates=candidates,
        rejections=rejections,
        nearest=() if candidates else tuple(_remedied(nearest_of(search.misses), request, catalogue)),
        notes=tuple(dict.fromkeys(notes)),
        unreasonable=None
        if candidates
        else plan_of(better)
        if better
        else closest_plan(search.plans, request.workload),
    )


def _above_quota(search: _Search, request: Request, branch: policy.Branch, catalogue: Catalogue) -> Shortage | None:
    """Return the plan that would be first without the account's quotas; None if the first one is within them."""
    if not search.shortages:
        return None
    above = {(each.draft.fit.kind, each.draft.region, each.draft.purchase): each for each in search.shortages}
    drafts = [*search.drafts, *(each.draft for each in above.values())]
    _, (first,) = _ranked(drafts, request, branch, catalogue, most=1)
    return above.get((first.fit.kind, first.region, first.purchase))


def _searched(
    request: Request, branch: policy.Branch, catalogue: Catalogue, only: Sequence[str], *, most: int | None = None
) -> tuple[_Search, Basis, tuple[Candidate, ...]]:
    """Return the search, the measure of cost, and the candidates, best first; with ``most``, at most that many."""
    search = _Search(request, catalogue, only)
    search.take_all()
    search.drop_by_software()
    search.drop_above_quotas()
    search.drop_joined_nodes()
    return search, *_ranked(search.drafts, request, branch, catalogue, most=most)


def cheaper_way(
    recommendation: Recommendation, *, catalogue: Catalogue | None = None, only: Sequence[str] = ()
) -> str | None:
    """Return a sentence about a number format or method that at least halves the cost of the best candidate."""
    if not recommendation.candidates:
        return None
    catalogue, best = catalogue or load(), recommendation.candidates[0]
    basis: Basis = "usd_per_run" if best.usd_per_run is not None else "usd_per_hour"
    now = getattr(best, basis)
    for changed, option, caveat in narrower(recommendation.request, best.fit.kind):
        if now and basis == "usd_per_hour" and not _may_cost(now / 2, changed, catalogue, only):
            continue
        branch = policy.branch_for(changed)
        _, _, candidates = _searched(changed, branch, catalogue, only, most=1)
        cost = getattr(candidates[0], basis) if candidates else None
        if now and cost and cost <= now / 2 and not _does_less(candidates[0], best, changed.workload):
            per, on = "run" if basis == "usd_per_run" else "hour", candidates[0].hardware
            return f"{option} costs {usd(cost)} USD per {per} instead of {usd(now)}, on {on}; {caveat}"
    return None


def _does_less(each: Candidate, than: Candidate, workload: WorkloadSpec) -> bool:
    """Return whether training on hardware that is cheaper per hour costs more in total, because it takes longer."""
    cost, other = each.usd_per_million_tokens, than.usd_per_million_tokens
    return workload.learns and cost is not None and other is not None and cost > other


def _may_cost(usd_per_hour: float, request: Request, catalogue: Catalogue, only: Sequence[str]) -> bool:
    """Return whether the work fits on any type for at most some US dollars per hour: faster than ranking all types."""
    search = _Search(request, catalogue, only)
    for kind in search.screened.tried:
        if search.least_price(kind) <= usd_per_hour:
            search.take(kind)
    return any(draft.usd_per_hour is not None and draft.usd_per_hour <= usd_per_hour for draft in search.drafts)


def unknown_of(catalogue: Catalogue, only: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield words of ``only`` that match nothing in a catalogue, each with suggestions."""
    kinds = (_NEURON, *(hardware.value for hardware in Hardware))
    known = {*catalogue.families, *catalogue.accelerators, *kinds, *catalogue.names}
    for word in only:
        if word not in catalogue and not any(_is_meant(kind, [word.lower()]) for kind in _considered(catalogue, ())):
            parts = tuple(each.value for each in Hardware if word.lower() in each.value.split("-"))
            yield word, parts or close(word, known)


def best_of_families(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the best candidate of each family, in their order: one size, region and purchasing option each."""
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.fit.kind.family, candidate)
    return tuple(best.values())


# --- types to try


def _considered(catalogue: Catalogue, only: Sequence[str]) -> Iterator[InstanceType]:
    """Yield the requested types."""
    exact = set(only)
    patterns = [each.lower() for each in only if each not in catalogue]
    for name in catalogue.names:
        if not only or name in exact or (patterns and _is_meant(catalogue.get(name), patterns)):
            yield catalogue.get(name)


def _is_meant(kind: InstanceType, patterns: Sequence[str]) -> bool:
    labels = [kind.name, kind.family, kind.hardware.value, *([_NEURON] if kind.hardware.is_neuron else [])]
    if kind.accelerator:
        labels.append(kind.accelerator.label_name)
    return any(fnmatchcase(label, pattern) or label == label_name(pattern) for label in labels for pattern in patterns)


# --- one type at a time


@dataclass(frozen=True, kw_only=True)
class _Sized:
    """A fit with the number of nodes or replicas for the work."""

    fit: Fit
    speed: Speed
    replicas: int | None = None
    sequences: int = 1  # of one of these replicas


@dataclass(frozen=True, kw_only=True)
class _Screened:
    """The types to choose from, before a search: those to try, and misses of types that no request like this tries."""

    types: tuple[InstanceType | Miss, ...]
    rejections: Mapping[str, Rejection]  # by family, of those without a type to try

    @property
    def tried(self) -> Iterator[InstanceType]:
        """The types to try."""
        return (each for each in self.types if not isinstance(each, Miss))


class _Search:
    """Tries instance types, and collects candidates and misses in the order of the trials.

    If a request allows only CPU types, they are tried for models of any size. If it allows only accelerators that are
    sold for inference, they are tried for training.
    """

    def __init__(self, request: Request, catalogue: Catalogue, only: Sequence[str]) -> None:
        self.drafts: list[Draft] = []
        self.misses: list[Miss] = []
        self.plans: list[Plan] = []
        self.shortages: list[Shortage] = []
        self._request = request
        self._catalogue = catalogue
        workload = request.workload
        self.screened = _screened(catalogue, tuple(only), workload.purchase, workload.learns, _too_large(request))
        self._fitter = Fitter(request, catalogue, choose=cheapest)
        self._of_replicas: dict[int, Fitter] = {}
        self._in_flight = in_flight(request) if request.workload.users else 0
        self._tokens = run_tokens(request)
        self._estimates = PriceEstimates(catalogue)
        self._cpu_sizes: Counter[str] = Counter()

    def take_all(self) -> None:
        """Try all types."""
        for each in self.screened.types:
            if isinstance(each, Miss):
                self.misses.append(each)
            else:
                self.take(each)

    def take(self, kind: InstanceType) -> None:
        """Try a type in every region that offers it."""
        if self._cpu_sizes[kind.family] >= _CPU_SIZES:
            self.misses.append(_miss(kind, "CPU", "a smaller size of the family is enough"))
            return
        offering = [region for region in self._request.regions if self._catalogue.offered(kind.name, region)]
        sized = self._sized(kind)
        if isinstance(sized, Miss):
            self.misses.append(sized)
            return
        if not offering:
            self.misses.append(self._not_offered(kind))
            return
        state = maturity(self._request, kind)
        results = [self._in_region(sized, region, state) for region in offering]
        drafts = [draft for result in results if not isinstance(result, Miss) for draft in result]
        self.drafts += drafts
        self.misses += [result for result in results if isinstance(result, Miss)]
        if drafts and kind.hardware is Hardware.CPU:
            self._cpu_sizes[kind.family] += 1

    def least_price(self, kind: InstanceType) -> float:
        """Return the lowest price of a node per hour in US dollars; infinite if none is known."""
        options = sold_as(self._request.workload.purchase, kind)
        figures = (self._price(kind, region, option)[0] for region in self._request.regions for option in options)
        return min((figure.usd_per_hour for figure in figures if figure), default=math.inf)

    def drop_by_software(self) -> None:
        """Drop candidates with less mature software than requested; keep discontinued software if nothing else fits."""
        wanted = self._request.workload.software or "supported"
        if wanted == "any":
            return
        kept = [draft for draft in self.drafts if draft.maturity == "mature" or wanted != "mature"]
        if wanted == "supported":
            kept = [draft for draft in kept if draft.maturity != "archived"] or kept
        self._keep(kept, "SOFTWARE", lambda draft: f"{draft.maturity}: {draft.maturity_why}")

    def drop_above_quotas(self) -> None:
        """Drop candidates with more vCPUs than the quota of their region and purchasing option."""
        quotas = self._request.quotas
        if quotas is None:
            return
        self.shortages = [found for draft in self.drafts if (found := shortage_of(draft, quotas))]
        above = {id(shortage.draft) for shortage in self.shortages}
        self.drafts = [draft for draft in self.drafts if id(draft) not in above]
        self.misses += closest_misses(self.shortages, self._request)

    def drop_joined_nodes(self) -> None:
        """Drop replicas over several nodes if a replica fits a node of another type."""
        kept = [draft for draft in self.drafts if draft.fit.nodes == 1]
        if kept and not self._request.workload.learns:
            self._keep(kept, "NODES", lambda draft: f"a replica needs {draft.fit.nodes} nodes of {draft.fit.kind.name}")

    def _keep(self, kept: list[Draft], code: str, why: Callable[[Draft], str]) -> None:
        ids = {id(draft) for draft in kept}
        dropped = {draft.fit.kind: draft for draft in self.drafts if id(draft) not in ids}
        self.drafts = kept
        self.misses += [_miss(kind, code, why(each)) for kind, each in dropped.items()]

    def _not_offered(self, kind: InstanceType) -> Miss:
        """Return a miss: no requested region offers the type; its text names regions that do."""
        asked = self._request.regions
        # Regions on the same continent first.
        elsewhere = sorted(
            self._catalogue.offered_regions(kind.name), key=lambda region: (region[:2] != asked[0][:2], region)
        )
        more = f" and {len(elsewhere) - _REGIONS} more" if len(elsewhere) > _REGIONS else ""
        where = f"only in {', '.join(elsewhere[:_REGIONS])}{more}" if elsewhere else "nor in any known region"
        here = asked[0] if len(asked) == 1 else f"any of the {len(asked)} regions"
        text = f"{kind.name} is not offered in {here}, {where}"
        gate = Gate("OFFERED", False, text, "config/catalogue/offerings.json")
        return Miss(kind=kind, gates=(gate,), text=text, remedy=f"choose {elsewhere[0]}" if elsewhere else None)

    def _sized(self, kind: InstanceType) -> _Sized | Miss:
        """Return how the work fits on a type in any region."""
        request = self._request
        if self._in_flight:
            found = replicas(self._fitter_for, kind, self._in_flight)
            if isinstance(found, Miss):
                return found
            return _Sized(fit=found.fit, speed=found.speed, replicas=found.count, sequences=found.sequences)
        fitted = self._fitter.on(kind)
        if isinstance(fitted, Miss):
            return fitted
        if request.workload.trains and self._tokens:
            return self._training(fitted, self._tokens)
        quick = quick_enough(self._fitter, fitted)
        if isinstance(quick, Miss):
            return quick
        fitted, estimated = quick
        if policy.way_of(request.workload) == "real-time":
            fitted, estimated = fastest(self._fitter, fitted, estimated)  # the node's other devices would be idle
        return _Sized(fit=fitted, speed=estimated)

    def _training(self, fitted: Fit, tokens: int) -> _Sized | Miss:
        request, kind, longest = self._request, fitted.kind, longest_hours(self._request.workload)
        if nodes := request.workload.nodes:
            wide = self._fitter.on_nodes(kind, nodes)
            if wide is None:
                fewest = self._fitter.fewest_nodes(kind) or fitted.nodes
                least = f"the run needs {fewest} nodes" if fewest > nodes else "its nodes cannot be joined without EFA"
                return _miss(kind, "NODES", f"{kind.name}: {least}; the request has {nodes} nodes")
            on_these = speed(request, wide)
            if is_planned(request.workload) and on_these.tokens_per_second is None:
                return _unknown_duration(kind)
            if not is_planned(request.workload) or not takes_longer(on_these, tokens, longest):
                return _Sized(fit=wide, speed=on_these)
            fitted = wide  # too few nodes: find how many the run needs
        if not is_planned(request.workload):
            return _Sized(fit=fitted, speed=speed(request, fitted))
        fit_, estimated = in_time(request, self._fitter, fitted, tokens=tokens, longest=longest)
        if estimated.tokens_per_second is None:
            return _unknown_duration(kind)
        return _Sized(fit=fit_, speed=estimated)

    def _fitter_for(self, sequences: int) -> Fitter:
        """Return the fitter for one replica of several, with its share of the sequences."""
        if sequences not in self._of_replicas:
            self._of_replicas[sequences] = self._fitter.at(at_pace(self._request, sequences))
        return self._of_replicas[sequences]

    def _price(self, kind: InstanceType, region: str, purchase: str) -> tuple[Figure | None, bool]:
        """Return the price of one node, and whether it is the On-Demand price, as the bound of an unknown one."""
        figure = instance_figure(self._catalogue, kind.name, region, _PRICED_AS[purchase])
        if figure is not None or purchase not in _BELOW_ON_DEMAND:
            return figure, False
        figure = instance_figure(self._catalogue, kind.name, region, "on-demand")
        return figure, figure is not None

    def _in_region(self, sized: _Sized, region: str, state: tuple[Maturity, str]) -> list[Draft] | Miss:
        """Return the drafts of a type in a region, by purchasing option; ``state`` is its maturity, with the reason."""
        kind = sized.fit.kind
        drafts: list[Draft] = []
        above: list[Plan] = []
        for purchase in sold_as(self._request.workload.purchase, kind):
            figure, at_most = self._price(kind, region, purchase)
            if figure is None and kind.hardware is Hardware.CPU:
                continue  # enough other CPU types have a price
            draft = Draft(
                fit=sized.fit,
                region=region,
                purchase=purchase,
                figure=figure,
                estimate=None if figure else self._estimates.of(kind.name, region),
                at_most=at_most,
                speed=sized.speed,
                maturity=state[0],
                maturity_why=state[1],
                replicas=sized.replicas,
                sequences=sized.sequences,
                tokens=self._tokens,
                per=compared_per(self._request.workload),
            )
            plan = plan_above(self._request.workload, draft)
            above += [plan] if plan else []
            drafts += [] if plan else [draft]
        self.plans += above
        if above and not drafts:
            return _miss(kind, "PLAN", f"{kind.name}: {above[0].text}")
        return drafts or _miss(kind, "PRICE", f"the price of {kind.family} in {region} is unknown")


# The size of a model counts only if it is too large for CPUs, so most requests share a result.
@lru_cache(maxsize=32)
def _screened(
    catalogue: Catalogue, only: tuple[str, ...], purchase: tuple[str, ...], learns: bool, too_large: str
) -> _Screened:
    """Return the requested types; ``too_large`` is why no CPU type is tried."""
    kinds = tuple(_considered(catalogue, only))
    small_wanted = all(map(_trains_little, kinds))
    no_cpu = "" if all(kind.hardware is Hardware.CPU for kind in kinds) else too_large

    def refused(kind: InstanceType) -> Miss | None:
        always = _refused_always(kind, purchase, learns, small_wanted)
        if always is not None or kind.hardware is not Hardware.CPU:
            return always
        text = no_cpu or _not_recommended(kind)
        return None if text is None else _miss(kind, "CPU", text)

    types = tuple(refused(kind) or kind for kind in kinds)
    tried = {each.family for each in types if not isinstance(each, Miss)}
    misses = (each for each in types if isinstance(each, Miss) and each.kind.family not in tried)
    return _Screened(types=types, rejections=rejections_by_family(misses))


def _too_large(request: Request) -> str:
    """Return why a model is too large for CPUs; empty if it is not."""
    most, parameters = facts.ranking()["cpu"]["parameters_at_most"], request.shape.parameters
    if parameters <= most:
        return ""
    return f"CPU types are for models with up to {short(most)} parameters; this model has {short(parameters)}"


@cache
def _refused_always(kind: InstanceType, purchase: tuple[str, ...], learns: bool, small_wanted: bool) -> Miss | None:
    """Return why no request with these purchasing options tries a type; ``small_wanted``: it has only small chips."""
    if refusing := type_gates(kind, purchase, learns):
        return Miss(kind=kind, gates=refusing, text=refusing[0].text)
    if excluded := policy.exclusion(kind):
        return _miss(kind, *excluded)
    if learns and _trains_little(kind) and not small_wanted:
        return _miss(kind, "FOR_INFERENCE", f"{chip_of(kind)} has no EFA and is sold for inference")
    return None


@cache
def _not_recommended(kind: InstanceType) -> str | None:
    """Return why a CPU type is never recommended; None if it can be."""
    rules = facts.ranking()["cpu"]
    if not any(fnmatchcase(kind.family, family) for family in rules["families"]):
        return f"not a recommended CPU family: {rules['why']}"
    if kind.vcpus < rules["vcpus_at_least"]:
        return f"{kind.vcpus} vCPUs are fewer than the minimum of {rules['vcpus_at_least']}"
    return None


@cache
def _trains_little(kind: InstanceType) -> bool:
    """Return whether a chip can train, but is sold for inference."""
    return kind.hardware.is_neuron and facts.software()["neuron_chips"]["training"].get(chip_of(kind) or "") == "small"


def _unknown_duration(kind: InstanceType) -> Miss:
    return _miss(kind, "WITHIN", f"{kind.name}: the duration of the run is unknown: measure it first")


# Every search refuses most types, for one of a few reasons.
@lru_cache(maxsize=2048)
def _miss(kind: InstanceType, code: str, text: str) -> Miss:
    return Miss(kind=kind, gates=_gates(code, text), text=text)


@lru_cache
def _gates(code: str, text: str) -> tuple[Gate, ...]:
    return (Gate(code, False, text, "config/policy/ranking.json"),)


def _remedied(misses: Iterable[Miss], request: Request, catalogue: Catalogue) -> Iterator[Miss]:
    """Yield the misses, with remedies for too little memory. Only misses that are shown are passed: this is slow."""
    for miss in misses:
        region = next((each for each in request.regions if catalogue.offered(miss.kind.name, each)), None)
        again = fit(request, miss.kind, region) if region and not miss.gates else miss
        yield again if isinstance(again, Miss) else miss


# --- result


def _ranked(
    drafts: Sequence[Draft],
    request: Request,
    branch: policy.Branch,
    catalogue: Catalogue,
    *,
    most: int | None = None,
) -> tuple[Basis, tuple[Candidate, ...]]:
    """Return the measure of cost, and the candidates, best first; with ``most``, at most that many."""
    workload = request.workload
    cautions = policy.policy_for(request).warnings(workload, request.shape)
    drafts = _on_fewest_nodes(drafts)
    weighed = [_weighed(each, request, branch, cautions) for each in drafts]
    basis = basis_of(workload, weighed)
    scored = score(weighed, workload=workload, basis=basis)
    rows = sorted(
        zip(drafts, weighed, scored, strict=True),
        key=lambda row: order(row[1], row[2], basis=basis),
    )
    candidates = tuple(_candidate(draft, found, basis, branch, cautions, catalogue) for draft, _, found in rows[:most])
    if workload.trains and not is_planned(workload) and candidates:
        longest = longest_hours(workload)
        if (candidates[0].hours or 0.0) > longest:  # a plan of years for an assumed number of tokens
            candidates = tuple(_without_run(candidate) for candidate in candidates)
    return basis, candidates


def _without_run(candidate: Candidate) -> Candidate:
    about = candidate.about and replace(candidate.about, usd_per_run=None)
    return candidate._replace(hours=None, usd_per_run=None, about=about)


def _on_fewest_nodes(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the sizes of each family with the fewest nodes: devices exchange data fastest within a node."""
    fewest: dict[str, int] = {}
    for draft in drafts:
        family, nodes = draft.fit.kind.family, draft.fit.nodes
        fewest[family] = min(fewest.get(family, nodes), nodes)
    return [draft for draft in drafts if draft.fit.nodes == fewest[draft.fit.kind.family]]


def _weighed(draft: Draft, request: Request, branch: policy.Branch, cautions: Sequence[policy.Branch]) -> Weighed:
    kind = draft.fit.kind
    chip = kind.accelerator
    warned = any(caution.match(kind) == "named" for caution in cautions)
    return Weighed(
        costs={
            "usd_per_run": draft.counted_usd_per_run,
            "usd_per_hour": draft.counted_usd_per_hour,
        },
        speed=draft.rate,
        speed_of_a_node=draft.rate_of_a_node,
        policy=0.0 if warned else branch.rank(kind),
        maturity=draft.maturity,
        nodes=draft.fit.nodes,
        tight=_is_tight(draft.fit, request.workload),
        size=draft.nodes * ((chip.memory_gib_total if chip else None) or kind.memory_gib),
        hours=draft.billed_hours,
        place=(request.regions.index(draft.region), request.workload.purchase.index(draft.purchase)),
        name=kind.name,
    )


def _is_tight(fit: Fit, workload: WorkloadSpec) -> bool:
    """Return whether a run may not fit even with its smallest batch."""
    rule = facts.ranking()["tight_fit"]
    smallest = fit.batch_size is None or fit.batch_size <= batch_size(workload)
    return policy.way_of(workload) in rule["ways"] and smallest and fit.used > rule["share"]


def _candidate(
    draft: Draft,
    scored: Scored,
    basis: Basis,
    branch: policy.Branch,
    cautions: Sequence[policy.Branch],
    catalogue: Catalogue,
) -> Candidate:
    kind = draft.fit.kind
    named = branch.match(kind) in ("named", "instead")
    return Candidate(
        fit=draft.fit,
        region=draft.region,
        zone_ids=catalogue.offered(kind.name, draft.region),
        purchase=draft.purchase,
        replicas=draft.replicas,
        usd_per_hour=draft.usd_per_hour,
        price_as_of=draft.figure.as_of if draft.figure else None,
        price_at_most=draft.at_most,
        tokens_per_second=draft.tokens_per_second,
        hours=draft.hours,
        usd_per_million_tokens=draft.usd_per_million_tokens,
        usd_per_run=draft.usd_per_run,
        assumptions=draft.speed.assumptions,
        policy=branch.id if named else None,
        maturity=draft.maturity,
        scores=scored.parts,
        score=scored.total,
        reasons=tuple(dict.fromkeys(reasons_of(draft, scored, basis, branch, cautions))),
        about=draft.about,
    )
