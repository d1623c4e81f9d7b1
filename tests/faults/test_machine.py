"""Operations and faults mixed at random: Hypothesis builds scripts, and shrinks a failed one.

A failed script is left in .faults, and the message contains the replay command. Each example costs a run on a live
cluster (7 to 50 s), so examples are few, and Hypothesis stops shrinking five minutes after the first failure. Two
rules save runs: no script is played twice, and a script with the beginning of a failed one counts as failed.
"""

import json
import random
import re
import shutil
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.stateful import run_state_machine_as_test

from fault_engine.run import Case
from fault_engine.script import Disaster, Inject, Kubectl, Operator, Program, Script, Settle, to_json
from faults.machine import Mix
from faults.script_state import counts_hold

ROOT = Path(__file__).parents[2]
STEPS = 10
"""The number of steps in a script, in addition to Settles."""
SEED = 20261121
CI_EXAMPLES = 10
ORACLES = ("O1", "O3", "O4", "O5", "O6", "O8")


class Judge:
    """Plays scripts, and remembers the played ones with the step of their failure."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._survived: set[str] = set()
        self._failed: dict[str, str] = {}
        self._folders: list[Path] = []
        self._error: Exception | None = None
        self.first_failure = 0
        """The number of scripts played until the first one failed."""

    def __call__(self, script: Script) -> None:
        """Play a script.

        Raises:
            AssertionError: the run failed.
        """
        message = self._failure(script)
        if message is not None:
            # The only place that raises, because Hypothesis counts errors from two places as two failures.
            raise AssertionError(message)

    def _failure(self, script: Script) -> str | None:
        if self._error is not None:
            raise self._error
        beginnings = _beginnings(script)
        known = next((self._failed[key] for key in beginnings if key in self._failed), None)
        if known is not None or _key(script) in self._survived:
            return known
        try:
            self._case(script, besides=("O2",) if counts_hold(script) else ())
        except AssertionError as error:
            return self._keep(script, str(error))
        except Exception as error:
            # An error of the suite itself: no script is shrunk for it.
            self._error = error
            raise
        self._survived |= {key for key, step in zip(beginnings, script, strict=True) if isinstance(step, Settle)}
        print(f"{self._case.measured.runs}. {_summary(script)}: survived", flush=True)
        return None

    def _keep(self, script: Script, message: str) -> str:
        """Keep the steps of a script up to its failure; return the message for all scripts that begin like it."""
        step = re.search(r"^  - step (\d+):", message, re.MULTILINE)
        shortened = script[: int(step[1])] if step else script
        folder = self._case.left_behind
        (folder / "script.json").write_text(json.dumps(to_json(shortened), indent=1) + "\n", encoding="utf-8")
        self._folders.append(folder)
        self._failed[_key(shortened)] = message
        self.first_failure = self.first_failure or self._case.measured.runs
        print(f"{self._case.measured.runs}. {_summary(script)}: failed\n{message}", flush=True)
        return message

    def tidy_up(self, message: str) -> None:
        """Remove the folders of failed runs, except that of the reported one."""
        for folder in self._folders:
            if f"{folder}\n" not in message:
                shutil.rmtree(folder)


def _key(script: Script) -> str:
    return json.dumps(to_json(script))


def _beginnings(script: Script) -> list[str]:
    return [_key(script[:length]) for length in range(1, len(script) + 1)]


def _summary(script: Script) -> str:
    faults = [step for step in script if isinstance(step, Inject | Operator | Program | Disaster)]
    users = [step for step in script if isinstance(step, Kubectl)]
    return f"{len(users)} operations, {len(faults)} faults, {sum(isinstance(step, Settle) for step in script)} settled"


def search(judge: Judge, examples: int, seed: int, *, proving: bool) -> None:
    """Let Hypothesis build a number of scripts, after the previously failed ones. A proof ends with the first failure.

    Raises:
        AssertionError: the failure of the shortest failed script.
    """

    @hypothesis.seed(seed)
    def machine() -> Mix:
        return Mix(judge)

    chosen = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        phases=(Phase.generate,) if proving else (Phase.reuse, Phase.generate, Phase.shrink),
        derandomize=False,
        database=None if proving else DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples"),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    run_state_machine_as_test(machine, settings=chosen)  # type: ignore[arg-type]  # Hypothesis accepts a function


def _fault(which: str, broken: str) -> pytest.MarkDecorator:
    return pytest.mark.fault(
        "mix", f"a random mix of operations and faults, {which}", oracles=ORACLES, broken=broken, resync=True
    )


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(SEED, marks=(_fault("the same in each run", "never-retries"), pytest.mark.ci), id="fixed seed"),
        pytest.param(None, marks=_fault("new in each run", "forgets-at-restart"), id="new seed"),
    ],
)
def test_random_mix(case: Case, request: pytest.FixtureRequest, seed: int | None) -> None:
    given = request.config.getoption("--hypothesis-seed")
    examples = request.config.getoption("--examples") if seed is None or case.broken else CI_EXAMPLES
    chosen = seed if seed is not None else int(given) if given is not None else random.getrandbits(32)
    print(f"{examples} scripts of {STEPS} steps, seed {chosen}", flush=True)
    judge = Judge(case)
    try:
        search(judge, examples, chosen, proving=case.broken)
    except AssertionError as error:
        judge.tidy_up(str(error))
        error.add_note(f"seed {chosen}; the first failure is run {judge.first_failure} of {case.measured.runs}")
        raise
