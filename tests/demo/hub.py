"""The API server as the hub: its connection to etcd, its watch cache, and the identity of each client."""

import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.clients import direct_session
from cluster.control_plane import ControlPlane
from cluster.readiness import fetch
from demo.sequence import ACTORS

CLIENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
WATCHES, WRITES = 20, 5
TIMEOUT_SECONDS = 20.0
ESTABLISHED, LISTENING = "01", "0A"
"""States of a connection in /proc/net/tcp."""
_WEBAPPS = 'resource="webapps"'
_REASON = re.compile(r'RBAC: allowed by (?:Cluster)?RoleBinding "([^"]+)" of (?P<kind>\w+) "(?P<role>[^"]+)"')


@dataclass(frozen=True)
class FanOut:
    """More watches of WebApps, and then changes of one WebApp."""

    clients: int
    """Watches of WebApps before, by the API server's `apiserver_longrunning_requests`."""
    more_clients: int
    etcd_watches: int
    """Watches of all resources in etcd before, by its `etcd_debugging_mvcc_watcher_total`."""
    more_etcd_watches: int
    writes: int
    received: int
    """Events of WebApps from etcd: `apiserver_watch_cache_events_received_total`."""
    sent: int
    """Events of WebApps to clients: `apiserver_watch_events_total`."""


@dataclass(frozen=True)
class Identity:
    """A participant, as the API server knows it."""

    name: str
    user: str
    credential: str
    rights: tuple[str, ...]
    """The roles that allowed its writes, by the audit log."""


@dataclass(frozen=True)
class Hub:
    """Everything that the page says about the hub."""

    etcd: Mapping[str, int]
    """By program, its connections to etcd."""
    accepted: int
    """The connections that etcd has accepted."""
    fan_out: FanOut
    identities: Sequence[Identity]


def look(cluster: ControlPlane, operator: int | None, namespace: str, name: str) -> Hub:
    """Measure it all on a cluster whose operator, a process, has brought a WebApp about."""
    pids = {program: cluster.pid(program) for program in CLIENTS} | {"coxswain": operator}
    port, etcd = cluster.layout.etcd_port, cluster.pid("etcd")
    return Hub(
        etcd={program: peers(pid).count(port) for program, pid in pids.items() if pid is not None},
        accepted=0 if etcd is None else accepted(etcd, port),
        fan_out=fan_out(cluster, namespace, name),
        identities=identities(cluster.audit_log.read_text(encoding="utf-8").splitlines(), namespace),
    )


def peers(pid: int) -> list[int]:
    """Return the ports that a process is connected to, without those of clients of its own ports."""
    found = _connections(pid)
    own = {local for local, _, state in found if state == LISTENING}
    return [remote for local, remote, state in found if state == ESTABLISHED and local not in own]


def accepted(pid: int, port: int) -> int:
    """Return the number of connections that a process has accepted at a port, without those from itself."""
    found = _connections(pid)
    mine = {local for local, remote, _ in found if remote == port}
    return sum(local == port and state == ESTABLISHED and remote not in mine for local, remote, state in found)


def _connections(pid: int) -> list[tuple[int, int, str]]:
    """Return local port, remote port and state of each TCP socket of a process."""
    sockets = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="utf-8").splitlines()[1:]
    ]
    return [(_port(row[1]), _port(row[2]), row[3]) for row in rows if f"socket:[{row[9]}]" in sockets]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def fan_out(cluster: ControlPlane, namespace: str, name: str) -> FanOut:
    """Open more watches of WebApps, change one a few times, and count the events on both sides of the watch cache.

    Raises TimeoutError if a watch does not receive all changes.
    """
    path = "/apis/coxswain.dev/v1/webapps"
    before, etcd_before = _metrics(cluster), _etcd_watches(cluster)
    with ExitStack() as stack:
        session = stack.enter_context(direct_session(cluster.ca_file, cluster.token))
        version = session.get(f"{cluster.url}{path}?limit=1", timeout=TIMEOUT_SECONDS).json()["metadata"]
        query = f"watch=1&resourceVersion={version['resourceVersion']}"
        streams = [
            stack.enter_context(session.get(f"{cluster.url}{path}?{query}", stream=True, timeout=TIMEOUT_SECONDS))
            for _ in range(WATCHES)
        ]
        opened, etcd_opened = _metrics(cluster), _etcd_watches(cluster)
        for number in range(WRITES):
            cluster.kubectl("annotate", "--overwrite", "--namespace", namespace, "webapp", name, f"touched={number}")
        _read(streams, WRITES)
        after = _metrics(cluster)
    clients = ("apiserver_longrunning_requests", 'verb="WATCH"')
    return FanOut(
        clients=_sum(before, *clients),
        more_clients=_sum(opened, *clients) - _sum(before, *clients),
        etcd_watches=etcd_before,
        more_etcd_watches=etcd_opened - etcd_before,
        writes=WRITES,
        received=_grown(opened, after, "apiserver_watch_cache_events_received_total"),
        sent=_grown(opened, after, "apiserver_watch_events_total"),
    )


def _read(streams: Sequence[Any], lines: int) -> None:
    """Read so many lines of each stream, side by side."""

    def read(stream: Any) -> None:
        found = stream.iter_lines()
        for _ in range(lines):
            next(found)
        done.append(stream)

    done: list[Any] = []
    threads = [threading.Thread(target=read, args=(stream,), daemon=True) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_SECONDS)
    if len(done) < len(streams):
        raise TimeoutError(f"only {len(done)} of {len(streams)} watches received {lines} events")


def _metrics(cluster: ControlPlane) -> list[str]:
    return (fetch(f"{cluster.url}/metrics", cluster.ca_file, cluster.token) or "").splitlines()


def _etcd_watches(cluster: ControlPlane) -> int:
    lines = (fetch(f"{cluster.layout.etcd_url}/metrics") or "").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("etcd_debugging_mvcc_watcher_total "))


def _sum(lines: Iterable[str], metric: str, label: str = "") -> int:
    """Return the sum of a metric over its series about WebApps."""
    mine = (line for line in lines if line.startswith(f"{metric}{{") and _WEBAPPS in line and label in line)
    return sum(int(float(line.rpartition(" ")[2])) for line in mine)


def _grown(before: Iterable[str], after: Iterable[str], metric: str) -> int:
    return _sum(after, metric) - _sum(before, metric)


def identities(lines: Iterable[str], namespace: str) -> list[Identity]:
    """Return the users who wrote in a namespace, by the lines of the audit log, in the order of their first write."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for line in lines:
        event = json.loads(line)
        refused = event.get("responseStatus", {}).get("code", 0) >= 400
        if refused or (event.get("objectRef") or {}).get("namespace") != namespace:
            continue
        if event["verb"] not in ("create", "update", "patch", "delete") or event["user"]["username"] not in ACTORS:
            continue
        user, notes = event["user"], event.get("annotations", {})
        credential = user.get("extra", {}).get("authentication.kubernetes.io/credential-id", [""])[0]
        _, rights = found.setdefault(user["username"], (_credential(credential), {}))
        rights[_right(notes.get("authorization.k8s.io/reason", ""), user.get("groups", []))] = None
    return [Identity(ACTORS[user].name, user, how, tuple(rights)) for user, (how, rights) in found.items()]


def _credential(credential: str) -> str:
    return "ServiceAccount token" if credential.startswith("JTI=") else "token in a file of the API server"


def _right(reason: str, groups: Sequence[str]) -> str:
    allowed = _REASON.search(reason)
    if allowed:
        return f"{allowed['kind']} {allowed['role']}"
    return "group system:masters" if "system:masters" in groups else reason


TEXT = """\
## The hub and etcd

The API server is the only client of etcd. Connections to etcd of each process, from `/proc/PID/net/tcp`:
{etcd}.
etcd has accepted {accepted} connections.

```mermaid
flowchart LR
    etcd -- "one watch of all WebApps" --> cache["watch cache of WebApps"]
    subgraph api [API server]
        cache -- "each event" --> w1["watcher 1"] & w2["watcher 2"] & wn["watcher {last}"]
    end
    w1 --> coxswain
    w2 --> b["client 2"]
    wn --> n["client {last}"]
```

A watch of a client costs no watch of etcd. Each resource has one watch cache, with one watch of etcd. The cache passes
each event on to one watcher for each client. With `--watch-cache=false` each watch of a client costs a watch of etcd
(`tests/integration/test_watch_cache.py`). Measured on this cluster, with the cache:

| | before | {more} more watches of WebApps | {writes} changes of a WebApp |
|---|---|---|---|
| watches of WebApps (`apiserver_longrunning_requests`) | {clients} | +{more_clients} | |
| watches in etcd, of all resources (`etcd_debugging_mvcc_watcher_total`) | {etcd_watches} | +{more_etcd} | |
| events of WebApps from etcd (`apiserver_watch_cache_events_received_total`) | | | +{received} |
| events of WebApps to clients (`apiserver_watch_events_total`) | | | +{sent} |

Each participant is a user of its own. The audit log names its user, and the role that allowed its writes in this
namespace:

| participant | user | authenticated by | authorised by |
|---|---|---|---|
{identities}

- The authorisation by a role is RBAC. The API server authorises each request anew, also for the controllers of
  Kubernetes.
- etcd knows no users of Kubernetes. This cluster reaches it over loopback without TLS; elsewhere the API server
  authenticates with a client certificate, and no other participant needs one.
"""


def section(hub: Hub) -> str:
    """Return the section about the hub."""
    told = ", ".join(f"{program} {count}" for program, count in hub.etcd.items())
    fan = hub.fan_out
    rows = [
        f"| {each.name} | `{each.user}` | {each.credential} | {', '.join(each.rights)} |" for each in hub.identities
    ]
    return TEXT.format(
        etcd=told,
        accepted=hub.accepted,
        last=fan.clients + fan.more_clients,
        more=WATCHES,
        writes=fan.writes,
        clients=fan.clients,
        more_clients=fan.more_clients,
        etcd_watches=fan.etcd_watches,
        more_etcd=fan.more_etcd_watches,
        received=fan.received,
        sent=fan.sent,
        identities="\n".join(rows),
    )
