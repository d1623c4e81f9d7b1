"""Progress of long operations: refreshed on a terminal, rare lines elsewhere."""

import io

import pytest

from cluster.progress import Heartbeat


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_without_a_terminal_there_is_a_line_every_twenty_seconds(clock: list[float]) -> None:
    told: list[str] = []
    with Heartbeat(told.append) as heartbeat:
        for second in range(1, 46):
            clock[0] = 100.0 + second
            heartbeat.beat(f"{second} packages")
    assert told == ["20 packages (20 s)", "40 packages (40 s)"]


def test_a_terminal_has_one_line_that_is_refreshed_and_then_cleared(clock: list[float]) -> None:
    told: list[str] = []
    terminal = io.StringIO()
    with Heartbeat(told.append, terminal) as heartbeat:
        clock[0] += 0.1
        heartbeat.beat("too soon")
        clock[0] += 0.9
        heartbeat.beat("halfway")
    assert terminal.getvalue() == "\r\x1b[Khalfway (1 s)\r\x1b[K"
    assert told == []
