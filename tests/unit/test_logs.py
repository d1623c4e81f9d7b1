"""Log entries name the parent, in text and in JSON. Kopf's entries are short."""

import json
import logging
from collections.abc import Iterator

import pytest

from coxswain.logs import about, configure


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "text")
    with about("scheduledtask", "shop/web"):
        logging.getLogger("coxswain.x").info("created %s", "it")
    logging.getLogger("coxswain.x").debug("hidden")
    line = capsys.readouterr().err
    assert "info    scheduledtask=shop/web logger=coxswain.x created it" in line
    assert "hidden" not in line


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure("warning", "json")
    with about("webapp", "shop/web"):
        logging.getLogger("coxswain.x").warning("ümlaut")
    entry = json.loads(capsys.readouterr().err)
    assert {key: entry[key] for key in ("level", "webapp", "message")} == {
        "level": "warning",
        "webapp": "shop/web",
        "message": "ümlaut",
    }


def test_kopf_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "text")
    kopf = logging.getLogger("kopf.reactor")
    kopf.warning("OS signals are ignored: running not in the main thread.")
    try:
        raise ValueError("deep")
    except ValueError:
        kopf.exception("the watcher failed")
    printed = capsys.readouterr().err
    assert "the watcher failed" in printed
    assert "Traceback" not in printed
    assert "OS signals" not in printed


HOSTILE = "no\n2026-01-01T00:00:00.000Z info    logger=coxswain.x forged\r\x1b[2J\x7f\x9b\u202e\u2028 ümlaut"


def test_a_text_entry_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """S9: a foreign message cannot forge an entry or control the terminal that shows it."""
    configure("info", "text")
    with about("scheduledtask", "shop/web"):
        logging.getLogger("coxswain.x").info("refused: %s", HOSTILE)
    (line,) = capsys.readouterr().err.splitlines()
    assert r" refused: no\n2026-01-01T00:00:00.000Z info    logger=coxswain.x forged\r\u001b[2J" in line
    assert line.endswith(r"\u007f\u009b\u202e\u2028 ümlaut")
    assert line.isprintable()


def test_a_traceback_follows_its_entry_indented(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "text")
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("coxswain.x").exception("a defect")
    first, *lines = capsys.readouterr().err.splitlines()
    assert first.endswith("a defect")
    assert "Traceback" in lines[0]
    assert any("forged" in line for line in lines)
    assert all(line.startswith("    ") and line.isprintable() for line in lines)


def test_json_shows_no_control_character_and_loses_none(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json")
    logging.getLogger("coxswain.x").info("refused: %s", HOSTILE)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert json.loads(line)["message"] == f"refused: {HOSTILE}"
