"""The judgement of F18: the terms of leadership, and writes outside of them."""

from collections.abc import Sequence

from fault_engine.history import History, Request
from faults.terms import acquired, check, late_writes, terms

DEADLINE = 4.0


def request(at: float, resource: str, holder: str | None = None, status: int | None = 200) -> Request:
    """Return a write; `holder` is that of a Lease."""
    body = {"spec": {"holderIdentity": holder}} if holder is not None else {}
    return Request(
        number=0,
        at=at,
        verb="update",
        resource=resource,
        namespace="",
        name="web",
        query={},
        agent="",
        body=body,
        status=status,
        server_status=status,
    )


def said(first: Sequence[Request], second: Sequence[Request] = ()) -> list[str]:
    """Return the violations of two replicas."""
    histories = {"first": History(list(first)), "second": History(list(second))}
    return [violation.what for violation in check(histories, DEADLINE)]


def test_a_write_within_the_deadline_of_a_renewal_is_allowed_and_a_later_one_is_late() -> None:
    renewal = request(10, "leases", "a")
    assert said([renewal, request(13.9, "services")]) == []
    assert said([renewal, request(15, "services")]) == [
        "first wrote without leadership: update of services web, status 200"
    ]
    assert len(late_writes(History([request(9, "services"), renewal]), DEADLINE)) == 1


def test_a_refused_renewal_extends_nothing() -> None:
    assert terms(History([request(10, "leases", "a", 409), request(11, "leases", "a", None)]), DEADLINE) == []


def test_a_release_ends_the_leadership() -> None:
    released = [request(10, "leases", "a"), request(11, "leases", "")]
    assert said(released, [request(11.1, "leases", "b"), request(11.2, "services")]) == []
    assert len(said([*released, request(12, "services")])) == 1


def test_two_leaders_at_a_time_are_a_violation() -> None:
    found = said([request(9.5, "leases", "a"), request(10, "leases", "a")], [request(13, "leases", "b")])
    assert found == ["second acquired the Lease before the end of first's leadership, by 1.0 s"]
    assert said([request(10, "leases", "a")], [request(14, "leases", "b")]) == []


def test_the_time_of_an_acquisition() -> None:
    history = History([request(10, "leases", "a"), request(20, "leases", "a")])
    assert acquired(history, 11) == 20
    assert acquired(history, 21) is None


def test_of_several_leases_one_decides() -> None:
    """A replica that holds a slot may not write to the namespaces of another one."""
    history = History([request(10, "leases", "a"), request(11, "services")])
    assert late_writes(history, DEADLINE, "web") == []
    assert [late.at for late in late_writes(history, DEADLINE, "other")] == [11]
    assert acquired(history, 0.0, "web") == 10
    assert acquired(history, 0.0, "other") is None
