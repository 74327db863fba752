"""The recommender: gates, fit, price, speed and score for every instance type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.fitting.fit import Fitter, fit
from eks_hardware.advisor.fitting.gates import maturity, type_gates
from eks_hardware.advisor.model import Candidate, Fit, Gate, Maturity, Miss, Recommendation, Request
from eks_hardware.advisor.ranking import policy
from eks_hardware.advisor.ranking.draft import Draft
from eks_hardware.advisor.ranking.reasons import notes_of, reasons_of, short
from eks_hardware.advisor.ranking.rejected import nearest_of, rejections_of
from eks_hardware.advisor.ranking.score import Scored, Weighed, basis_of, order, score
from eks_hardware.advisor.speed.cheapest import cheapest
from eks_hardware.advisor.speed.estimate import Speed
from eks_hardware.advisor.speed.latency import latency_gates, quick_enough
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType, load
from eks_hardware.catalogue.store import label_name
from eks_hardware.cost import Purchase, instance_figure
from eks_hardware.spellings import CAPACITY
from eks_hardware.suggestions import close

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis

# The price of each purchasing option. A capacity reservation is billed at the On-Demand rate, used or not
# (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html). The prices of
# Capacity Blocks are unknown.
_PRICED_AS: Mapping[str, Purchase | None] = {
    "on-demand": "on-demand",
    "spot": "spot",
    "reserved": "on-demand",
    "capacity-block": None,
}
_CPU_SIZES = 2
_REGIONS = 3


def recommend(request: Request, *, catalogue: Catalogue | None = None, only: Sequence[str] = ()) -> Recommendation:
    """Return the hardware that suits a workload, best first, and why other hardware does not.

    ``only`` lists families, accelerators, kinds of hardware or instance types (or patterns of them) to choose from.
    """
    catalogue = catalogue or load()
    branch = policy.branch(request.workload, request.shape)
    kinds = tuple(_considered(catalogue, only))
    search = _Search(request, catalogue, cpu_wanted=all(kind.hardware is Hardware.CPU for kind in kinds))
    for kind in kinds:
        search.take(kind)
    basis, candidates = _ranked(search.drafts, request, branch, catalogue)
    rejections = rejections_of(search.misses, {each.fit.kind.family for each in candidates})
    notes = notes_of(request, branch, best_of_families(candidates), rejections, basis)
    return Recommendation(
        request=request,
        branch=branch.id,
        branch_quote=branch.quote,
        candidates=candidates,
        rejections=rejections,
        nearest=() if candidates else tuple(_remedied(nearest_of(search.misses), request, catalogue)),
        notes=tuple(dict.fromkeys(notes)),
    )


def unknown_of(catalogue: Catalogue, only: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield words of ``only`` that match nothing in a catalogue, each with suggestions."""
    known = {*catalogue.families, *catalogue.accelerators, *(each.value for each in Hardware), *catalogue.names}
    for word in only:
        if word not in catalogue and not any(_is_meant(kind, [word.lower()]) for kind in _considered(catalogue, ())):
            yield word, close(word, known)


def best_of_families(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the best candidate of each family, in their order: one size, region and purchasing option each."""
    found: dict[str, Candidate] = {}
    for each in candidates:
        found.setdefault(each.fit.kind.family, each)
    return tuple(found.values())


# --- types to try


def _considered(catalogue: Catalogue, only: Sequence[str]) -> Iterator[InstanceType]:
    """Yield the requested types."""
    exact = set(only)
    patterns = [each.lower() for each in only if each not in catalogue]
    for name in catalogue.names:
        if not only or name in exact or (patterns and _is_meant(catalogue.get(name), patterns)):
            yield catalogue.get(name)


def _is_meant(kind: InstanceType, patterns: Sequence[str]) -> bool:
    labels = [kind.name, kind.family, kind.hardware.value]
    if kind.accelerator:
        labels.append(kind.accelerator.label_name)
    return any(fnmatchcase(label, each) or label == label_name(each) for label in labels for each in patterns)


# --- one type at a time


class _Suited(NamedTuple):
    """A type on which the request fits and is quick enough."""

    fit: Fit
    speed: Speed
    maturity: Maturity
    maturity_why: str


class _Search:
    """Tries instance types, and collects candidates and misses in the order of the trials.

    With ``cpu_wanted`` it tries CPU types whatever the policy says, because the request allows nothing else.
    """

    def __init__(self, request: Request, catalogue: Catalogue, *, cpu_wanted: bool) -> None:
        self.drafts: list[Draft] = []
        self.misses: list[Miss] = []
        self._request = request
        self._catalogue = catalogue
        most, parameters = facts.ranking()["cpu"]["parameters_at_most"], request.shape.parameters
        self._no_cpu = ""
        if parameters > most and not cpu_wanted:
            self._no_cpu = (
                f"CPU types are for models with up to {short(most)} parameters; this model has {short(parameters)}"
            )
        self._fitter = Fitter(request, catalogue, choose=cheapest)
        self._cpu_sizes: Counter[str] = Counter()

    def take(self, kind: InstanceType) -> None:
        """Try a type in every region that offers it."""
        refused = self._refused(kind)
        if refused is not None:
            self.misses.append(refused)
            return
        offering = [region for region in self._request.regions if self._catalogue.offered(kind.name, region)]
        if not offering:
            # A type that does not fit in one region does not fit in any other.
            anywhere = self._fitter.on(kind)
            self.misses.append(anywhere if isinstance(anywhere, Miss) else self._not_offered(kind))
            return
        suited = self._suited(kind)
        found = [suited if isinstance(suited, Miss) else self._sold(suited, region) for region in offering]
        drafts = [draft for each in found if not isinstance(each, Miss) for draft in each]
        self.drafts += drafts
        self.misses += [each for each in found if isinstance(each, Miss)]
        if drafts and kind.hardware is Hardware.CPU:
            self._cpu_sizes[kind.family] += 1

    def _refused(self, kind: InstanceType) -> Miss | None:
        """Return why a type is not tried."""
        refusing = tuple(type_gates(self._request, kind))
        if refusing:
            return Miss(kind=kind, gates=refusing, text=refusing[0].text)
        if excluded := policy.exclusion(kind):
            return _miss(kind, *excluded)
        if kind.hardware is not Hardware.CPU:
            return None
        if self._no_cpu:
            return _miss(kind, "CPU", self._no_cpu)
        rules, text = facts.ranking()["cpu"], None
        if not any(fnmatchcase(kind.family, each) for each in rules["families"]):
            text = f"not a recommended CPU family: {rules['why']}"
        elif kind.vcpus < rules["vcpus_at_least"]:
            text = f"{kind.vcpus} vCPUs are fewer than the minimum of {rules['vcpus_at_least']}"
        elif self._cpu_sizes[kind.family] >= _CPU_SIZES:
            text = "a smaller size of the family is enough"
        return None if text is None else _miss(kind, "CPU", text)

    def _not_offered(self, kind: InstanceType) -> Miss:
        """Return that no requested region offers it, and which other regions do."""
        asked = self._request.regions
        # Regions on the same continent first.
        elsewhere = sorted(
            self._catalogue.offered_regions(kind.name), key=lambda each: (each[:2] != asked[0][:2], each)
        )
        more = f" and {len(elsewhere) - _REGIONS} more" if len(elsewhere) > _REGIONS else ""
        where = f"only in {', '.join(elsewhere[:_REGIONS])}{more}" if elsewhere else "nor in any known region"
        here = asked[0] if len(asked) == 1 else f"any of the {len(asked)} regions"
        text = f"{kind.name} is not offered in {here}, {where}"
        gate = Gate("OFFERED", False, text, "config/catalogue/offerings.json")
        return Miss(kind=kind, gates=(gate,), text=text, remedy=f"choose {elsewhere[0]}" if elsewhere else None)

    def _suited(self, kind: InstanceType) -> _Suited | Miss:
        """Return how the request runs on a type, which is the same in every region."""
        fitted = self._fitter.on(kind)
        quick = fitted if isinstance(fitted, Miss) else quick_enough(self._request, fitted)
        if isinstance(quick, Miss):
            return quick
        fit, estimated = quick
        unsure = tuple(each for each in latency_gates(self._request, estimated) if each.passed is None)
        if unsure:  # with a latency target, hardware of unknown speed is not recommended
            return Miss(kind=kind, gates=unsure, text=unsure[0].text)
        return _Suited(fit, estimated, *maturity(self._request, kind))

    def _sold(self, suited: _Suited, region: str) -> list[Draft] | Miss:
        """Return the purchasing options of a type in a region."""
        kind, drafts = suited.fit.kind, []
        for purchase in self._request.workload.purchase:
            if CAPACITY[purchase].usage_class not in kind.usage_classes:
                continue
            priced_as = _PRICED_AS[purchase]
            figure = priced_as and instance_figure(self._catalogue, kind.name, region, priced_as)
            at_most = figure is None and purchase == "spot"
            if at_most:
                figure = instance_figure(self._catalogue, kind.name, region, "on-demand")
            if figure is None and kind.hardware is Hardware.CPU:
                continue  # enough other types have one
            drafts.append(
                Draft(
                    fit=suited.fit,
                    region=region,
                    purchase=purchase,
                    figure=figure,
                    at_most=at_most and figure is not None,
                    speed=suited.speed,
                    maturity=suited.maturity,
                    maturity_why=suited.maturity_why,
                )
            )
        return drafts or _miss(kind, "PRICE", f"the price of {kind.family} in {region} is unknown")


def _miss(kind: InstanceType, code: str, text: str) -> Miss:
    return Miss(kind=kind, gates=_gates(code, text), text=text)


# Most types are refused, for one of a few reasons.
@lru_cache
def _gates(code: str, text: str) -> tuple[Gate, ...]:
    return (Gate(code, False, text, "config/policy/ranking.json"),)


def _remedied(misses: Iterable[Miss], request: Request, catalogue: Catalogue) -> Iterator[Miss]:
    """Yield misses of memory with remedies, for only the closest ones that are shown, because it is slow."""
    for miss in misses:
        region = next((each for each in request.regions if catalogue.offered(miss.kind.name, each)), None)
        again = fit(request, miss.kind, region) if region and not miss.gates else miss
        yield again if isinstance(again, Miss) else miss


# --- result


def _ranked(
    drafts: Sequence[Draft], request: Request, branch: policy.Branch, catalogue: Catalogue
) -> tuple[Basis, tuple[Candidate, ...]]:
    """Return the measure of cost, and the candidates, best first."""
    workload = request.workload
    cautions = policy.cautions(workload, request.shape)
    drafts = _on_fewest_nodes(drafts)
    weighed = [_weighed(each, request, branch, cautions) for each in drafts]
    basis = basis_of(workload, weighed)
    scored = score(weighed, workload=workload, basis=basis)
    rows = sorted(
        zip(drafts, weighed, scored, strict=True),
        key=lambda row: order(row[1], row[2], budget=workload.budget, basis=basis),
    )
    return basis, tuple(_candidate(draft, found, basis, branch, cautions, catalogue) for draft, _, found in rows)


def _on_fewest_nodes(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the sizes of each family with the fewest nodes: devices exchange data fastest within a node."""
    fewest: dict[str, int] = {}
    for each in drafts:
        family, nodes = each.fit.kind.family, each.fit.nodes
        fewest[family] = min(fewest.get(family, nodes), nodes)
    return [each for each in drafts if each.fit.nodes == fewest[each.fit.kind.family]]


def _weighed(draft: Draft, request: Request, branch: policy.Branch, cautions: Sequence[policy.Branch]) -> Weighed:
    kind = draft.fit.kind
    warned = any(each.match(kind) == "named" for each in cautions)
    return Weighed(
        costs={
            "usd_per_run": draft.usd_per_run,
            "usd_per_million_tokens": draft.usd_per_million_tokens,
            "usd_per_hour": draft.usd_per_hour,
        },
        speed=draft.speed.per_replica,
        policy=0.0 if warned else branch.rank(kind),
        maturity=draft.maturity,
        nodes=draft.fit.nodes,
        place=(request.regions.index(draft.region), request.workload.purchase.index(draft.purchase)),
        name=kind.name,
    )


def _candidate(
    draft: Draft,
    found: Scored,
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
        usd_per_hour=draft.usd_per_hour,
        price_as_of=draft.figure.as_of if draft.figure else None,
        price_at_most=draft.at_most,
        tokens_per_second=draft.speed.tokens_per_second,
        hours=draft.speed.hours,
        usd_per_million_tokens=draft.usd_per_million_tokens,
        usd_per_run=draft.usd_per_run,
        assumptions=draft.speed.assumptions,
        policy=branch.id if named else None,
        maturity=draft.maturity,
        scores=found.parts,
        score=found.total,
        reasons=tuple(dict.fromkeys(reasons_of(draft, found, basis, branch, cautions))),
    )
