"""The proof that a test can fail: it runs on a deliberately broken operator, and the named oracle must reject the run.

Three conditions must hold. The broken operator survives the script without its faults, so the fault causes the failure.
The named oracle detects the break. The operator's process stays alive, and its log has no error of the break's code.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fault_engine.script import Script, without_faults

OF_THE_TEST = "test"
"""Stands for an assertion of the test itself, in place of an oracle."""
_ORACLE = re.compile(r"\b(O[1-8]): ")
_ERRORS = ("TypeError", "AttributeError", "NameError", "KeyError", "IndexError", "ImportError", "UnboundLocalError")
_ERROR = re.compile(rf"^\s*\|?\s*(?:{'|'.join(_ERRORS)})\b.*$", re.MULTILINE)


@dataclass(frozen=True)
class Break:
    """An operator without one mechanism."""

    name: str
    what: str
    """The missing mechanism, in half a sentence, for docs/faults.md."""
    apply: Callable[[], None]
    passes: Script | None = None
    """The script that the broken operator survives; None for the script of the test without its faults."""
    always: bool = False
    """Whether one oracle rejects every script. All other oracles must then pass without faults."""


class Caught(AssertionError):
    """The broken operator failed as required."""


class Unproved(RuntimeError):
    """The run proves nothing: the break has no effect, or the failure has another cause."""


def script_without(broken: Break, script: Script, without: Script | None) -> Script:
    """Return the script that a broken operator must survive: `passes`, `without`, or the script without its faults.

    Raises:
        Unproved: the script has no faults, and the break names no script in `passes`.
    """
    if broken.passes is not None:
        return broken.passes
    if without is not None and without != script:
        return without
    plain = without_faults(script)
    if plain == script and not broken.always:
        raise Unproved(f"{broken.name}: the script has no faults; the break must name a script in `passes`")
    return plain


def found_without(broken: Break, violations: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return the violations in a run without faults, except those that `always` allows."""
    return [found for found in violations if not (broken.always and violated([found]) & set(named))]


def violated(violations: Sequence[str]) -> set[str]:
    """Return the oracles named in violations."""
    return {found for violation in violations for found in _ORACLE.findall(violation)[:1]}


def judge_failure(named: Sequence[str], violations: Sequence[str], assertion: str) -> Caught | Unproved:
    """Tell whether a failure on a broken operator proves the test.

    Args:
        named: the oracles of which one must have detected the break, or `test` for an assertion of the test itself.
        violations: all violations in the test's runs.
        assertion: the message of the test's failed assertion.
    """
    found = violated(violations)
    if found & set(named) or (not found and OF_THE_TEST in named):
        return Caught(assertion)
    by = ", ".join(sorted(found)) or "an assertion of the test"
    return Unproved(f"{' or '.join(named)} should have detected the break, but {by} did: {assertion}")


def errors_of_the_break(logs: str) -> list[str]:
    """Return the errors in a log that only a programming error causes, never a fault."""
    return sorted({match.strip() for match in _ERROR.findall(logs)})
