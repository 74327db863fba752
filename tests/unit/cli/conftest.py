"""Commands search the catalogue, check and resolve once for each input: many tests look at the same answer."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest

from eks_hardware import resolve as resolving
from eks_hardware.advisor import recommend as module
from eks_hardware.advisor.model import Recommendation, Request
from eks_hardware.catalogue import Catalogue
from eks_hardware.findings import Finding
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy

_FOUND: dict[tuple[str, ...], Recommendation] = {}
_CHEAPER: dict[tuple[str, ...], str | None] = {}
_CHECKED: dict[tuple[bytes, datetime.date], list[Finding]] = {}
_RESOLVED: dict[bytes, ResolvedStrategy] = {}


def _key_of_search(request: Request, only: Sequence[str]) -> tuple[str, ...]:
    # A default and the same value as given are equal, but the output lists only the default as assumed.
    return repr(request), request.workload.model_dump_json(exclude_unset=True), *only


@pytest.fixture(scope="module", autouse=True)
def _one_search_for_a_request() -> Iterator[None]:
    recommend, cheaper_way = module.recommend, module.cheaper_way

    def recommend_once(request: Request, *, only: Sequence[str] = (), **catalogue: Any) -> Recommendation:
        if catalogue:
            return recommend(request, only=only, **catalogue)
        key = _key_of_search(request, only)
        if key not in _FOUND:
            _FOUND[key] = recommend(request, only=only)
        return _FOUND[key]

    def cheaper_way_once(found: Recommendation, *, only: Sequence[str] = ()) -> str | None:
        key = _key_of_search(found.request, only)
        if key not in _CHEAPER:
            _CHEAPER[key] = cheaper_way(found, only=only)
        return _CHEAPER[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "recommend", recommend_once)
        patch.setattr(module, "cheaper_way", cheaper_way_once)
        yield


@pytest.fixture(scope="module", autouse=True)
def _one_check_of_a_strategy() -> Iterator[None]:
    checking = import_module("eks_hardware.rules.check")  # as an attribute, it is the function
    check: Callable[..., list[Finding]] = checking.check
    resolve = resolving.resolve

    def check_once(
        strategy: Strategy, catalogue: Catalogue | None = None, *, today: datetime.date | None = None
    ) -> list[Finding]:
        if catalogue:
            return check(strategy, catalogue, today=today)
        key = (pickle.dumps(strategy), today or datetime.date.today())
        if key not in _CHECKED:
            _CHECKED[key] = check(strategy, today=today)
        return [*_CHECKED[key]]

    def resolve_once(strategy: Strategy, catalogue: Catalogue | None = None) -> ResolvedStrategy:
        if catalogue:
            return resolve(strategy, catalogue)
        key = pickle.dumps(strategy)
        if key not in _RESOLVED:
            _RESOLVED[key] = resolve(strategy)
        return _RESOLVED[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "check", check_once)
        patch.setattr(resolving, "resolve", resolve_once)
        yield
