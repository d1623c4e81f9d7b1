"""One case of the suite: a script and its reference, judged by the oracles."""

import itertools
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster import ControlPlane
from faults.oracles import check
from faults.play import Played, Player
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


class Case:
    """Runs the scripts of one test."""

    def __init__(self, surroundings: Surroundings, name: str, oracles: Sequence[str], broken: str | None) -> None:
        """Judge by these oracles; `broken` starts an operator that lacks something, and a violation is expected."""
        self._surroundings = surroundings
        self._name = name
        self._oracles = tuple(oracles)
        self._broken = broken
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
            played = self._play(plain, None, Choices(self.scale, None, proxied), f"reference-{os.getpid()}")
            if played.violations:
                raise RuntimeError("the run without faults went wrong:\n" + "\n".join(played.violations))
            shutil.rmtree(self._folder(f"reference-{os.getpid()}"), ignore_errors=True)
            known[key] = played
        return known[key]

    @contextmanager
    def stand(self, scale: Scale | None = None) -> Iterator[Stand]:
        """Give a stand, for what no script can say: what the operator's own process does."""
        self.measured.runs += 1
        folder = self._folder(f"{self._name}-{self.measured.runs}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        choices = Choices(scale or self.scale, self._broken)
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
    ) -> Played:
        """Play a script and judge it, by the oracles `besides` too.

        Raises:
            AssertionError: with all violations, where the history lies, and how to replay it.
        """
        oracles = (*self._oracles, *besides)
        wanted = reference or self.reference(script, proxied=proxied)
        number = self.measured.runs = self.measured.runs + 1
        label = f"{self._name}-{number}"
        played = self._play(script, wanted, Choices(self.scale, self._broken, proxied, clusterwide), label)
        found = list(played.violations)
        if played.evidence is not None and not found:
            found = [str(each) for each in check(played.evidence, wanted.evidence, oracles)]
        self.measured.recoveries += played.recoveries
        self.measured.waits += played.waits
        self.measured.violations += found
        if found:
            raise AssertionError(self._told(label, found, oracles))
        shutil.rmtree(self._folder(label), ignore_errors=True)
        return played

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
        lines.append(f"again: make replay SCRIPT={folder / 'script.json'} ORACLES={','.join(oracles)}")
        return "\n".join(lines)
