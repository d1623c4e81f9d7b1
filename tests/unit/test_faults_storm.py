"""A storm of the fault suite: the time of all writes depends on the machine, that of one write has a limit."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from fault_engine import editing
from fault_engine.script import Edit, Storm

SLOW, STUCK = (Edit("deployments", name, {}) for name in ("slow", "stuck"))


def played(monkeypatch: pytest.MonkeyPatch, *writers: tuple[Edit, ...]) -> tuple[str, int]:
    """Return the line of a storm with 25 writes of each writer, and the number of edits counted for the oracles."""
    monkeypatch.setattr(editing, "_WRITE_SECONDS", 0.8)
    released = threading.Event()
    sent: dict[str, int] = dict.fromkeys(("slow", "stuck"), 0)

    def edit(_: Any, step: Edit, __: Any) -> None:
        sent[step.name] += 1
        released.wait(30.0 if step.name == "stuck" and sent["stuck"] == 3 else 0.04)

    monkeypatch.setattr(editing, "edit", edit)
    stand: Any = SimpleNamespace(cluster=SimpleNamespace(pykube=lambda: None), edits=0)
    try:
        return editing.storm(stand, Storm(writers, table=0, rounds=25), 0.0), stand.edits
    finally:
        released.set()


@pytest.mark.thorough
def test_a_storm_lasts_as_long_as_its_writers_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    line, edits = played(monkeypatch, (SLOW,), (SLOW,))
    assert line.startswith("2 writers sent 50 writes in ")
    assert edits == 50


@pytest.mark.thorough
def test_a_writer_that_is_stuck_ends_the_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        played(monkeypatch, (SLOW,), (STUCK,))
    assert [str(each) for each in raised.value.exceptions] == ["writer 1 is stuck after 2 writes"]
