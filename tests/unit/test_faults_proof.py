"""The proof that a test can fail: valid proofs, and breaks that remove nothing from the operator."""

import re
from pathlib import Path
from typing import Any

import pytest

from fault_engine.lives import CREATE, PEACE, life
from fault_engine.proof import (
    Break,
    Caught,
    Unproved,
    errors_of_the_break,
    found_without,
    judge_failure,
    script_without,
    violated,
)
from fault_engine.script import Lift, Script, Settle
from faults import breaks


def _break(**more: Any) -> Break:
    return Break("none", "it lacks nothing", lambda: None, **more)


def test_each_break_still_takes_something_from_the_operator() -> None:
    failed: dict[str, Exception] = {}
    for name, broken in breaks.known().items():
        try:
            broken.apply()
        except Exception as error:  # noqa: BLE001 - of every break that fails, the test names the error
            failed[name] = error
        finally:
            breaks.undo()
    assert failed == {}


def test_each_fault_test_names_an_existing_break() -> None:
    folder = Path(__file__).parents[1] / "faults"
    named = {name for file in folder.glob("*.py") for name in re.findall(r'broken="([^"]+)"', file.read_text("utf-8"))}
    assert len(named) > 50
    assert named <= breaks.known().keys()


class _Part:
    async def ask(self, one: int, *, two: int) -> int:
        return one + two

    def plain(self, one: int) -> int:
        return one


def test_a_break_whose_target_is_gone_fails() -> None:
    with pytest.raises(LookupError, match="_Part has no asked"):
        breaks.put(_Part, asked=lambda *_: 0)


async def _asks_for_less(*_: Any) -> int:
    return 0


@pytest.mark.parametrize(
    ("name", "part"), [("ask", lambda *_, **__: 0), ("ask", _asks_for_less), ("plain", lambda _: 0)]
)
def test_a_break_that_cannot_be_called_alike_fails(name: str, part: Any) -> None:
    with pytest.raises(TypeError, match=f"_Part.{name}"):
        breaks.put(_Part, **{name: part})


def test_what_was_taken_is_given_back() -> None:
    plain = _Part.plain
    breaks.put(_Part, plain=lambda *_: 0)
    assert _Part.plain is not plain
    breaks.undo()
    assert _Part.plain is plain


def test_the_script_without_its_faults() -> None:
    faulty: Script = (*CREATE, Lift(), Settle())
    assert script_without(_break(), faulty, None) == (*CREATE, Settle())
    assert script_without(_break(), faulty, life()) == life()
    assert script_without(_break(passes=PEACE), faulty, life()) == PEACE
    assert script_without(_break(always=True), life(), life()) == life()
    with pytest.raises(Unproved, match="the script has no faults"):
        script_without(_break(), life(), life())


def test_a_break_that_is_always_wrong_is_judged_by_the_other_oracles() -> None:
    found = ["O1: x", "O3: y"]
    assert found_without(_break(always=True), found, ["O3"]) == ["O1: x"]
    assert found_without(_break(), found, ["O3"]) == found


def test_only_the_named_oracle_counts() -> None:
    by_o1 = ["step 4: after 25 s O1: there is no O5: x", "O3: it does not come to rest"]
    assert violated(by_o1) == {"O1", "O3"}
    assert isinstance(judge_failure(["O3"], by_o1, "told"), Caught)
    assert isinstance(judge_failure(["O5"], by_o1, "told"), Unproved)
    assert isinstance(judge_failure(["test"], by_o1, "told"), Unproved)
    assert isinstance(judge_failure(["test"], [], "told"), Caught)
    assert isinstance(judge_failure(["O1"], [], "told"), Unproved)


def test_errors_of_the_code_are_none_of_the_faults() -> None:
    log = """Traceback (most recent call last):
  File "x.py", line 1
  | TypeError: <lambda>() got an unexpected keyword argument 'at_least'
RuntimeError: no connection
ERROR the API server said AttributeError
"""
    assert errors_of_the_break(log) == ["| TypeError: <lambda>() got an unexpected keyword argument 'at_least'"]
