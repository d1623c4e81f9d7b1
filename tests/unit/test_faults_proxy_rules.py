"""The choice of the fault for each request, and the changes to a watch's lines: without a proxy and without time."""

import json
from dataclasses import replace
from typing import Any

import pytest

from fault_engine.plan import Action, Answer, Behind, Delay, Doubled, Drop, Hide, Match, Plan, Rule, Stream
from fault_engine.proxy_requests import request_info
from fault_engine.rules import Rules
from fault_engine.stream import AsOf, End, Event, Faulty, Hidden, Hiding, Repeating, Step, Unchanged, read_event

APPS = "/apis/apps/v1/namespaces/shop/deployments"


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/api/v1/pods", ("list", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=true", ("watch", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=1", ("watch", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=", ("watch", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=False", ("list", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=0&watch=1", ("list", "pods", "", "")),
        ("GET", APPS + "?fieldSelector=metadata.name%3Dweb&watch=1", ("watch", "deployments", "shop", "web")),
        ("GET", APPS + "?fieldSelector=metadata.name!%3Dweb", ("list", "deployments", "shop", "")),
        ("GET", APPS + "/web", ("get", "deployments", "shop", "web")),
        ("GET", APPS + "/web?watch=true", ("get", "deployments", "shop", "web")),
        ("HEAD", APPS + "/web", ("get", "deployments", "shop", "web")),
        ("POST", APPS, ("create", "deployments", "shop", "")),
        ("PUT", APPS + "/web", ("update", "deployments", "shop", "web")),
        ("PATCH", APPS + "/web/status", ("patch", "deployments/status", "shop", "web")),
        ("DELETE", APPS + "/web", ("delete", "deployments", "shop", "web")),
        ("DELETE", APPS, ("deletecollection", "deployments", "shop", "")),
        ("GET", "/api/v1/namespaces", ("list", "namespaces", "", "")),
        ("GET", "/api/v1/namespaces/shop", ("get", "namespaces", "shop", "shop")),
        ("PUT", "/api/v1/namespaces/shop/finalize", ("update", "namespaces/finalize", "shop", "shop")),
        ("GET", "/api/v1/namespaces/shop/pods/a/log", ("get", "pods/log", "shop", "a")),
        ("GET", "/api", ("get", "", "", "")),
        ("GET", "/api/v1", ("get", "", "", "")),
        ("GET", "/apis", ("get", "", "", "")),
        ("GET", "/apis/apps/v1", ("get", "", "", "")),
        ("GET", "/version", ("get", "", "", "")),
        ("POST", "/healthz/a/b/c", ("post", "", "", "")),
    ],
)
def test_requests_are_named_as_in_audit_logs(method: str, target: str, expected: tuple[str, ...]) -> None:
    path, _, query = target.partition("?")
    info = request_info(method, path, query)
    assert (info.verb, info.resource, info.namespace, info.name) == expected


def decided(plan: Plan, *requests: tuple[str, str]) -> list[Action | None]:
    rules = Rules(plan)
    infos = [request_info(method, *target.partition("?")[::2], "kopf/1") for method, target in requests]
    return [rules.decide(info) for info in infos]


@pytest.mark.parametrize(
    ("match", "hit"),
    [
        (Match(), [1]),
        (Match(first=3), [3]),
        (Match(first=2, count=3), [2, 3, 4]),
        (Match(count=None), [1, 2, 3, 4, 5, 6, 7]),
        (Match(count=None, every=3), [3, 6]),
        (Match(first=2, count=4, every=2), [3, 5]),
    ],
)
def test_rule_counts_what_it_is_for(match: Match, hit: list[int]) -> None:
    decisions = decided(Plan((Rule(match, Drop()),)), *[("GET", "/version")] * 7)
    assert [number for number, action in enumerate(decisions, start=1) if action] == hit


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        (Match(verb="create|patch"), [False, True, True]),
        (Match(resource="d*yments"), [True, True, False]),
        (Match(resource="pods|deployments/status"), [False, False, True]),
        (Match(name="we?"), [False, False, True]),
        (Match(namespace="shop"), [True, True, True]),
        (Match(namespace="other"), [False, False, False]),
        (Match(agent="kopf/*"), [True, True, True]),
        (Match(agent="kubectl"), [False, False, False]),
        (Match(query="*selector=a b*"), [True, False, False]),
    ],
)
def test_rule_is_for_requests_that_fit_in_all(match: Match, fits: list[bool]) -> None:
    requests = [("GET", f"{APPS}?selector=a+b"), ("POST", APPS), ("PATCH", f"{APPS}/web/status")]
    assert [bool(decided(Plan((Rule(match, Drop()),)), request)[0]) for request in requests] == fits


def test_first_rule_decides_and_all_count() -> None:
    delay, drop = Delay(1), Drop()
    plan = Plan((Rule(Match(verb="create"), delay), Rule(Match(first=2, count=2), drop)))
    assert decided(plan, *[("POST", APPS)] * 4) == [delay, drop, drop, None]
    assert decided(plan, *[("POST", APPS)] * 4) == [delay, drop, drop, None], (
        "the counters belong to the rules, not to the plan"
    )


@pytest.mark.parametrize("action", [Stream(), Hide("a"), Doubled(), Behind(1)])
def test_what_befalls_reading_leaves_writes_to_later_rules(action: Action) -> None:
    answer = Answer(500)
    plan = Plan((Rule(Match(count=None), action), Rule(Match(count=None), answer)))
    listed = action if isinstance(action, Behind) else answer
    targets = (("GET", APPS), ("GET", f"{APPS}?watch=1"), ("GET", f"{APPS}/web"), ("POST", APPS))
    assert decided(plan, *targets) == [listed, action, answer, answer]


def event(kind: str, version: int = 1, name: str = "web") -> Event:
    said = {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": str(version)}}}
    return read_event(json.dumps(said).encode() + b"\n")


def got(steps: list[Step]) -> list[Any]:
    """Return versions of objects, other lines as text, and the end of the stream."""
    return [step if isinstance(step, End) else step.version or step.text for step in steps]


def passed(shape: Unchanged, *events: Event) -> list[Any]:
    return got(shape.opened() + [step for each in events for step in shape.took(each)])


FOUR = [event("ADDED", 1), event("MODIFIED", 2), event("BOOKMARK", 3), event("DELETED", 4)]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Stream(), [1, 2, 3, 4]),
        (Stream(after=2, inject=("{",)), [1, 2, b"{", 3, 4]),
        (Stream(inject=({"type": "A"}, "b")), [b'{"type": "A"}\n', b"b", 1, 2, 3, 4]),
        (Stream(drop=("BOOKMARK",)), [1, 2, 4]),
        (Stream(after=2, drop=("MODIFIED", "DELETED")), [1, 2, 3]),
        (Stream(after=4, then="close"), [1, 2, 3, 4, End.CLOSE]),
        (Stream(after=3, then="freeze"), [1, 2, 3]),
        (Stream(after=3, then="truncate"), [1, 2, 3, FOUR[3].text[: len(FOUR[3].text) // 2], End.CLOSE]),
        (
            Stream(after=2, then="truncate", drop=("BOOKMARK",)),
            [1, 2, FOUR[3].text[: len(FOUR[3].text) // 2], End.CLOSE],
        ),
    ],
)
def test_stream_does_what_is_said_after_some_lines(fault: Stream, expected: list[Any]) -> None:
    assert passed(Faulty(fault), *FOUR) == expected


@pytest.mark.parametrize(("then", "end"), [("close", End.CLOSE), ("reset", End.RESET)])
def test_stream_ends_before_any_line(then: str, end: End) -> None:
    assert got(Faulty(Stream(inject=("x",), then=then)).opened()) == [b"x", end]


def test_frozen_stream_holds_its_lines_and_its_end() -> None:
    shape = Faulty(Stream(after=1, then="freeze"))
    assert passed(shape, *FOUR) == [1]
    assert shape.ended(End.CLOSE) == []
    assert got(shape.lifted()) == [2, 3, 4, End.CLOSE]


def test_server_behind_shows_nothing_later_and_keeps_the_order() -> None:
    shape = AsOf(2)
    assert passed(shape, event("ADDED", 1), event("ADDED", 2), event("ADDED", 3), event("ADDED", 1)) == [1, 2]
    assert got(shape.lifted()) == [3, 1]
    assert AsOf(2).ended(End.CLOSE) == [End.CLOSE]


def test_event_is_hidden_until_the_one_that_cancels_it() -> None:
    shape = Hiding(Hidden(Hide("web", event="MODIFIED")))
    events = [event("ADDED", 1), event("MODIFIED", 2), event("MODIFIED", 3, "other"), event("MODIFIED", 4)]
    assert passed(shape, *events, event("MODIFIED", 5)) == [1, 3, 4, 5]


def test_hiding_goes_on_to_what_ends_it() -> None:
    shape = Hiding(Hidden(Hide("w*", event="MODIFIED", until="ADDED")))
    events = [event("MODIFIED", 1), event("BOOKMARK", 2), event("DELETED", 3), event("ADDED", 4, "wap")]
    assert passed(shape, *events, event("ADDED", 5)) == [2, 4, 5]


def test_several_events_are_hidden() -> None:
    shape = Hiding(Hidden(Hide("web", events=2)))
    assert passed(shape, *[event("MODIFIED", version) for version in (1, 2, 3, 4)]) == [3, 4]


def test_hiding_outlives_a_stream() -> None:
    hide = Hide("web", event="MODIFIED")
    rules = Rules(Plan((Rule(Match(count=None), hide),)))
    assert passed(rules.shape(hide), event("MODIFIED", 2)) == []
    assert passed(rules.shape(hide), event("MODIFIED", 3), event("MODIFIED", 4)) == [3, 4]
    assert passed(rules.shape(hide), event("MODIFIED", 2), event("MODIFIED", 4)) == [4]


def test_events_come_twice() -> None:
    assert passed(Repeating(Doubled()), *FOUR) == [1, 1, 2, 2, 3, 4, 4]


def test_pairs_are_swapped_and_none_is_lost() -> None:
    shape = Repeating(Doubled(swapped=True))
    assert passed(shape, *FOUR) == [2, 1, 3]
    assert got(shape.ended(End.CLOSE)) == [4, End.CLOSE]
    assert got(shape.lifted()) == []


def test_line_that_is_no_event_is_passed_on() -> None:
    assert [read_event(text) for text in (b"x\n", b"[]\n")] == [Event(b"x\n"), Event(b"[]\n")]


def test_a_rule_can_ask_for_the_text_of_the_body() -> None:
    rules = Rules(Plan((Rule(Match(verb="update", body='*"holderIdentity": ""*'), Drop()),)))
    renewal, release = (
        replace(request_info("PUT", APPS + "/web"), body_text=f'{{"spec": {{"holderIdentity": "{holder}"}}}}')
        for holder in ("a", "")
    )
    assert [rules.decide(info) for info in (renewal, release)] == [None, Drop()]
