"""Choose hardware for the workloads of a strategy, and compare with what its lock file has."""

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
    """What becomes of one group or pool."""

    path: str
    state: State  # chosen for the first time, kept as it is locked, or chosen anew
    entry: lock.Entry  # what the lock file says of it from now on
    before: lock.Entry | None  # what it said until now
    today: lock.Entry | None  # what the recommender would choose today; None where it was not asked
    why: tuple[str, ...] = ()  # what is asked otherwise than before, in words; empty for the same question

    @property
    def differs_today(self) -> bool:
        """Whether the recommender would choose otherwise today."""
        return self.today is not None and self.today.chosen != self.entry.chosen


@dataclass(frozen=True, kw_only=True)
class Relocked:
    """The lock file of a strategy, as it should be."""

    entries: tuple[lock.Entry, ...]  # all of it; those of other overlays are as they were
    choices: tuple[Choice, ...]  # groups and pools of this run, in the order of the file
    removed: tuple[lock.Entry, ...]  # what nothing asks for any more


def relock(
    loaded: LoadedStrategy,
    *,
    overlays: Sequence[str] = (),
    upgrade: Collection[str] | Literal["all"] = (),
    compare: bool = False,
    recommender: Recommender | None = None,
    catalogue: Catalogue | None = None,
) -> Relocked:
    """Choose what is not locked, or what is asked otherwise now; keep the rest.

    Groups and pools named in ``upgrade`` are chosen anew although they are locked. With ``compare`` the recommender is
    asked about what is kept, too. ``recommender`` and ``catalogue`` are for tests.

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
        # `validate` judges what is kept.
        if choice.state != "kept" and (short := too_few_nodes(path, node, choice.entry.chosen, catalogue)):
            findings.append(short)
    if findings:
        raise StrategyError(replace(each, position=loaded.source.locate(each.path)) for each in findings)
    return _relocked(entries, choices, tuple(overlays))


def _choice(
    question: Question, locked: lock.Entry | None, today: lock.Entry | None, anew: bool, entries: Sequence[lock.Entry]
) -> Choice:
    path = question.path
    if locked:
        if today and anew and today.chosen != locked.chosen:
            # An answer belongs to the overlays that it was first given for.
            entry = today.model_copy(update={"overlays": locked.overlays})
            return Choice(path=path, state="changed", entry=entry, before=locked, today=today)
        return Choice(path=path, state="kept", entry=locked, before=locked, today=today)
    if today is None:
        raise ValueError(f"{path} is not locked, and nobody was asked")
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
    """The entries of this run in place of what it had before; what other overlays ask is left alone."""
    replaced = [choice.before for choice in choices if choice.before]
    ours = [choice.entry for choice in choices]
    others = [each for each in entries if each not in replaced and each.overlays != overlays]
    removed = [each for each in entries if each not in replaced and each.overlays == overlays and each not in ours]
    return Relocked(entries=(*ours, *others), choices=tuple(choices), removed=tuple(removed))
