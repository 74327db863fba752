"""A newcomer finds the answers to common questions in two clicks from the README, by links that name them."""

from __future__ import annotations

import re

import pytest

from helpers.questions import QUESTIONS, Link, sections, ways, would_choose


@pytest.mark.parametrize("start", ["README.md", "docs/index.md"])
def test_answers_are_two_clicks_away(start: str) -> None:
    assert len(QUESTIONS) >= 12
    lost = {
        question: [[link.text for link in way] for way in ways(start, answer)]
        for question, answer in QUESTIONS.items()
        if not any(would_choose(question, way) for way in ways(start, answer))
    }
    assert lost == {}


def test_sections_answer() -> None:
    for question, answer in QUESTIONS.items():
        page, anchor = answer.split("#")
        assert len(sections(page)[anchor][1].split()) >= 10, question


def test_every_common_question_has_a_link_to_its_answer() -> None:
    asked = {heading: text for heading, text in sections("docs/questions.md").values() if heading != "Common questions"}
    assert len(asked) >= 10
    for question, text in asked.items():
        assert question.endswith("?")
        assert re.search(r"\]\([a-z/-]+\.md", text), question


def test_the_link_must_name_the_question() -> None:
    assert would_choose("What does it cost?", (Link("what it costs", ""),))
    assert not would_choose("What does it cost?", (Link("install", ""),))
    assert not would_choose("What does it cost?", (Link("Common questions", ""), Link("what is it", "")))
