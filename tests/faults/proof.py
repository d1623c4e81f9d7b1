"""The proof that a test can fail: on an operator that is broken on purpose, by the oracle that the test names.

Three things must hold. The broken operator survives the script without its faults, so that it is the fault that it
fails for. The oracle that is named finds it. The operator's process lives, and its log shows no error of the break.
"""

import re
from collections.abc import Sequence

from faults.breaks import Break
from faults.script import Script, without_faults

OF_THE_TEST = "test"
"""Names an assertion of the test itself in the place of an oracle."""
_ORACLE = re.compile(r"\b(O[1-8]): ")
_ERRORS = ("TypeError", "AttributeError", "NameError", "KeyError", "IndexError", "ImportError", "UnboundLocalError")
_ERROR = re.compile(rf"^\s*\|?\s*(?:{'|'.join(_ERRORS)})\b.*$", re.MULTILINE)


class Caught(AssertionError):
    """The broken operator failed as it must."""


class Unproved(RuntimeError):
    """The proof shows nothing: the break is no break, or something else failed."""


def script_without(broken: Break, script: Script, without: Script | None) -> Script:
    """Return what a broken operator must survive: `without`, or the script without its faults, or what the break says.

    Raises:
        Unproved: nothing can be left out, and the break doesn't say what it survives.
    """
    if broken.passes is not None:
        return broken.passes
    if without is not None and without != script:
        return without
    plain = without_faults(script)
    if plain == script and not broken.always:
        raise Unproved(f"{broken.name}: the script has no faults; the break must say what it `passes`")
    return plain


def found_without(broken: Break, violations: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return what speaks against a break in a run without faults: all, but for what is wrong with it in any life."""
    return [found for found in violations if not (broken.always and violated([found]) & set(named))]


def violated(violations: Sequence[str]) -> set[str]:
    """Return the oracles that violations are of."""
    return {found for violation in violations for found in _ORACLE.findall(violation)[:1]}


def told_apart(named: Sequence[str], violations: Sequence[str], assertion: str) -> Caught | Unproved:
    """Judge how a test failed on a broken operator.

    Args:
        named: the oracles of which one must have found it, or `test` for an assertion of the test itself.
        violations: all that oracles found in the test's runs.
        assertion: how the test's own assertion failed.
    """
    found = violated(violations)
    if found & set(named) or (not found and OF_THE_TEST in named):
        return Caught(assertion)
    by = ", ".join(sorted(found)) or "an assertion of the test"
    return Unproved(f"{' or '.join(named)} should have found it; it was found by {by}: {assertion}")


def errors_of_the_break(logs: str) -> list[str]:
    """Return the errors in a log that only a mistake in the code makes, and no fault."""
    return sorted({match.strip() for match in _ERROR.findall(logs)})
