"""Settings of the operator, from the command line or the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path


@dataclass(frozen=True)
class WatchSettings:
    """Timeouts and backoffs of the watches."""

    connect_timeout: float = 10.0
    """Timeout in seconds for a connection."""
    list_timeout: float = 60.0
    """Timeout in seconds for one request of Kopf itself: its empty LIST or discovery. Pages of relists have
    `Settings.request_timeout`."""
    server_timeout: int = 300
    """Seconds after which the server ends a watch. Kopf reopens it from the last resourceVersion (nolar/kopf#585: 10 to
    60 minutes work too; shorter times detect a dead connection earlier)."""
    inactivity_timeout: float = 90.0
    """Seconds without data after which Kopf reopens a watch. A watch without events still receives bookmarks every
    minute (nolar/kopf#1267)."""
    silence_timeout: float = 180.0
    """Seconds without activity of a watch (event, bookmark, opening, error response) before Kopf is restarted. After
    the same time again, /healthz fails. Twice `inactivity_timeout`: Kopf first reopens a silent watch by itself, and
    the new connection may hang too."""
    reopen_interval: float = 1.0
    """Minimum seconds between two openings of one watch. Kopf itself reopens a closed watch immediately."""
    page_size: int = 500
    """Maximum objects in one page of a LIST, as in client-go. Pages of large objects are smaller."""
    restart_backoff: float = 1.0
    """Initial backoff in seconds before Kopf is restarted, doubled each time."""
    restart_backoff_limit: float = 30.0
    """Maximum of that backoff in seconds."""
    discovery_interval: float = 30.0
    """Interval in seconds at which discovery is asked for optional kinds that the API server does not serve. Without
    such a kind there is no request."""


@dataclass(frozen=True)
class QueueSettings:
    """Workers and backoffs of the workqueue."""

    workers: int = 16
    """Concurrent reconciles."""
    retry_delay: float = 0.2
    """Initial backoff in seconds of a WebApp after a failure, doubled each time, with jitter."""
    retry_delay_limit: float = 60.0
    """Maximum of that backoff in seconds. It bounds the delay after an outage, or after a permission or a quota is
    restored."""
    recovery_probe_interval: float = 5.0
    """Interval in seconds at which one WebApp is requeued during an outage of the API server to detect its recovery."""


@dataclass(frozen=True)
class StatusSettings:
    """Delays of status writes. They combine several changes of a rollout in one write."""

    progress_interval: float = 1.0
    """Seconds before a change of ready pods or messages is written."""
    counts_interval: float = 1.5
    """Seconds before a change of replicas or updatedReplicas alone is written. Usually readiness changes first."""
    surge_interval: float = 20.0
    """Seconds before surplus ready pods are written. In a rollout the controller then removes an old pod."""
    settle_interval: float = 20.0
    """Maximum seconds before the first status of a generation, until the Deployment controller counts a pod. Usually
    0.1 s; measured 8 s for a hundred simultaneous changes on a busy machine with two CPUs."""
    drift_interval: float = 60.0
    """Minimum seconds between two writes for changes of the drift ledger alone."""
    stale_interval: float = 30.0
    """Seconds for the watch to deliver a newer WebApp after a stale status write. Then WebApps are relisted."""
    removal_interval: float = 10.0
    """Seconds before the deletion of an unneeded child that finalizers delay is reported. The controller of a load
    balancer needs some."""
    backoff_delay: float = 0.1
    """Initial backoff in seconds of a status or a child after two consecutive failed writes, doubled each time. Without
    it, each write by others would cause one more request."""
    backoff_delay_limit: float = 2.0
    """Maximum of that backoff in seconds."""

    def backoff(self, failures: int) -> float:
        """Return the backoff in seconds after this many failures in a row: none after the first one."""
        return 0.0 if failures < 2 else min(self.backoff_delay * 2.0 ** min(failures - 2, 30), self.backoff_delay_limit)


@dataclass(frozen=True)
class WriteWarSettings:
    """Limits for write wars: repeated corrections of a field that another manager keeps overwriting."""

    rounds: int = 5
    """Number of corrections of a field before enforcement is suspended. A person gives up earlier."""
    window: float = 600.0
    """Seconds after a correction before the field is no longer contested. Equal to the usual resync interval, because a
    controller may enforce its value only at its own resync."""
    suspension: float = 60.0
    """Initial suspension of enforcement in seconds, doubled for each further overwrite."""
    suspension_limit: float = 600.0
    """Maximum of that suspension in seconds."""
    recreation_delay: float = 10.0
    """Initial delay in seconds before a repeatedly deleted child is created again, doubled each time. Shorter than for
    a field: without the Deployment or the Service the application is down."""
    recreation_delay_limit: float = 60.0
    """Maximum of that delay in seconds. It bounds the downtime after the last deletion."""


@dataclass(frozen=True)
class ElectionSettings:
    """Durations of the leader election: those of the Kubernetes controllers."""

    lease_duration: float = 15.0
    """Seconds without a renewal after which another replica may acquire the Lease. A whole number: the Lease has no
    fractions."""
    renew_deadline: float = 10.0
    """Seconds from the last successful renewal, at its sending, during which the leader may write. The difference to
    `lease_duration` covers the requests in flight and clocks with different rates."""
    retry_period: float = 2.0
    """Maximum seconds between two requests for the Lease, with jitter."""
    request_timeout: float = 5.0
    """Timeout in seconds of a request for the Lease. Shorter than `renew_deadline`, so that a hung connection leaves
    time for another attempt."""
    release_timeout: float = 9.0
    """Seconds from SIGTERM in which the process waits for the release of the Lease, at least 1 s after the drain. As
    long as the drain, so that the process ends within 10 s, whatever hangs."""
    settling_period: float = 5.0
    """Seconds from the first sight of a replica until others give slots back for it. A replica that starts and ends
    again and again moves no slots."""


@dataclass(frozen=True)
class Settings:
    """All settings of the operator."""

    namespaces: tuple[str, ...] = ()
    """Served namespaces; empty means the whole cluster. Each namespace needs one watch per kind, so serve the whole
    cluster instead of more than a few dozen namespaces."""
    kubeconfig: Path | None = None
    """Path of a kubeconfig. None means the ServiceAccount of the pod or, outside of a pod, kubectl's default."""
    context: str | None = None
    """Context of the kubeconfig. None means its current context."""
    listen: str = "127.0.0.1:8080"
    """HOST:PORT of /healthz and /readyz. Port 0 selects a free port."""
    metrics_listen: str = "127.0.0.1:8081"
    """HOST:PORT of /metrics, or `NO_METRICS`. Port 0 selects a free port."""
    metrics_secure: bool | None = None
    """Whether /metrics has TLS, authentication and authorization. None means: except on a loopback address."""
    metrics_cert_dir: Path | None = None
    """Directory with tls.crt and tls.key, for /metrics with TLS. None means a self-signed certificate."""
    log_format: str = "text"
    """text or json."""
    log_level: str = "info"
    """debug, info, warning or error."""
    watch_metadata: tuple[str, ...] = ()
    """Plurals of kinds whose metadata is watched, such as secrets. The ServiceAccount needs the right to list and watch
    them."""
    leader_elect: bool = True
    """Whether only the holder of a Lease writes. Without it there must be one process at a time."""
    leader_elect_namespace: str | None = None
    """Namespace of the Lease. None means that of the pod or, outside of a pod, of the kubeconfig's context."""
    slots: int = 1
    """Number of slots: ranges of the hash of the namespace, each with a Lease, shared by all replicas. The same number
    in all replicas."""
    resync_interval: float = 600.0
    """Seconds between two resyncs, with 10 % jitter. A resync relists each kind and requeues each parent."""
    taken_name_interval: float = 60.0
    """Seconds between checks of an object with the name of a child, for the permission to adopt it. The watch does not
    report it, because it lacks the operator's label."""
    events_interval: float = 60.0
    """Minimum seconds between two reads of the Events about the pods of a WebApp. The pods are stuck, so nothing else
    changes; each read searches all Events of the namespace."""
    request_timeout: float = 30.0
    """Timeout of a request in seconds. The API server itself gives up after 60 s (its --request-timeout)."""
    requests_in_flight: int = 32
    """Maximum concurrent requests to the API server. By default API Priority and Fairness gives all ServiceAccounts
    together 100 of 245 shares of 600 seats. Workers and relists rarely need more than 24."""
    token_interval: float = 60.0
    """Seconds between reads of the token, as in client-go. The kubelet rotates it long before it expires."""
    drain_timeout: float = 9.0
    """Seconds from SIGTERM to the end of the drain: one half for in-flight reconciles, then for in-flight requests, and
    the rest for the watches. The release of the Lease follows. The pod has 30 s."""
    watch: WatchSettings = field(default_factory=WatchSettings)
    queue: QueueSettings = field(default_factory=QueueSettings)
    status: StatusSettings = field(default_factory=StatusSettings)
    write_war: WriteWarSettings = field(default_factory=WriteWarSettings)
    election: ElectionSettings = field(default_factory=ElectionSettings)

    @property
    def secures_metrics(self) -> bool:
        """Whether /metrics has TLS, authentication and authorization."""
        return not is_loopback(self.metrics_listen) if self.metrics_secure is None else self.metrics_secure

    @property
    def scopes(self) -> Sequence[str | None]:
        """The scopes to list and watch: each namespace, or None for the whole cluster."""
        return self.namespaces or (None,)


def is_loopback(listen: str) -> bool:
    """Return whether only this machine, or this pod, reaches HOST:PORT. A host name other than localhost may not be."""
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


NO_METRICS = "0"
"""The value of `metrics_listen` that turns /metrics off, as with controller-runtime's --metrics-bind-address."""

MAXIMUM_SLOTS = 64
"""Maximum of `slots`. The holder of a slot renews its Lease every two seconds."""

VARIABLES: Mapping[str, str] = {
    "namespaces": "COXSWAIN_NAMESPACES",
    "listen": "COXSWAIN_LISTEN",
    "metrics_listen": "COXSWAIN_METRICS_LISTEN",
    "metrics_secure": "COXSWAIN_METRICS_SECURE",
    "metrics_cert_dir": "COXSWAIN_METRICS_CERT_DIR",
    "log_format": "COXSWAIN_LOG_FORMAT",
    "log_level": "COXSWAIN_LOG_LEVEL",
    "leader_elect": "COXSWAIN_LEADER_ELECT",
    "leader_elect_namespace": "COXSWAIN_LEADER_ELECT_NAMESPACE",
    "slots": "COXSWAIN_SLOTS",
    "watch_metadata": "COXSWAIN_WATCH_METADATA",
    "resync_interval": "COXSWAIN_RESYNC_INTERVAL",
}
"""Settings with an environment variable, and its name."""
