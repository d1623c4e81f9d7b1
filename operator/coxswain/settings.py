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
    page_size: int = 500
    """Objects in one page of a LIST, as client-go has it."""
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
    retry_delay_limit: float = 600.0
    """The longest of these, in seconds: never later than the resync would come."""


@dataclass(frozen=True)
class StatusSettings:
    """How often mere progress is written."""

    progress_interval: float = 1.0
    """Seconds for which a change of ready pods or messages waits for the next."""
    counts_interval: float = 30.0
    """Seconds for which a change of replicas or updatedReplicas alone waits: most often readiness comes first."""
    stale_interval: float = 30.0
    """Seconds that the watch has to tell of a WebApp that the server says has changed; then its kind is swept."""


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
    request_timeout: float = 30.0
    """Seconds for one request of ours: the API server gives up after 60 (its --request-timeout)."""
    drain_timeout: float = 10.0
    """Seconds that reconciles in hand have to end after SIGTERM, and the watches after them; the pod has 30 in all."""
    watch: WatchSettings = field(default_factory=WatchSettings)
    queue: QueueSettings = field(default_factory=QueueSettings)
    status: StatusSettings = field(default_factory=StatusSettings)

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
