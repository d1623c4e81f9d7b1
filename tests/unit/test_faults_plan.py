"""A plan of faults as data: conversion in both directions, and the messages for invalid data."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fault_engine.plan import (
    ENDS,
    Action,
    Answer,
    Behind,
    Delay,
    Doubled,
    Drop,
    Hide,
    Kill,
    Match,
    Plan,
    Rule,
    Stream,
    described,
)

texts = st.text('a*|"ä\n', max_size=8)
objects = st.dictionaries(texts, st.none() | st.integers() | texts | st.lists(texts), max_size=3)
positive = st.integers(1, 99)
matches = st.builds(
    Match,
    **dict.fromkeys(("verb", "resource", "name", "namespace", "agent", "query"), texts),
    first=positive,
    count=st.none() | positive,
    every=positive,
)
streams = st.builds(
    Stream,
    after=st.integers(0, 9),
    inject=st.lists(texts | objects, max_size=3).map(tuple),
    then=st.sampled_from(ENDS),
    drop=st.lists(texts, max_size=2).map(tuple),
)
actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(Answer, status=positive, body=st.none() | objects, retry_after=st.none() | positive),
    st.builds(Delay, seconds=st.floats(0, 99)),
    st.builds(Drop),
    st.builds(Kill),
    st.builds(Behind, version=positive),
    streams,
    st.builds(Hide, name=texts, event=texts, until=texts, events=positive),
    st.builds(Doubled),
)
plans = st.builds(Plan, st.lists(st.builds(Rule, matches, actions), max_size=3).map(tuple))


@settings(deadline=None)
@given(plans)
def test_plan_survives_json(plan: Plan) -> None:
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_data_says_only_what_is_not_usual() -> None:
    plan = Plan((Rule(Match(verb="create"), Drop(answered=True)),))
    assert plan.to_json() == [{"match": {"verb": "create"}, "action": {"kind": "Drop", "answered": True}}]


def test_description_is_short() -> None:
    assert described(Answer(503, retry_after=1)) == "Answer(status=503, retry_after=1)"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "rule 2: action.kind must be one of Answer"),
        ([], "rule 2: it must have a match and an action"),
        ({"action": {"kind": "Drop"}, "mach": {}}, "rule 2: it must have a match and an action"),
        ({"action": {"kind": "Dorp"}}, "rule 2: action.kind must be one of Answer"),
        ({"action": {"kind": "Answer"}}, "rule 2: action.status is missing"),
        ({"action": {"kind": "Answer", "status": "503"}}, "rule 2: action.status: '503' is not of type int"),
        ({"action": {"kind": "Drop", "answered": 1}}, "rule 2: action.answered: 1 is not of type bool"),
        ({"action": {"kind": "Delay", "seconds": True}}, "rule 2: action.seconds: True is not of type float"),
        ({"action": {"kind": "Stream", "inject": [1]}}, "rule 2: action.inject"),
        ({"action": {"kind": "Stream", "then": "stop"}}, "rule 2: action.then must be one of go on, close"),
        ({"action": {"kind": "Stream", "after": -1}}, "rule 2: action.after must be at least 0"),
        ({"action": {"kind": "Hide", "name": "a", "events": 0}}, "rule 2: action.events must be at least 1"),
        ({"match": {"frist": 1}, "action": {"kind": "Drop"}}, "rule 2: match.frist: Match has only the fields verb"),
        ({"match": [], "action": {"kind": "Drop"}}, "rule 2: match is not an object"),
        ({"match": {"first": 0}, "action": {"kind": "Drop"}}, "rule 2: match.first must be at least 1"),
        ({"match": {"count": 0}, "action": {"kind": "Drop"}}, "rule 2: match.count must be at least 1"),
        ({"match": {"every": 0}, "action": {"kind": "Drop"}}, "rule 2: match.every must be at least 1"),
    ],
)
def test_bad_data_is_named(rule: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.from_json([{"action": {"kind": "Drop"}}, rule])
