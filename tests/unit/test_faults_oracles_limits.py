"""O7 and O8: too many requests, retries too early, and secrets in wrong places."""

import dataclasses
from collections.abc import Callable

import pytest

from fault_engine.oracles import bounds, check
from unit.faulty_runs import Run, Thing, changed, good


def found(run: Run, oracle: str) -> list[str]:
    return [violation.what for violation in check(run.evidence(), good("other", 2).evidence(), [oracle])]


def test_too_many_writes_about_a_webapp() -> None:
    run = good()
    for number in range(26):
        run.now += 10
        answer = {"metadata": {"resourceVersion": str(number)}}
        run.write("patch", "services", answer=answer, body=run.thing("services", "web"))
    sentence = "31 writes for WebApp web; the reference has 5, and the limit with 0 faults is 25"
    assert found(run, "O7") == [sentence]
    assert bounds.check(run.evidence(faults=1), good("other", 2).evidence()) == []


@pytest.mark.parametrize(("edits", "violations"), [(19, 1), (20, 0)])
def test_the_budget_of_a_storm_is_one_write_for_each_edit(edits: int, violations: int) -> None:
    run = good()
    for number in range(40):
        run.now += 10
        answer = {"metadata": {"resourceVersion": str(number)}}
        run.write("patch", "services", answer=answer, body=run.thing("services", "web"))
    assert len(bounds.check(run.evidence(edits=edits), good("other", 2).evidence())) == violations


def test_a_hot_loop() -> None:
    run = good()
    for _ in range(31):
        run.now += 0.3
        run.ask("get", "services", answer={})
    (sentence,) = found(run, "O7")
    assert sentence == "get of services web: more than 30 requests without a change within 10 s; the last status is 200"


def test_slow_tries_and_writes_that_get_on_are_no_hot_loop() -> None:
    run = good()
    for number in range(40):
        run.now += 0.1
        run.ask("patch", "webapps/status", answer={"metadata": {"resourceVersion": str(number)}})
    for _ in range(40):
        run.now += 0.5
        run.ask("get", "services", answer={})
    assert bounds.check(run.evidence(faults=9), good("other", 2).evidence()) == []


def test_what_was_read_for_a_write_that_gets_on_is_no_hot_loop() -> None:
    run = good()
    for number in range(40):
        run.now += 0.1
        run.ask("get", "services", answer={})
        run.ask("patch", "services", answer={"metadata": {"resourceVersion": str(number)}})
    assert bounds.check(run.evidence(faults=9), good("other", 2).evidence()) == []


def test_a_ledger_without_end() -> None:
    run = good()
    for entries in (32, 33, 1):
        run.now += 10
        status = {"drift": [{"field": str(number)} for number in range(entries)]}
        run.write("patch", "webapps/status", body={"metadata": {"name": "web"}, "status": status})
    assert found(run, "O7") == ["33 entries in the drift ledger of WebApp web; the maximum is 32"]


@pytest.mark.parametrize(
    ("seconds", "agent", "restart", "violations"),
    [
        (4, "coxswain", False, 1),
        (4.6, "coxswain", False, 0),
        (1, "kopf", False, 0),
        (1, "coxswain", True, 0),
    ],
)
def test_retry_after(seconds: float, agent: str, restart: bool, violations: int) -> None:
    run = good()
    run.ask("patch", "services", status=429, fault="Answer(status=429, retry_after=5)")
    run.now += 0.002
    if restart:
        run.mark("operator killed")
    run.now += seconds
    run.ask("patch", "services", agent=agent)
    sentences = found(run, "O7")
    assert len(sentences) == violations
    assert all("was repeated after 4.00 s, in spite of Retry-After: 5" in sentence for sentence in sentences)


def test_writes_answered_with_retry_after_do_not_count_if_they_wait() -> None:
    """An API server that answers like this for two minutes gets more writes than any number of faults allows."""
    run = good()
    for _ in range(60):
        run.ask("patch", "services", status=429, fault="Answer(status=429, retry_after=1)")
        run.now += 1.1
    assert found(run, "O7") == []
    for _ in range(60):
        run.now += 1.1
        run.ask("patch", "services", status=429)
    (sentence,) = found(run, "O7")
    assert sentence.startswith("65 writes for WebApp web; ")


def _log(run: Run, text: str) -> list[str]:
    evidence = dataclasses.replace(run.evidence(), logs=text, pages=[text], secrets=("", 'hu"sh/'))
    return [violation.what for violation in check(evidence, None, ["O8"])]


@pytest.mark.parametrize("text", ['hu"sh/', r"a hu\"sh/ b", "aHUic2gv", "hu%22sh%2F"])
def test_a_secret_in_log_and_page(text: str) -> None:
    assert _log(good(), text) == [
        "secret value 1 of 1 is in the log",
        "secret value 1 of 1 is in page 1 that the operator served",
    ]
    assert _log(good(), "hush") == []


@pytest.mark.parametrize(
    ("resource", "name", "change", "path"),
    [
        ("configmaps", "web-1", lambda thing: thing["data"].update(B="a hush b"), "configmaps/web-1: data.B"),
        (
            "webapps",
            "web",
            lambda thing: thing["status"]["conditions"][0].update(message="hush"),
            "webapps/web: status.c",
        ),
        (
            "services",
            "web",
            lambda thing: thing["metadata"].update(annotations={"hush": ""}),
            "services/web: a key of meta",
        ),
    ],
)
def test_a_secret_in_an_object(resource: str, name: str, change: Callable[[Thing], object], path: str) -> None:
    run = good()
    changed(run, resource, name, change)
    (sentence,) = found(run, "O8")
    assert sentence.startswith(f"secret value 1 of 1 is in {path}")
    assert "hush" not in sentence


def test_a_secret_that_was_sent_and_secrets_that_were_read() -> None:
    run = good()
    run.ask("patch", "configmaps", "web-2", body={"data": {"A": ["hush"]}}, status=None)
    run.write("list", "secrets", "", status=403)
    assert found(run, "O8") == [
        "secret value 1 of 1 is in the body or query of patch of configmaps web-2: body.data.A[0]",
        "the operator read Secrets: list of secrets , status 403",
    ]
