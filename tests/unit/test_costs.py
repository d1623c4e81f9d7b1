"""The cost of large content, counted instead of timed."""

import cProfile
import hashlib
import time
from typing import Any

import pytest

from rendered import desired
from unit.bench import Bench
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


def calls_of_a_reconcile(names: int) -> int:
    """Return the number of function calls of a reconcile that finds nothing to do."""
    bench = Bench()
    env = [{"name": f"E{number}", "value": "v"} for number in range(names)]
    bench.webapp(config={f"K{number}": "v" for number in range(names)}, env=env)
    bench.run()
    bench.roll_out()
    bench.run()
    profile = cProfile.Profile()
    profile.runcall(bench.run)
    assert not bench.writer.sent
    return sum(entry.callcount for entry in profile.getstats())


def test_a_reconcile_is_linear_in_the_number_of_variables() -> None:
    """K20: each variable was compared with each other one, 0.6 s with as many as the schema allows."""
    few, many = calls_of_a_reconcile(64), calls_of_a_reconcile(256)
    print(f"calls: {few} with 2 * 64 variables, {many} with 2 * 256")
    assert many < 4.5 * few
