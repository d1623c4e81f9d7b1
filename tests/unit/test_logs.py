"""Logs name the WebApp, in text and in JSON; Kopf's are short."""

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
    with about("shop/web"):
        logging.getLogger("coxswain.x").info("created %s", "it")
    logging.getLogger("coxswain.x").debug("hidden")
    line = capsys.readouterr().err
    assert "info    webapp=shop/web logger=coxswain.x created it" in line
    assert "hidden" not in line


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure("warning", "json")
    with about("shop/web"):
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
