"""Quotations: bounded, on one line, and compared without their numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects.quote import LOG_LIMIT, TEXT_LIMIT, abridged, last_lines, quoted, without_numbers


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        ("", ""),
        ("\n\n", ""),
        ("one\ntwo\r\n\n", "one | two"),
        ("\x1b[31mred\x1b[0m\x00\ttext\x1b[2K\n", "red text"),
        (f"first\n{'x' * 298}\n", "x" * 298),
        (f"{'x' * 200}\n{'y' * 200}\nz", f"{'y' * 200} | z"),
        (f"start {'x' * 500} end", f"{'x' * 296} end"),
    ],
)
def test_the_last_whole_lines_of_a_log_are_kept(log: str, shown: str) -> None:
    assert last_lines(log) == shown


def test_of_a_long_text_both_ends_are_kept() -> None:
    assert abridged("a\nshort  one") == "a short one"
    assert abridged("from " + "x" * 1000 + " to") == "from " + "x" * 295 + " ... " + "x" * 297 + " to"


@given(st.text())
def test_what_is_quoted_is_one_line_within_its_limit(text: str) -> None:
    for shown, limit in ((last_lines(text), LOG_LIMIT), (abridged(text), TEXT_LIMIT + 5)):
        assert len(shown) <= limit
        assert shown.isprintable()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2026-01-01T11:59:00.123Z panic at 0xc000123", "2026-01-02T03:04:05Z panic at 0xdead00", False),
        ("2026-01-01T11:59:00.123Z panic at 0xc000123", "2027-12-31T03:04:05.9Z panic at 0xdead00", True),
        (
            "read udp 10.0.0.5:41514->10.0.0.10:53: i/o timeout",
            "read udp 10.0.1.6:999->10.0.0.10:53: i/o timeout",
            True,
        ),
        ("no DATABASE_URL", "no CACHE_URL", False),
        ("out of memory", "", False),
    ],
)
def test_two_quotations_say_the_same_if_only_numbers_differ(one: str, other: str, same: bool) -> None:
    assert (without_numbers(quoted("1 of 2", one)) == without_numbers(quoted("1 of 2", other))) is same


def test_numbers_of_our_own_count() -> None:
    assert without_numbers(quoted("1 of 2", "x")) != without_numbers(quoted("2 of 2", "x"))
    assert without_numbers("exit code 1") == "exit code 1"
