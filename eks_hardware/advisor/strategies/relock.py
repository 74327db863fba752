"""Choose hardware for the workloads of a strategy, and compare with what its lock file has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from eks_hardware.advisor.strategies import lock
from eks_hardware.advisor.strategies.choose import Answer, NothingFitsError, Recommender, choose, too_few_nodes
from eks_hardware.advisor.strategies.questions import (
    Node,
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
    """What becomes of one group or pool.

    Attributes:
        path: the group or pool, ``node_groups[llm]``.
        state: chosen for the first time, kept as it is locked, or chosen anew.
        entry: what the lock file says of it from now on.
        before: what it said until now, None where it said nothing.
        today: what the recommender would choose today; None where it was not asked.
        why: what is asked otherwise than before, in words; empty for the same question.
    """

    path: str
    state: State
    entry: lock.Entry
    before: lock.Entry | None
    today: Answer | None
    why: tuple[str, ...]

    @property
    def differs_today(self) -> bool:
        """Whether the recommender would choose otherwise today."""
        return self.today is not None and self.today.entry.chosen != self.entry.chosen


@dataclass(frozen=True, kw_only=True)
class Relocked:
    """The lock file of a strategy, as it should be.

    Attributes:
        entries: all of it; those of other overlays are as they were.
        choices: groups and pools of this run, in the order of the file.
        removed: entries that nothing asks for any more.
    """

    entries: tuple[lock.Entry, ...]
    choices: tuple[Choice, ...]
    removed: tuple[lock.Entry, ...]


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

    Args:
        loaded: the strategy.
        overlays: those that it was loaded with.
        upgrade: names of groups and pools that are chosen anew although they are locked.
        compare: ask the recommender about what is kept, too.
        recommender: for tests.
        catalogue: the packaged one by default.

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
            answer = None
            if anew or compare:
                network = loaded.strategy.network
                answer = choose(
                    question, network, overlays=tuple(overlays), recommender=recommender, catalogue=catalogue
                )
            choices.append(_choice(question, locked, answer, anew, entries, tuple(overlays)))
        except (QuestionError, NothingFitsError) as error:
            findings.append(error.finding)
            continue
        if short := _short(path, node, choices[-1], catalogue):
            findings.append(short)
    if findings:
        raise StrategyError(replace(each, position=loaded.source.locate(each.path)) for each in findings)
    return _relocked(entries, choices, tuple(overlays))


def _short(path: str, node: Node, choice: Choice, catalogue: Catalogue | None) -> Finding | None:
    # What is kept is for `validate` to judge.
    return None if choice.state == "kept" else too_few_nodes(path, node, choice.entry.chosen, catalogue)


def _choice(
    question: Question,
    locked: lock.Entry | None,
    answer: Answer | None,
    anew: bool,
    entries: Sequence[lock.Entry],
    overlays: tuple[str, ...],
) -> Choice:
    if locked and answer and anew:
        # The overlays that an answer belongs to are those it was first given for.
        entry = answer.entry.model_copy(update={"overlays": locked.overlays})
        same = entry.chosen == locked.chosen
        return Choice(
            path=question.path,
            state="kept" if same else "changed",
            entry=locked if same else entry,
            before=locked,
            today=answer,
            why=(),
        )
    if locked:
        return Choice(path=question.path, state="kept", entry=locked, before=locked, today=answer, why=())
    if answer is None:
        raise ValueError(f"{question.path} is not locked, and nobody was asked")
    before = next((each for each in entries if each.path == question.path and each.overlays == overlays), None)
    return Choice(
        path=question.path,
        state="changed" if before else "new",
        entry=answer.entry,
        before=before,
        today=answer,
        why=differences(question.asked, before.asked) if before else (),
    )


def _relocked(entries: Sequence[lock.Entry], choices: Sequence[Choice], overlays: tuple[str, ...]) -> Relocked:
    """The entries of this run in place of what it had before; what other overlays ask is left alone."""
    replaced = [choice.before for choice in choices if choice.before]
    ours = [choice.entry for choice in choices]
    others = [each for each in entries if each not in replaced and each.overlays != overlays]
    removed = [each for each in entries if each not in replaced and each.overlays == overlays and each not in ours]
    return Relocked(entries=(*ours, *others), choices=tuple(choices), removed=tuple(removed))
