"""Restarts after a change of the data of a Secret or ConfigMap in `spec.restartOn`.

The pod template records the last change of each object. A new value is a rolling update. It waits for a time slot of
the WebApp, so that the restarts of many WebApps are spread.
"""

import hashlib
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from coxswain.kernel.objects.grants import Grant, step_after_refusal
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import enumerated
from coxswain.kernel.status.health import HEALTHY, Health, Level
from coxswain.kernel.workload import Explanation, Reference, World
from coxswain.webapp.diagnosis.commands import edit
from coxswain.webapp.identity import RESTART_ANNOTATION
from coxswain.webapp.kinds import DEPLOYMENT, REFERENCED_CONFIG_MAP, SECRET
from coxswain.webapp.references import may_be_missing
from coxswain.webapp.spec import WebApp
from coxswain.webapp.times import moment

SETTLE = timedelta(seconds=2)
"""Time from a change to a restart at the earliest. Times in managedFields have a resolution of one second: changes of
the same second must come before the pods start, because they leave no other trace."""
RESOLUTION = timedelta(seconds=1)
"""Two changes within this time may look the same."""
SECONDS_EACH = 3.0
"""Least length of the time window for each further WebApp that uses the object: 20 restarts in a minute."""
WINDOW_LIMIT = 600.0
"""Greatest length of the window in seconds, reached with 102 WebApps. Each shorter one is half of the next."""
_LATEST = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
"""The latest time of a change. A client may write any time into managedFields, and its slot must be a time as well."""
RESTART_SCHEDULED = "RestartScheduled"
_WORTH_TELLING = timedelta(seconds=10)
"""Shortest wait that the status reports."""

_RECORD = re.compile(r"([A-Za-z]+/[a-z0-9.-]+)=([0-9a-f]*)")


@dataclass(frozen=True)
class Restart:
    """The recorded changes of one WebApp, and its next restart."""

    annotation: str
    """The value in the pod template."""
    at: datetime | None = None
    """The time of the next restart, if a change waits for it."""
    users: int = 1
    """Number of WebApps with the object of that change."""


@dataclass(frozen=True)
class _Referenced:
    """An object in `spec.restartOn`."""

    kind: str
    plural: str
    name: str
    reference: Reference
    grant: Grant | None

    @property
    def place(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def observed(self) -> Projection | None:
        return None if self.reference.unseen is not None else self.reference.observed

    @property
    def version(self) -> str | None:
        """The version of its data: also another one if the object was created again."""
        if self.observed is None:
            return None
        text = f"{self.observed.uid} {self.observed.content['digest']}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def restart_of(webapp: WebApp, world: World) -> Restart | None:
    """Return the restart of a WebApp, or None without `spec.restartOn`.

    An object that is missing or cannot be seen restarts nothing: its last record stays. A new record does not wait.
    """
    referenced = _referenced(webapp, world)
    if not referenced:
        return None
    recorded = _recorded(webapp, world)
    values = {each.place: recorded.get(each.place, each.version or "") for each in referenced}
    changed = [each for each in referenced if each.version not in (None, values[each.place])]
    at, users = _next_slot(webapp, changed)
    if recorded.keys() != values.keys() or (at is not None and at <= world.now):
        # The pods start anew anyway, so changes that would wait for a later slot come along. The latest ones stay
        # behind: the pods may miss a further change that looks the same.
        over = [_changed_at(each) + RESOLUTION <= world.now for each in changed]
        values |= {each.place: each.version or "" for each, is_over in zip(changed, over, strict=True) if is_over}
        at, users = _next_slot(webapp, [each for each, is_over in zip(changed, over, strict=True) if not is_over])
    return Restart(",".join(f"{place}={version}" for place, version in sorted(values.items())), at, users)


def _next_slot(webapp: WebApp, changed: list[_Referenced]) -> tuple[datetime | None, int]:
    """Return the first slot, and the number of WebApps with its object."""
    users = [each.reference.users for each in changed]
    slots = [(slot(webapp.uid, _changed_at(each), count), count) for each, count in zip(changed, users, strict=True)]
    return min(slots, default=(None, 1))


def slot(uid: str, changed: datetime, users: int) -> datetime:
    """Return the time of the restart after a change.

    Time is divided in windows whose length grows with the number of users, and each WebApp has its own moment in every
    window. The moment depends on nothing else: it stays after a restart of the operator, and further changes before it
    do not postpone it. The moments of a longer window are among those of a shorter one. So a further user brings none
    forward: many could lie in the past then, and the restarts would be due at once. A moment sooner than `SETTLE`
    counts as well, because an object may change at the same time in every window.
    """
    earliest = changed + SETTLE
    if users <= 1:
        return earliest
    window = WINDOW_LIMIT
    while window / 2 >= (users - 1) * SECONDS_EACH:
        window /= 2
    share = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8]) / 2**64
    offset = share * WINDOW_LIMIT % window
    windows = math.ceil((changed.timestamp() - offset) / window)
    return max(earliest, datetime.fromtimestamp(windows * window + offset, UTC))


def explained(webapp: WebApp, health: Health, world: World) -> Explanation:
    """Add to the health of a complete Deployment why changes restart nothing, or when they will.

    An object that may be missing is not reported: its absence is no error.
    """
    restart = restart_of(webapp, world)
    if restart is None or health.message:
        return Explanation(health if health.message else HEALTHY)
    referenced = _referenced(webapp, world)
    unseen = [each for each in referenced if each.reference.unseen is not None]
    absent = [each for each in referenced if each.reference.unseen is None and each.observed is None]
    missing = [each for each in absent if not may_be_missing(webapp, each.kind, each.name)]
    if unseen:
        return Explanation(_not_watched(webapp, unseen))
    if missing:
        return Explanation(_not_found(webapp, missing))
    if restart.at is not None and restart.at - world.now > _WORTH_TELLING:
        return Explanation(_scheduled(restart.at, restart.users), restart.at)
    return Explanation(HEALTHY)


def _not_watched(webapp: WebApp, unseen: list[_Referenced]) -> Health:
    first = unseen[0]
    problem = f"a change of {_list(unseen)} restarts no pods. {first.reference.unseen}"
    return Health(Level.HEALTHY, "NotWatched", f"{problem}. {_way_to_watch(webapp, first)}")


def _way_to_watch(webapp: WebApp, unseen: _Referenced) -> str:
    """Return the next step for an object that the operator cannot see."""
    if not unseen.reference.watched:
        return f"Add {unseen.plural} to --watch-metadata of the operator, or remove spec.restartOn: {edit(webapp)}"
    reason = unseen.reference.unseen or ""
    # An operator of the whole cluster lists all namespaces at once.
    namespace = None if "at the cluster scope" in reason else webapp.namespace
    answers = f"Check that the API server answers: kubectl get {unseen.plural} -n {webapp.namespace}"
    return step_after_refusal(reason, unseen.plural, namespace, unseen.grant) or answers


def _not_found(webapp: WebApp, missing: list[_Referenced]) -> Health:
    one = len(missing) == 1
    problem = f"spec.restartOn names {_list(missing)}, which {'does' if one else 'do'} not exist"
    action = f"The pods restart after {'it is' if one else 'they are'} created"
    advice = f"Create {'it, or correct the name' if one else 'them, or correct the names'} in spec.restartOn"
    return Health(Level.HEALTHY, "NotFound", f"{problem}. {action}. {advice}: {edit(webapp)}")


def _scheduled(at: datetime, users: int) -> Health:
    time, spread = at.strftime("%Y-%m-%dT%H:%M:%SZ"), f", spread over time because {users} WebApps use it"
    problem = f"the data of an object in spec.restartOn has changed. The pods restart at {time}"
    # A single WebApp waits only if the clock of the API server is ahead.
    return Health(Level.HEALTHY, RESTART_SCHEDULED, problem + (spread if users > 1 else ""))


def _list(referenced: list[_Referenced]) -> str:
    return enumerated([f"{each.kind} {each.name}" for each in referenced], 3)


def _referenced(webapp: WebApp, world: World) -> list[_Referenced]:
    wanted = webapp.spec.get("restartOn", {})
    chosen = ((SECRET, wanted.get("secrets", ())), (REFERENCED_CONFIG_MAP, wanted.get("configMaps", ())))
    return [
        _Referenced(kind.kind, kind.plural, name, world.reference(kind, name), kind.grant)
        for kind, names in chosen
        for name in names
    ]


def _recorded(webapp: WebApp, world: World) -> dict[str, str]:
    """Return the records in the pod template of the live Deployment."""
    live = world.live(DEPLOYMENT, webapp.name)
    if live is None or not live.is_child_of(webapp):
        return {}
    template = live.content.get("spec", {}).get("template", {}).get("metadata", {})
    return dict(_RECORD.findall(str(template.get("annotations", {}).get(RESTART_ANNOTATION, ""))))


def _changed_at(each: _Referenced) -> datetime:
    """Return the time of the last change, or the later time at which the operator learned of it.

    After an outage of the operator, all users of an object would be late for their slots, and restart at once. If the
    time is unknown, it is the start of time, so that nothing waits.
    """
    content = each.observed.content if each.observed is not None else {}
    times = [moment(content.get(name)) for name in ("changed", "created")] + [each.reference.since]
    return min(_LATEST, max((time for time in times if time is not None), default=datetime.fromtimestamp(0, UTC)))
