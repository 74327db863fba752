"""Choose hardware for the workloads of a strategy, and compare it with the lock file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from eks_hardware.advisor.strategies import lock
from eks_hardware.advisor.strategies.choose import Recommender, choose, too_few_nodes
from eks_hardware.advisor.strategies.questions import (
    Question,
    QuestionError,
    answer_in,
    described_nodes,
    differences,
    question_of,
)
from eks_hardware.catalogue import Catalogue
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader import LoadedStrategy

State = Literal["new", "kept", "changed"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The result for one group or pool."""

    path: str
    state: State  # chosen for the first time, kept, or changed
    entry: lock.Entry  # the new entry of the lock file
    before: lock.Entry | None  # the previous entry
    today: lock.Entry | None  # the recommender's choice of today; None if it did not run
    why: tuple[str, ...] = ()  # changes of the question, in words; empty for the same question

    @property
    def differs_today(self) -> bool:
        """Whether the recommender would choose differently today."""
        return self.today is not None and self.today.chosen != self.entry.chosen


@dataclass(frozen=True, kw_only=True)
class Relocked:
    """The new content of a strategy's lock file."""

    entries: tuple[lock.Entry, ...]  # all entries; those of other overlays are unchanged
    choices: tuple[Choice, ...]  # groups and pools of this run, in the order of the file
    removed: tuple[lock.Entry, ...]  # entries that are no longer used


def relock(
    loaded: LoadedStrategy,
    *,
    overlays: Sequence[str] = (),
    upgrade: Collection[str] | Literal["all"] = (),
    compare: bool = False,
    recommender: Recommender | None = None,
    catalogue: Catalogue | None = None,
) -> Relocked:
    """Choose hardware for workloads without a locked choice or with a changed question; keep other choices.

    Groups and pools in ``upgrade`` are chosen again, even if locked. With ``compare`` the recommender also runs for
    kept choices. ``recommender`` and ``catalogue`` are for tests.

    Raises:
        StrategyError: with every group or pool for which nothing can be chosen.
        LockError: LOCK_INVALID.
    """
    entries = lock.read(lock.lock_path(loaded.path)) if loaded.path else ()
    choices: list[Choice] = []
    findings: list[Finding] = []
    for path, node in described_nodes(loaded).items():
        try:
            question = question_of(loaded, path, node)
            locked = answer_in(entries, question)
            anew = locked is None or upgrade == "all" or node.name in upgrade
            today = None
            if anew or compare:
                network, made = loaded.strategy.network, tuple(overlays)
                today = choose(question, network, overlays=made, recommender=recommender, catalogue=catalogue)
            choice = _choice(question, locked, today, anew, entries)
        except QuestionError as error:
            findings.append(error.finding)
            continue
        choices.append(choice)
        # `validate` checks kept choices.
        if choice.state != "kept" and (short := too_few_nodes(path, node, choice.entry.chosen, catalogue)):
            findings.append(short)
    if findings:
        raise StrategyError(replace(finding, position=loaded.source.locate(finding.path)) for finding in findings)
    return _relocked(entries, choices, tuple(overlays))


def _choice(
    question: Question, locked: lock.Entry | None, today: lock.Entry | None, anew: bool, entries: Sequence[lock.Entry]
) -> Choice:
    path = question.path
    if locked:
        if today and anew and today.chosen != locked.chosen:
            # An answer belongs to the overlays of its first run.
            entry = today.model_copy(update={"overlays": locked.overlays})
            return Choice(path=path, state="changed", entry=entry, before=locked, today=today)
        return Choice(path=path, state="kept", entry=locked, before=locked, today=today)
    if today is None:
        raise ValueError(f"{path} is not locked, and the recommender did not run")
    before = next((each for each in entries if each.path == path and each.overlays == today.overlays), None)
    return Choice(
        path=path,
        state="changed" if before else "new",
        entry=today,
        before=before,
        today=today,
        why=differences(question.asked, before.asked) if before else (),
    )


def _relocked(entries: Sequence[lock.Entry], choices: Sequence[Choice], overlays: tuple[str, ...]) -> Relocked:
    """Return the entries with those of this run replaced. Entries of other overlays are kept."""
    replaced = [choice.before for choice in choices if choice.before]
    ours = [choice.entry for choice in choices]
    others = [entry for entry in entries if entry not in replaced and entry.overlays != overlays]
    removed = [entry for entry in entries if entry not in replaced and entry.overlays == overlays and entry not in ours]
    return Relocked(entries=(*ours, *others), choices=tuple(choices), removed=tuple(removed))
