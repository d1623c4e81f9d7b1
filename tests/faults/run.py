"""One case of the suite: a script and its reference, judged by the oracles."""

import itertools
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from cluster import ControlPlane
from faults import breaks, proof
from faults.oracles import check
from faults.play import Played, Player
from faults.proof import Unproved
from faults.scale import Scale
from faults.script import Script, to_json, without_faults
from faults.stand import Choices, Stand

_numbers = itertools.count(1)


@dataclass
class Measured:
    """What the runs of one test told, for the report."""

    runs: int = 0
    recoveries: list[float] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


@dataclass
class Surroundings:
    """What all cases of a session share."""

    cluster: ControlPlane
    folder: Path
    """Where the runs leave what they leave."""
    scale: Scale
    references: dict[str, Played] = field(default_factory=dict)
    survived: set[str] = field(default_factory=set)
    """What broken operators have survived."""


class Case:
    """Runs the scripts of one test."""

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
            surroundings: what all cases share.
            name: of the test, for folders.
            oracles: their numbers.
            broken: a break: the operator lacks something, and the oracles `by` must find it.
            by: the oracles that must find it.
            resync: whether the operators sweep now and then. Without, nothing is mended that no event told.
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
        """Whether the operator is broken on purpose: one violation is enough then."""
        return self._broken is not None

    @property
    def scale(self) -> Scale:
        """The time scale."""
        return self._surroundings.scale

    def reference(self, script: Script, *, proxied: bool = True) -> Played:
        """Return the fault-free run of a script, played once in a session."""
        plain = without_faults(script)
        key = json.dumps([to_json(plain), proxied])
        known = self._surroundings.references
        if key not in known:
            choices = Choices(self.scale, None, proxied, resync=self._resync)
            played = self._play(plain, None, choices, f"reference-{os.getpid()}")
            if played.violations:
                raise RuntimeError("the run without faults went wrong:\n" + "\n".join(played.violations))
            shutil.rmtree(self._folder(f"reference-{os.getpid()}"), ignore_errors=True)
            known[key] = played
        return known[key]

    @contextmanager
    def stand(
        self, scale: Scale | None = None, *, options: tuple[str, ...] = (), besides: tuple[str, ...] = ()
    ) -> Iterator[Stand]:
        """Give a stand, for what no script can say: what the operator's own process does.

        A broken operator must survive a life in peace first.
        """
        if self._broken is not None:
            self._see_it_survive(breaks.PEACE, self.reference(breaks.PEACE), ("O1", "O3", "O4"), Choices(self.scale))
        self.measured.runs += 1
        folder = self._folder(f"{self._name}-{self.measured.runs}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        choices = Choices(scale or self.scale, self._broken, resync=self._resync, options=options, besides=besides)
        with Stand(self._surroundings.cluster, f"faults-{next(_numbers)}", choices, folder) as stand:
            yield stand
        shutil.rmtree(folder, ignore_errors=True)

    @property
    def left_behind(self) -> Path:
        """The folder of the last run; it is there if that run was judged to be wrong."""
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
        """Play a script and judge it, by the oracles `besides` too.

        The operator is started with options of `faults.launch`, and serves other namespaces besides that of the run.

        Raises:
            AssertionError: with all violations, where the history lies, and how to replay it.
        """
        oracles = (*self._oracles, *besides)
        wanted = reference or self.reference(script, proxied=proxied)
        choices = Choices(self.scale, self._broken, proxied, clusterwide, self._resync, options, namespaces)
        if self._broken is not None:
            self._see_it_survive_without(script, reference, oracles, choices)
        number = self.measured.runs = self.measured.runs + 1
        label = f"{self._name}-{number}"
        played = self._play(script, wanted, choices, label)
        found = self._found(played, wanted, oracles)
        self._hold_that_it_lived(played)
        self.measured.recoveries += played.recoveries
        self.measured.waits += played.waits
        self.measured.violations += found
        if found:
            raise AssertionError(self._told(label, found, oracles))
        shutil.rmtree(self._folder(label), ignore_errors=True)
        return played

    def _found(self, played: Played, wanted: Played, oracles: Sequence[str]) -> list[str]:
        """Return the violations; of a broken operator by all oracles, of another by the first that finds one."""
        found = list(played.violations)
        if played.evidence is None or (found and self._broken is None):
            return found
        ids = [oracle for oracle in oracles if oracle != "O3" or played.evidence.quiet_since is not None]
        return found + [str(each) for each in check(played.evidence, wanted.evidence, ids)]

    def _see_it_survive_without(
        self, script: Script, reference: Played | None, oracles: Sequence[str], choices: Choices
    ) -> None:
        assert self._broken is not None
        broken = breaks.known()[self._broken]
        plain = proof.script_without(broken, script, None if reference is None else reference.script)
        self._see_it_survive(plain, self.reference(plain, proxied=choices.proxied), oracles, choices)

    def _see_it_survive(self, plain: Script, wanted: Played, oracles: Sequence[str], choices: Choices) -> None:
        """Play a script without faults on a broken operator, once in a session.

        Raises:
            Unproved: it doesn't survive that: then it is not the fault that it fails for.
        """
        key = json.dumps([self._broken, to_json(plain), repr(choices), list(oracles)])
        if key in self._surroundings.survived:
            return
        label = f"{self._name}-without-faults"
        played = self._play(plain, wanted, replace(choices, broken=self._broken), label)
        assert self._broken is not None
        found = proof.found_without(breaks.known()[self._broken], self._found(played, wanted, oracles), self._by)
        if found:
            raise Unproved(f"{self._broken}: it fails without the fault, too: " + "; ".join(found[:5]))
        self._hold_that_it_lived(played)
        shutil.rmtree(self._folder(label), ignore_errors=True)
        self._surroundings.survived.add(key)

    def _hold_that_it_lived(self, played: Played) -> None:
        """Hold that a broken operator is not dead: a dead one fails at everything.

        Raises:
            Unproved: its process has ended by itself, or it meets with errors that are the break's.
        """
        if self._broken is None or played.evidence is None:
            return
        errors = proof.errors_of_the_break(played.evidence.logs)
        if played.ended or errors:
            raise Unproved(f"{self._broken}: {played.ended or '; '.join(errors[:5])}")

    def _folder(self, label: str) -> Path:
        return self._surroundings.folder / label

    def _play(self, script: Script, reference: Played | None, choices: Choices, label: str) -> Played:
        folder = self._folder(label)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        script_file = folder / "script.json"
        script_file.write_text(json.dumps(to_json(script), indent=1) + "\n", encoding="utf-8")
        with Stand(self._surroundings.cluster, f"faults-{next(_numbers)}", choices, folder) as stand:
            try:
                return Player(stand, reference).play(script)
            finally:
                stand.proxy.snapshot().write(folder / "history.jsonl")

    def _told(self, label: str, violations: Sequence[str], oracles: Sequence[str]) -> str:
        folder = self._folder(label)
        lines = [f"{len(violations)} violations:", *(f"  - {each}" for each in violations[:20])]
        lines.append(f"history, script and the operator's log: {folder}")
        resync = " RESYNC=1" if self._resync else ""
        lines.append(f"again: make replay SCRIPT={folder / 'script.json'} ORACLES={','.join(oracles)}{resync}")
        return "\n".join(lines)
