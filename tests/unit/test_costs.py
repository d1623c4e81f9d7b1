"""The cost of large content, counted instead of timed."""

import hashlib
import time
from typing import Any

import pytest

from rendered import desired
from unit.objects import webapp

FILES = [{"path": f"/etc/f{number}", "content": "x" * 12_000} for number in range(60)]
CONFIG = {f"K{number}": "v" * 100 for number in range(256)}


def test_content_is_hashed_once_however_many_variables_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    sha256 = hashlib.sha256

    def counted(content: bytes) -> Any:
        hashed.append(len(content))
        return sha256(content)

    monkeypatch.setattr(hashlib, "sha256", counted)
    app = webapp(files=FILES, config=CONFIG)
    began = time.process_time()
    first = desired(app)
    print(f"720 kB of files and 256 names: {1000 * (time.process_time() - began):.1f} ms")
    assert sum(size > 1000 for size in hashed) == 1
    assert desired(app) == first
    assert sum(size > 1000 for size in hashed) == 1
