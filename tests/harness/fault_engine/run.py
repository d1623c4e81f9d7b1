"""One case of the suite: a script and its reference, judged by the oracles."""

import itertools
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from cluster import ControlPlane
from fault_engine import proof
from fault_engine.lives import PEACE
from fault_engine.oracles import check
from fault_engine.play import Played, Player
from fault_engine.proof import Break, Unproved
from fault_engine.scale import Scale
from fault_engine.script import Script, to_json, without_faults
from fault_engine.stand import Choices, Stand
from fault_engine.workload import Workload

_numbers = itertools.count(1)


@dataclass
class Measured:
    """Measurements of the runs of one test, for the report."""

    runs: int = 0
    recoveries: list[float] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


@dataclass
class Surroundings:
    """State that all cases of a session share."""

    cluster: ControlPlane
    workload: Workload
    folder: Path
    """The parent of the folders of the runs."""
    scale: Scale
    breaks: Mapping[str, Break] = field(default_factory=dict)
    """The known breaks, by name."""
    references: dict[str, Played] = field(default_factory=dict)
    survived: set[str] = field(default_factory=set)
    """The keys of the fault-free runs that broken operators have survived."""


class Case:
    """Runs the scripts of one test, and judges the runs."""

    def __init__(
        self,
        surroundings: Surroundings,
        name: str,
        oracles: Sequence[str],
        broken: str | None,
        *,
        by: Sequence[str] = (),
        resync: bool = False,
    ) -> None:
        """Judge by these oracles.

        Args:
            surroundings: the shared state of the session.
            name: the name of the test, for folders.
            oracles: their numbers.
            broken: the name of a break. The oracles `by` must detect it.
            by: the oracles that must detect the break.
            resync: whether the operator does its periodic resync. Without it, only events trigger corrections.
        """
        self._surroundings = surroundings
        self._name = name
        self._oracles = tuple(oracles)
        self._broken = broken
        self._by = tuple(by)
        self._resync = resync
        self.measured = Measured()

    @property
    def broken(self) -> bool:
        """Whether the operator is deliberately broken. One violation suffices then."""
        return self._broken is not None

    @property
    def workload(self) -> Workload:
        """The operator under test."""
        return self._surroundings.workload

    @property
    def scale(self) -> Scale:
        """The time scale."""
        return self._surroundings.scale

    def reference(self, script: Script, *, proxied: bool = True) -> Played:
        """Return the fault-free run of a script. It is played once in a session."""
        plain = without_faults(script)
        key = json.dumps([to_json(plain), proxied])
        known = self._surroundings.references
        if key not in known:
            choices = Choices(self.scale, None, proxied, resync=self._resync)
            played = self._play(plain, None, choices, f"reference-{os.getpid()}")
            if played.violations:
                raise RuntimeError("the run without faults failed:\n" + "\n".join(played.violations))
            shutil.rmtree(self._folder(f"reference-{os.getpid()}"), ignore_errors=True)
            known[key] = played
        return known[key]

    @contextmanager
    def stand(
        self, scale: Scale | None = None, *, options: tuple[str, ...] = (), besides: tuple[str, ...] = ()
    ) -> Iterator[Stand]:
        """Provide a stand for tests of the operator's process that a script cannot express.

        A broken operator must first survive a life without faults.
        """
        if self._broken is not None:
            self._require_survival(PEACE, self.reference(PEACE), ("O1", "O3", "O4"), Choices(self.scale))
        self.measured.runs += 1
        folder = self._folder(f"{self._name}-{self.measured.runs}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        choices = Choices(scale or self.scale, self._broken, resync=self._resync, options=options, besides=besides)
        with self._make_stand(choices, folder) as stand:
            yield stand
        shutil.rmtree(folder, ignore_errors=True)

    @property
    def left_behind(self) -> Path:
        """The folder of the last run. It exists only if the run was rejected."""
        return self._folder(f"{self._name}-{self.measured.runs}")

    def __call__(
        self,
        script: Script,
        *,
        proxied: bool = True,
        clusterwide: bool = False,
        reference: Played | None = None,
        besides: Sequence[str] = (),
        options: tuple[str, ...] = (),
        namespaces: tuple[str, ...] = (),
    ) -> Played:
        """Play a script and judge the run, also by the oracles `besides`.

        The operator gets `options`, and serves `namespaces` besides that of the run.

        Raises:
            AssertionError: with all violations, the folder of the history, and the replay command.
        """
        oracles = (*self._oracles, *besides)
        wanted = reference or self.reference(script, proxied=proxied)
        choices = Choices(self.scale, self._broken, proxied, clusterwide, self._resync, options, namespaces)
        if self._broken is not None:
            self._require_survival_without_faults(script, reference, oracles, choices)
        number = self.measured.runs = self.measured.runs + 1
        label = f"{self._name}-{number}"
        played = self._play(script, wanted, choices, label)
        found = self._violations(played, wanted, oracles)
        self._require_live_process(played)
        self.measured.recoveries += played.recoveries
        self.measured.waits += played.waits
        self.measured.violations += found
        if found:
            raise AssertionError(self._failure_message(label, found, oracles))
        shutil.rmtree(self._folder(label), ignore_errors=True)
        return played

    def _violations(self, played: Played, wanted: Played, oracles: Sequence[str]) -> list[str]:
        """Return the violations of all oracles for a broken operator; else those of the first oracle with any."""
        found = list(played.violations)
        if played.evidence is None or (found and self._broken is None):
            return found
        ids = [oracle for oracle in oracles if oracle != "O3" or played.evidence.quiet_since is not None]
        return found + [str(each) for each in check(played.evidence, wanted.evidence, ids)]

    def _require_survival_without_faults(
        self, script: Script, reference: Played | None, oracles: Sequence[str], choices: Choices
    ) -> None:
        assert self._broken is not None
        broken = self._surroundings.breaks[self._broken]
        plain = proof.script_without(broken, script, None if reference is None else reference.script)
        self._require_survival(plain, self.reference(plain, proxied=choices.proxied), oracles, choices)

    def _require_survival(self, plain: Script, wanted: Played, oracles: Sequence[str], choices: Choices) -> None:
        """Play a script without faults on a broken operator, once in a session.

        Raises:
            Unproved: the operator fails, so a failure with faults proves nothing.
        """
        key = json.dumps([self._broken, to_json(plain), repr(choices), list(oracles)])
        if key in self._surroundings.survived:
            return
        label = f"{self._name}-without-faults"
        played = self._play(plain, wanted, replace(choices, broken=self._broken), label)
        assert self._broken is not None
        found = proof.found_without(
            self._surroundings.breaks[self._broken], self._violations(played, wanted, oracles), self._by
        )
        if found:
            raise Unproved(f"{self._broken}: it also fails without the fault: " + "; ".join(found[:5]))
        self._require_live_process(played)
        shutil.rmtree(self._folder(label), ignore_errors=True)
        self._surroundings.survived.add(key)

    def _require_live_process(self, played: Played) -> None:
        """Check that the process of a broken operator stayed alive, because a dead operator fails every test.

        Raises:
            Unproved: its process exited by itself, or its log has errors of the break's code.
        """
        if self._broken is None or played.evidence is None:
            return
        errors = proof.errors_of_the_break(played.evidence.logs)
        if played.ended or errors:
            raise Unproved(f"{self._broken}: {played.ended or '; '.join(errors[:5])}")

    def _make_stand(self, choices: Choices, folder: Path) -> Stand:
        workload = self._surroundings.workload
        return Stand(self._surroundings.cluster, workload, f"faults-{next(_numbers)}", choices, folder)

    def _folder(self, label: str) -> Path:
        return self._surroundings.folder / label

    def _play(self, script: Script, reference: Played | None, choices: Choices, label: str) -> Played:
        folder = self._folder(label)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        script_file = folder / "script.json"
        script_file.write_text(json.dumps(to_json(script), indent=1) + "\n", encoding="utf-8")
        with self._make_stand(choices, folder) as stand:
            try:
                return Player(stand, reference).play(script)
            finally:
                stand.proxy.snapshot().write(folder / "history.jsonl")

    def _failure_message(self, label: str, violations: Sequence[str], oracles: Sequence[str]) -> str:
        folder = self._folder(label)
        lines = [f"{len(violations)} violations:", *(f"  - {each}" for each in violations[:20])]
        lines.append(f"history, script and operator log: {folder}")
        options = f" WORKLOAD={self._surroundings.workload.name}" + " RESYNC=1" * self._resync
        lines.append(f"replay: make replay SCRIPT={folder / 'script.json'} ORACLES={','.join(oracles)}{options}")
        return "\n".join(lines)
