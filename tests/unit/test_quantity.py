"""Quantities in their canonical form. tests/integration/test_equality.py compares with the API server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects.quantity import canonical

UNITS = ["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "e3", "E3", "e-3"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.1Ki", "102400m"),
        ("100.5m", "101m"),
        (1, "1"),
        ("2048", "2048"),
        ("1e3", "1e3"),
        ("1000000k", "1G"),
        ("0Mi", "0"),
        ("1.", "1"),
        ("0.0000000001", "1m"),
        ("1001u", "2m"),
    ],
)
def test_examples(text: str | int, expected: str) -> None:
    assert canonical(text) == expected


@given(st.integers(0, 10**6), st.sampled_from(UNITS))
def test_canonical_is_canonical(number: int, unit: str) -> None:
    once = canonical(f"{number}{unit}")
    assert canonical(once) == once


@pytest.mark.parametrize("text", ["", "one", "1 Gi", "1KiB", "--1", "."])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity: write a number"):
        canonical(text)
