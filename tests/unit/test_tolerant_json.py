"""Tolerant JSON: every value of the API server is decoded, without the values that are nested too deeply."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects import tolerant_json
from coxswain.kernel.objects.projection import LEVELS_LIMIT
from coxswain.kernel.objects.tolerant_json import DIGITS_KEPT, LEVELS_KEPT, loads, parsable

TEXTS = st.text(st.sampled_from('a[]{}"\\\n\u00e9'), max_size=4)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3),
    max_leaves=20,
)


def nested(levels: int) -> bytes:
    return b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


def depth(value: Any) -> int:
    """Return the levels of a value, without recursion."""
    levels, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        levels += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return levels


def cut(value: Any, levels: int) -> Any:
    """Return a value with null in place of each list and object below so many levels: the expected result."""
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return None
    if isinstance(value, list):
        return [cut(item, levels - 1) for item in value]
    return {key: cut(item, levels - 1) for key, item in value.items()}


@given(VALUES, st.integers(1, 4))
def test_values_below_the_limit_become_null_and_all_others_stay(value: Any, levels: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tolerant_json, "LEVELS_KEPT", levels)
        assert json.loads(parsable(json.dumps(value, ensure_ascii=False).encode())) == cut(value, levels)


@pytest.mark.parametrize("levels", [1, 700, 10_000, 100_000])
def test_json_of_any_depth_is_decoded(levels: int) -> None:
    assert depth(loads(nested(levels))) == (levels if levels <= 700 else LEVELS_KEPT)
    assert depth(json.loads(parsable(nested(levels)))) == min(levels, LEVELS_KEPT)


def test_an_object_with_left_out_values_is_still_too_deep_for_the_projector() -> None:
    """Otherwise a part of it would look like the whole."""
    assert LEVELS_KEPT > LEVELS_LIMIT


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert loads(b'{"a":"\xff"}') == {"a": "\ufffd"}
    assert json.loads(parsable(b'{"a":"\xff"}').decode()) == {"a": "\ufffd"}


@pytest.mark.parametrize("digits", [DIGITS_KEPT + 1, 4301, 100_000])
@pytest.mark.parametrize("text", ["#", "[#]", '{"a":#,"b":-#}', "[1, # ,2]", '{"a":[-#,{"b":#}],"c":"@"}'])
def test_a_long_integer_becomes_null_and_all_else_stays(text: str, digits: int) -> None:
    """An integer of more than 4300 digits is an error of the parser. It blocked each LIST, and ended all watches."""
    long = "1" * digits
    payload = text.replace("#", long).replace("@", long).encode()
    expected = json.loads(text.replace("-#", "null").replace("#", "null").replace("@", long))
    assert json.loads(parsable(payload)) == expected
    if digits > 4300:
        assert loads(payload) == expected


def test_a_shorter_integer_stays() -> None:
    payload = f"[{'1' * DIGITS_KEPT}]".encode()
    assert parsable(payload) == payload
    assert loads(payload) == [int("1" * DIGITS_KEPT)]


@pytest.mark.parametrize("number", [f"0.{'1' * 5000}", f"{'1' * 5000}.5", f"{'1' * 5000}e-4990", f"1e-{'1' * 5000}"])
def test_a_number_with_a_fraction_or_an_exponent_stays(number: str) -> None:
    assert parsable(number.encode()).decode() == number
    assert loads(number.encode()) == float(number)


UNCLOSED = b"[" * LEVELS_KEPT + b"[1]," + b"[" * 2000


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[" * 2000, b'{"a":"' + b"[" * 2000, nested(2000) + b"}", b"[}" * 2000, UNCLOSED]
)
def test_text_that_is_not_json_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match="line 1 column"):
        loads(text)
