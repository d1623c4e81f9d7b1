"""Golden outputs of the plugin."""

import os
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden" / "plugin"


def assert_golden(name: str, text: str) -> None:
    """Compare an output with its golden file; `UPDATE_GOLDEN=1` writes it."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
