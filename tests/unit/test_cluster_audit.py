"""Reading the API server's audit log."""

import io
import json
from pathlib import Path

import pytest

from cluster.audit import AuditLog, parse_event, read_audit


def line(name: str, **changes: object) -> str:
    document = {
        "kind": "Event",
        "auditID": "7",
        "stage": "ResponseComplete",
        "requestURI": f"/apis/apps/v1/namespaces/shop/deployments/{name}/status?x=1",
        "verb": "patch",
        "user": {"username": "system:serviceaccount:shop:operator"},
        "userAgent": "coxswain",
        "objectRef": {
            "resource": "deployments",
            "namespace": "shop",
            "name": name,
            "apiGroup": "apps",
            "subresource": "status",
        },
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": "2999-01-02T03:04:05.678901Z",
    }
    return json.dumps({**document, **changes})


def test_an_event_says_who_did_what_with_which_result() -> None:
    event = parse_event(line("web"))
    assert (event.user, event.agent) == ("system:serviceaccount:shop:operator", "coxswain")
    assert (event.verb, event.group, event.resource, event.subresource) == ("patch", "apps", "deployments", "status")
    assert (event.namespace, event.name, event.code) == ("shop", "web", 200)
    assert (event.stage, event.time) == ("ResponseComplete", "2999-01-02T03:04:05.678901Z")


def test_a_path_outside_of_the_api_has_no_object() -> None:
    event = parse_event(line("web", objectRef=None, requestURI="/version"))
    assert (event.resource, event.name, event.uri) == ("", "", "/version")


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"kind": "Policy"}'])
def test_what_is_no_event_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_event(text)


def test_a_mark_within_a_line_leaves_that_line_out(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(line("one") + "\n" + line("two")[:40], encoding="utf-8")
    mark = AuditLog(log)
    assert mark.events() == []
    with log.open("a", encoding="utf-8") as more:
        more.write(line("two")[40:90])
    assert mark.events() == []
    with log.open("a", encoding="utf-8") as more:
        more.write(line("two")[90:] + "\n" + line("three") + "\n")
    assert [event.name for event in mark.events()] == ["three"]
    assert mark.events() == []


def test_a_line_that_grows_during_the_read_is_left_out_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "audit.log"
    log.write_text(line("one") + "\n" + line("two")[:40], encoding="utf-8")
    mark = AuditLog(log)
    rest = [line("two")[40:90], line("two")[90:] + "\n" + line("three") + "\n"]

    class Growing(io.FileIO):
        """The server writes the next piece after the first read."""

        grown = False

        def readline(self, size: int | None = -1) -> bytes:
            return self._then_grows(super().readline(size))

        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            return self._then_grows(data) if size == -1 else data

        def _then_grows(self, data: bytes) -> bytes:
            if rest and not self.grown:
                self.grown = True
                with io.FileIO(str(log), "ab") as more:
                    more.write(rest.pop(0).encode())
            return data

    monkeypatch.setattr(Path, "open", lambda path, _: Growing(str(path)))
    found = [event.name for _ in range(3) for event in mark.events()]
    assert (found, rest) == (["three"], [])


def test_a_line_that_is_still_being_written_waits_for_its_end(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(line("one") + "\n" + line("two")[:40], encoding="utf-8")
    events, offset = read_audit(log)
    assert [event.name for event in events] == ["one"]
    assert read_audit(log, offset) == ([], offset)
    with log.open("a", encoding="utf-8") as more:
        more.write(line("two")[40:] + "\n" + line("thrée") + "\n")
    events, offset = read_audit(log, offset)
    assert [event.name for event in events] == ["two", "thrée"]
    assert offset == log.stat().st_size


def test_a_request_that_arrived_before_the_mark_is_not_its_own(tmp_path: Path) -> None:
    """The server logs a request after its response, and so after the mark of the client that received the response."""
    path = tmp_path / "audit.log"
    mark = AuditLog(path)
    late = line("late", requestReceivedTimestamp="2026-01-02T03:04:05.678901Z")
    path.write_text(late + "\n" + line("one") + "\n", encoding="utf-8")
    assert [event.name for event in mark.events()] == ["one"]


def test_a_mark_sees_what_comes_after_it_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    early = AuditLog(path)
    assert early.events() == []
    path.write_text(line("one") + "\n", encoding="utf-8")
    mark = AuditLog(path)
    with path.open("a", encoding="utf-8") as more:
        more.write(line("two") + "\n")
    assert [event.name for event in mark.events()] == ["two"]
    assert mark.events() == []
    assert [event.name for event in early.events()] == ["one", "two"]
