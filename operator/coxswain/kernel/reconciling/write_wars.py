"""Fields that someone takes again and again after they were taken back: left alone for a while, then looked at again.

Two writers that each know best would go on for ever, at the speed of the faster one.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.edit import value_at
from coxswain.kernel.objects.field_paths import Path, text
from coxswain.kernel.reconciling.retention import retain
from coxswain.settings import ContestSettings
from coxswain.webapp.spec import Manifest

_WHOLE: Path = ()
"""The place of a whole child, which someone deletes again and again."""


@dataclass
class _Contest:
    wanted: str
    """A digest of the desired value."""
    rounds: int
    """How often the field was taken back, each time soon after the last."""
    since: float
    """When it was taken back last."""
    rest: float
    """Seconds for which it is left alone after that."""
    refusals: int = 0
    """How often in a row it could not be taken back since."""


class WriteWars:
    """What was taken back of late, and is to be left alone now."""

    def __init__(self, settings: ContestSettings, clock: Callable[[], float]) -> None:
        """Judge by `settings`; `clock` gives monotonic seconds."""
        self._settings = settings
        self._clock = clock
        self._fields: dict[Key, dict[tuple[str, Path], _Contest]] = {}

    def took_back(self, key: Key, manifest: Manifest, fields: Iterable[Path]) -> None:
        """Note fields of a child of a WebApp that were just taken back from someone, to be as in its manifest."""
        now, child = self._clock(), _child(manifest)
        for field in fields:
            wanted = _digest(manifest, field)
            before = self._fields.setdefault(key, {}).get((child, field))
            if before is None or before.wanted != wanted or now - before.since > self._forgotten_after(before):
                self._fields[key][child, field] = _Contest(wanted, 1, now, self._rest(field))
            else:
                longer = before.rounds >= self._settings.rounds
                rest = min(2 * before.rest, self._rest_limit(field)) if longer else before.rest
                self._fields[key][child, field] = _Contest(wanted, before.rounds + 1, now, rest)

    def created_again(self, key: Key, manifest: Manifest) -> None:
        """Note a child that someone had deleted and that was just created again."""
        self.took_back(key, manifest, [_WHOLE])

    def is_left_absent(self, key: Key, manifest: Manifest) -> bool:
        """Tell whether a child that someone deletes again and again is not to be created now; see `held_off`."""
        found = self._fields.get(key, {}).get((_child(manifest), _WHOLE))
        return found is not None and found.wanted == _digest(manifest, _WHOLE) and self._remaining(found) > 0

    def refused(self, key: Key, manifest: Manifest, fields: Iterable[Path]) -> None:
        """Note fields that could not be taken back, since someone wrote to the child in that very moment.

        As many refusals in a row as there are rounds are a contest too: it could not even be fought.
        """
        now, child = self._clock(), _child(manifest)
        for field in fields:
            first = _Contest(_digest(manifest, field), 0, now, self._settings.rest)
            found = self._fields.setdefault(key, {}).setdefault((child, field), first)
            found.refusals += 1
            if found.refusals >= self._settings.rounds:
                longer = found.rounds >= self._settings.rounds
                found.rest = min(2 * found.rest, self._settings.rest_limit) if longer else found.rest
                found.rounds, found.since, found.refusals = max(found.rounds, self._settings.rounds), now, 0

    def held_off(self, key: Key, manifest: Manifest) -> tuple[str, ...]:
        """Return the fields of a child that are to be left alone now, given its manifest.

        Another desired value than the contested one is a new intent: it is not held off, and its contest is forgotten.
        """
        child, fields = _child(manifest), self._fields.get(key, {})
        for place, found in [each for each in fields.items() if each[0][0] == child]:
            # The whole is compared when it is absent alone: an autoscaler changes the manifest of what is there.
            if place[1] != _WHOLE and found.wanted != _digest(manifest, place[1]):
                del fields[place]
        return tuple(
            text(field)
            for (of, field), found in fields.items()
            if of == child and field != _WHOLE and self._remaining(found) > 0
        )

    def now(self) -> float:
        """Return the present time, in monotonic seconds."""
        return self._clock()

    def again(self, key: Key, since: float) -> float | None:
        """Return the seconds until a field is enforced again that was left alone at `since`; None without such a field.

        Pass the time at which the reconcile began. A rest that ended during the reconcile is due at once: the
        reconcile still left that field alone.
        """
        ends = [found.since + found.rest for found in self._fields.get(key, {}).values() if self._rests(found)]
        return min((max(0.0, end - self._clock()) for end in ends if end > since), default=None)

    def clear(self) -> None:
        """Forget all WebApps."""
        self._fields.clear()

    def forget(self, key: Key) -> None:
        """Forget all about a WebApp that is gone."""
        self._fields.pop(key, None)

    def retain(self, key: Key, children: Collection[str]) -> None:
        """Forget all children of a WebApp but these, each given as kind/name."""
        retain(self._fields, key, lambda place: place[0] in children)

    def look_again(self) -> None:
        """Forget what has been quiet for long."""
        now = self._clock()
        for key, fields in list(self._fields.items()):
            left = {
                place: found for place, found in fields.items() if now - found.since <= self._forgotten_after(found)
            }
            self._fields[key] = left
            if not left:
                del self._fields[key]

    def _remaining(self, contest: _Contest) -> float:
        return max(0.0, contest.since + contest.rest - self._clock()) if self._rests(contest) else 0.0

    def _rests(self, contest: _Contest) -> bool:
        return contest.rounds >= self._settings.rounds

    def _rest(self, field: Path) -> float:
        return self._settings.absence_rest if field == _WHOLE else self._settings.rest

    def _rest_limit(self, field: Path) -> float:
        return self._settings.absence_rest_limit if field == _WHOLE else self._settings.rest_limit

    def _forgotten_after(self, contest: _Contest) -> float:
        return self._settings.window + (contest.rest if contest.rounds >= self._settings.rounds else 0.0)


def _child(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def _digest(manifest: Manifest, field: Path) -> str:
    return hashlib.sha256(json.dumps(value_at(manifest, field), sort_keys=True).encode()).hexdigest()
