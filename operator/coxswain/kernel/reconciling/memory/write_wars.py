"""The brakes on write wars: they suspend what another writer undoes again and again.

Two writers that both enforce a field would go on forever, at the speed of the faster one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from coxswain.kernel.objects.edit import value_at
from coxswain.kernel.objects.field_paths import Path, text
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.memory.attempts import digest
from coxswain.settings import WriteWarSettings


@dataclass
class _War:
    """The rounds over one desired value, each soon after the last."""

    settings: WriteWarSettings
    wanted: str
    """Digest of the desired value."""
    since: float
    """When it was last enforced; monotonic seconds."""
    suspension: float
    """Seconds without enforcement after that, once it is a war."""
    limit: float
    """Maximum of these seconds."""
    rounds: int = 0
    """How often in a row it was enforced."""
    refusals: int = 0
    """Conflicts in a row since then."""

    @property
    def is_on(self) -> bool:
        """Whether there were enough rounds for a suspension."""
        return self.rounds >= self.settings.rounds

    @property
    def ends(self) -> float:
        """The end of the suspension in monotonic seconds, if it is a war."""
        return self.since + self.suspension

    def is_suspended(self, now: float) -> bool:
        """Tell whether the value is not enforced now."""
        return self.is_on and now < self.ends

    def is_quiet(self, now: float) -> bool:
        """Tell whether the last round is so long ago that the next one is a first one."""
        return now - self.since > self.settings.window + (self.suspension if self.is_on else 0.0)

    def count(self, rounds: int, now: float) -> None:
        """Set the number of rounds after one more. During a war each suspension is longer than the last."""
        if self.is_on:
            self.suspension = min(2 * self.suspension, self.limit)
        self.rounds, self.since, self.refusals = rounds, now, 0


class WriteWars:
    """The write wars over the fields of one object."""

    def __init__(self, settings: WriteWarSettings) -> None:
        self._settings = settings
        self._fields: dict[Path, _War] = {}

    def enforced(self, manifest: Manifest, fields: Iterable[Path], now: float) -> None:
        """Count enforced fields."""
        for field in fields:
            self._fields[field] = _next_round(self._fields.get(field), self._first(field, manifest, now), now)

    def refused(self, manifest: Manifest, fields: Iterable[Path], now: float) -> None:
        """Count fields with a conflict instead of an enforcement.

        As many refusals in a row as there are rounds are a write war as well.
        """
        for field in fields:
            war = self._fields.setdefault(field, self._first(field, manifest, now))
            war.refusals += 1
            if war.refusals >= self._settings.rounds:
                war.count(max(war.rounds, self._settings.rounds), now)

    def suspended(self, manifest: Manifest, now: float) -> tuple[str, ...]:
        """Return the fields with suspended enforcement, given the manifest.

        A field with another desired value has a new intent: it is enforced at once.
        """
        return tuple(
            text(field)
            for field, war in self._fields.items()
            if _is_for(field, war, manifest) and war.is_suspended(now)
        )

    def contested(self, now: float) -> int:
        """Return the number of fields with suspended enforcement."""
        return sum(war.is_suspended(now) for war in self._fields.values())

    def forget_settled(self, manifest: Manifest) -> None:
        """Forget the wars over fields with a new desired value."""
        self._fields = {field: war for field, war in self._fields.items() if _is_for(field, war, manifest)}

    def forget_quiet(self, now: float) -> None:
        """Forget the wars without a recent round."""
        self._fields = {field: war for field, war in self._fields.items() if not war.is_quiet(now)}

    def suspension_ends(self, since: float, now: float) -> float | None:
        """Return the seconds until the next suspension ends; only those in progress at `since` count. None without one.

        Pass the time at which the reconcile began. A suspension that ended during the reconcile is due at once:
        the reconcile did not enforce that field yet.
        """
        ends = [war.ends for war in self._fields.values() if war.is_suspended(since)]
        return min((max(0.0, end - now) for end in ends), default=None)

    def __len__(self) -> int:
        return len(self._fields)

    def _first(self, field: Path, manifest: Manifest, now: float) -> _War:
        settings = self._settings
        return _War(settings, digest(value_at(manifest, field)), now, settings.suspension, settings.suspension_limit)


class DeletionBrake:
    """The brake on the creation of a child that others delete again and again."""

    def __init__(self, settings: WriteWarSettings) -> None:
        self._settings = settings
        self._war: _War | None = None

    def recreated(self, intent: Manifest, now: float) -> None:
        """Count a creation after a deletion by others.

        Pass the manifest without notes. Unlike a field, the child is compared as a whole.
        """
        settings = self._settings
        first = _War(settings, digest(intent), now, settings.recreation_delay, settings.recreation_delay_limit)
        self._war = _next_round(self._war, first, now)

    def delayed_until(self, intent: Manifest, now: float) -> float | None:
        """Return the time of the next creation in monotonic seconds; None if the child may be created now."""
        war = self._war
        return war.ends if war is not None and war.wanted == digest(intent) and war.is_suspended(now) else None

    def contested(self, now: float) -> int:
        """Return 1 if the creation is delayed, or else 0."""
        return int(self._war is not None and self._war.is_suspended(now))

    def forget_quiet(self, now: float) -> None:
        """Forget a war without a recent round."""
        if self._war is not None and self._war.is_quiet(now):
            self._war = None


def _next_round(war: _War | None, first: _War, now: float) -> _War:
    """Count a round of a war; of the new war `first` if the desired value is another or the war was quiet."""
    if war is None or war.wanted != first.wanted or war.is_quiet(now):
        war = first
    war.count(war.rounds + 1, now)
    return war


def _is_for(field: Path, war: _War, manifest: Manifest) -> bool:
    return war.wanted == digest(value_at(manifest, field))
