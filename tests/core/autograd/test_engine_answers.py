"""Errors, nesting and threads, answered as PyTorch answers (``truth/questions/engine.py``)."""

from __future__ import annotations

import json

import pytest

import dispatchviz.torch as model
from truth import records
from truth.questions.engine import QUESTIONS, Question, answers

pytestmark = pytest.mark.record("engine_answers")

STORED_ANSWERS = records.read("engine_answers")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_the_engine_leaves_behind_what_pytorch_leaves(question: Question) -> None:
    assert json.loads(json.dumps(question(model))) == STORED_ANSWERS[question.__name__]


def test_every_question_is_stored() -> None:
    assert list(STORED_ANSWERS) == [question.__name__ for question in QUESTIONS]


@pytest.mark.torch
def test_what_is_stored_is_what_pytorch_answers() -> None:
    assert answers(pytest.importorskip("torch")) == STORED_ANSWERS
