"""The brake on write wars: it suspends the enforcement of repeatedly overwritten fields.

Two writers that both enforce a field would go on forever, at the speed of the faster one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from coxswain.kernel.objects.edit import value_at
from coxswain.kernel.objects.field_paths import Path, text
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.memory.attempts import digest
from coxswain.settings import WriteWarSettings

WHOLE: Path = ()
"""The path of a whole object: for repeated deletions."""


@dataclass
class _War:
    wanted: str
    """Digest of the desired value."""
    rounds: int
    """How often in a row the field was enforced, each time soon after the last."""
    since: float
    """When it was last enforced; monotonic seconds."""
    suspension: float
    """Seconds without enforcement after that."""
    refusals: int = 0
    """Conflicts in a row since then."""


class WriteWars:
    """The write wars over the fields of one object."""

    def __init__(self, settings: WriteWarSettings) -> None:
        self._settings = settings
        self._fields: dict[Path, _War] = {}

    def enforced(self, manifest: Manifest, fields: Iterable[Path], now: float) -> None:
        """Count enforced fields."""
        for field in fields:
            wanted, before = digest(value_at(manifest, field)), self._fields.get(field)
            if before is None or before.wanted != wanted or now - before.since > self._forgotten_after(before):
                self._fields[field] = _War(wanted, 1, now, self._suspension(field))
            else:
                longer = before.rounds >= self._settings.rounds
                suspension = min(2 * before.suspension, self._suspension_limit(field)) if longer else before.suspension
                self._fields[field] = _War(wanted, before.rounds + 1, now, suspension)

    def refused(self, manifest: Manifest, fields: Iterable[Path], now: float) -> None:
        """Count fields with a conflict instead of an enforcement.

        As many refusals in a row as there are rounds are a write war as well.
        """
        for field in fields:
            first = _War(digest(value_at(manifest, field)), 0, now, self._settings.suspension)
            war = self._fields.setdefault(field, first)
            war.refusals += 1
            if war.refusals >= self._settings.rounds:
                longer = war.rounds >= self._settings.rounds
                war.suspension = min(2 * war.suspension, self._settings.suspension_limit) if longer else war.suspension
                war.rounds, war.since, war.refusals = max(war.rounds, self._settings.rounds), now, 0

    def suspends_creation(self, manifest: Manifest, now: float) -> bool:
        """Tell whether a repeatedly deleted object must not be created now.

        `manifest` has no notes, like the one passed to `enforced`.
        """
        war = self._fields.get(WHOLE)
        return war is not None and war.wanted == digest(value_at(manifest, WHOLE)) and self._remaining(war, now) > 0

    def suspended(self, manifest: Manifest, now: float) -> tuple[str, ...]:
        """Return the fields with suspended enforcement, given the manifest.

        A field with another desired value has a new intent: it is enforced at once.
        """
        return tuple(
            text(field)
            for field, war in self._fields.items()
            # An absent object is compared as a whole; an autoscaler changes the manifest of a present one.
            if field != WHOLE and self._is_for(field, war, manifest) and self._remaining(war, now) > 0
        )

    def contested(self, now: float) -> int:
        """Return the number of fields with suspended enforcement."""
        return sum(self._remaining(war, now) > 0 for war in self._fields.values())

    def forget_settled(self, manifest: Manifest) -> None:
        """Forget the wars over fields with a new desired value."""
        self._fields = {
            field: war for field, war in self._fields.items() if field == WHOLE or self._is_for(field, war, manifest)
        }

    def forget_quiet(self, now: float) -> None:
        """Forget the wars without a recent round."""
        self._fields = {
            field: war for field, war in self._fields.items() if now - war.since <= self._forgotten_after(war)
        }

    def suspension_ends(self, since: float, now: float) -> float | None:
        """Return the seconds until the next suspension ends; only those in progress at `since` count. None without one.

        Pass the time at which the reconcile began. A suspension that ended during the reconcile is due at once:
        the reconcile did not enforce that field yet. A delayed creation does not count: its `Wait` has the end.
        """
        ends = [
            war.since + war.suspension for field, war in self._fields.items() if field != WHOLE and self._is_war(war)
        ]
        return min((max(0.0, end - now) for end in ends if end > since), default=None)

    def recreation_due(self) -> float:
        """Return the time at which a repeatedly deleted object is created again, in monotonic seconds."""
        war = self._fields[WHOLE]
        return war.since + war.suspension

    def __len__(self) -> int:
        return len(self._fields)

    @staticmethod
    def _is_for(field: Path, war: _War, manifest: Manifest) -> bool:
        return war.wanted == digest(value_at(manifest, field))

    def _remaining(self, war: _War, now: float) -> float:
        return max(0.0, war.since + war.suspension - now) if self._is_war(war) else 0.0

    def _is_war(self, war: _War) -> bool:
        return war.rounds >= self._settings.rounds

    def _suspension(self, field: Path) -> float:
        return self._settings.recreation_delay if field == WHOLE else self._settings.suspension

    def _suspension_limit(self, field: Path) -> float:
        return self._settings.recreation_delay_limit if field == WHOLE else self._settings.suspension_limit

    def _forgotten_after(self, war: _War) -> float:
        return self._settings.window + (war.suspension if self._is_war(war) else 0.0)
