"""The metrics take at most two percent of the CPU time of the operator."""

import pytest

from bench.metrics_share import share

LIMIT_PERCENT = 2.0


@pytest.mark.slow
def test_the_share_of_the_metrics_is_small() -> None:
    """Both times are of one process, so the ratio depends little on the speed of the machine."""
    lines: list[str] = []
    found = share(lines.append)
    print(*lines, sep="\n")
    assert 0.1 < found < LIMIT_PERCENT
