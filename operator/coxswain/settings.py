"""Settings of the operator: from the command line, or from the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class WatchSettings:
    """How Kopf's watches are kept alive."""

    connect_timeout: float = 10.0
    """Seconds until a connection must stand."""
    list_timeout: float = 60.0
    """Seconds for one LIST or discovery request: a page of 500 objects takes well under one."""
    server_timeout: int = 300
    """Seconds after which the server ends a watch, and it is opened again from the last version
    (nolar/kopf#585: 10 to 60 minutes are fine too; shorter ones find a silent connection earlier)."""
    inactivity_timeout: float = 90.0
    """Seconds without a line after which a watch is opened again: bookmarks come every minute
    (nolar/kopf#1267), so this is silence, not quiet."""
    silence_timeout: float = 180.0
    """Seconds without a sign of life of one watch (an event, a bookmark, a new opening, a refusal) after which Kopf is
    started anew, and after as many more the process is no longer live: twice `inactivity_timeout`, since Kopf opens a
    silent watch anew by itself, and that opening may hang like the one before."""
    reopen_interval: float = 1.0
    """Seconds at least between two openings of one watch: Kopf opens one that the server closes again at once."""
    page_size: int = 500
    """Objects in one page of a LIST at most, as client-go has it; fewer of large ones."""
    restart_backoff: float = 1.0
    """Seconds before Kopf is started again after it ended, doubled each time."""
    restart_backoff_limit: float = 30.0
    """The longest of these, in seconds."""


@dataclass(frozen=True)
class QueueSettings:
    """How the workqueue is worked off."""

    workers: int = 16
    """WebApps that are reconciled at the same time."""
    retry_delay: float = 0.2
    """Seconds before the first retry of a WebApp, doubled each time, with jitter."""
    retry_delay_limit: float = 60.0
    """The longest of these, in seconds: after an outage, or when a right or a quota is given back, nothing waits for
    longer."""
    scout_interval: float = 5.0
    """Seconds after which one of those that fail by the server's fault is tried, to find out whether it is over."""


@dataclass(frozen=True)
class StatusSettings:
    """How often mere progress is written."""

    progress_interval: float = 1.0
    """Seconds for which a change of ready pods or messages waits for the next."""
    counts_interval: float = 1.5
    """Seconds for which a change of replicas or updatedReplicas alone waits: most often readiness comes first."""
    surge_interval: float = 20.0
    """Seconds for which more ready pods than asked for wait: in a rollout the controller now removes an old one."""
    settle_interval: float = 20.0
    """Seconds for which the first status of a generation waits for the controller of Deployments to count a pod. Mostly
    that takes 0.1 s, but 8 s with a hundred WebApps changed at once on a busy machine of two processors."""
    drift_interval: float = 60.0
    """Seconds for which a change of the drift ledger alone waits after the last one that was written."""
    stale_interval: float = 30.0
    """Seconds that the watch has to tell of a WebApp that the server says has changed; then its kind is swept."""
    conflict_delay: float = 0.1
    """Seconds for which a status or a child waits after two conflicts in a row, doubled each time: otherwise each write
    by others would be answered with one more request."""
    conflict_delay_limit: float = 2.0
    """The longest of these, in seconds: the status comes this soon after the last of such writes."""


@dataclass(frozen=True)
class ContestSettings:
    """When a field that someone else sets again and again is left alone for a while."""

    rounds: int = 5
    """How often a field is taken back, before it is left alone: a person who tries something out gives up earlier."""
    window: float = 600.0
    """Seconds after which a field that was taken back counts as settled: as long as the resync, since a controller that
    enforces with each resync of its own comes by no oftener."""
    rest: float = 60.0
    """Seconds for which the field is left alone first, doubled each time that it was taken again."""
    rest_limit: float = 600.0
    """The longest of these, in seconds."""
    absence_rest: float = 10.0
    """Seconds for which a child that is deleted again and again is not created at first, doubled each time. They are
    fewer than for a field: a contested field leaves the pods serving, while nothing serves without the Deployment or
    the Service."""
    absence_rest_limit: float = 60.0
    """The longest of these, in seconds: an outage lasts no longer than that once the deletions have stopped."""


@dataclass(frozen=True)
class Settings:
    """All settings."""

    namespaces: tuple[str, ...] = ()
    """Namespaces that are served; none means the whole cluster. Each costs a watch for each kind, so beyond a few dozen
    namespaces watch the cluster."""
    kubeconfig: Path | None = None
    """The kubeconfig; None means the pod's ServiceAccount or, outside of a pod, kubectl's default."""
    context: str | None = None
    """The context of the kubeconfig; None means its current one."""
    listen: str = "127.0.0.1:8080"
    """Address and port of /healthz and /readyz; port 0 takes a free one."""
    log_format: str = "text"
    """text or json."""
    log_level: str = "info"
    """debug, info, warning or error."""
    resync_interval: float = 600.0
    """Seconds between two sweeps of a kind, give or take a tenth."""
    taken_name_interval: float = 60.0
    """Seconds after which an object that bears a child's name is looked at again, for leave to adopt it: without our
    label no watch tells of it."""
    request_timeout: float = 30.0
    """Seconds for one request of ours: the API server gives up after 60 (its --request-timeout)."""
    requests_in_flight: int = 32
    """Requests of ours that the API server has at a time. By its default priority and fairness all ServiceAccounts
    together share 100 of 245 parts of 600 seats; workers and sweeps rarely need more than 24."""
    token_interval: float = 60.0
    """Seconds after which the token is read again, as in client-go: the kubelet rotates it long before it expires."""
    drain_timeout: float = 9.0
    """Seconds from SIGTERM to the end: half of them reconciles in hand go on, then only requests that are under way,
    and the rest is for the watches. The pod has 30."""
    watch: WatchSettings = field(default_factory=WatchSettings)
    queue: QueueSettings = field(default_factory=QueueSettings)
    status: StatusSettings = field(default_factory=StatusSettings)
    contest: ContestSettings = field(default_factory=ContestSettings)

    @property
    def scopes(self) -> Sequence[str | None]:
        """What is listed and watched, one by one: each namespace, or None for the cluster."""
        return self.namespaces or (None,)


VARIABLES: Mapping[str, str] = {
    "namespaces": "COXSWAIN_NAMESPACES",
    "listen": "COXSWAIN_LISTEN",
    "log_format": "COXSWAIN_LOG_FORMAT",
    "log_level": "COXSWAIN_LOG_LEVEL",
    "resync_interval": "COXSWAIN_RESYNC_INTERVAL",
}
"""The settings that the environment can make, and its variables."""
