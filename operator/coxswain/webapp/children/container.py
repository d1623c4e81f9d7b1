"""The container of a pod, and the volume with its files."""

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.quantity import canonical
from coxswain.webapp.canonical import quantities, without_empty
from coxswain.webapp.children.configmap import config_map_name
from coxswain.webapp.content import file_key
from coxswain.webapp.spec import EnvironmentVariable, Probe, ReadinessProbe, WebApp

CONTAINER = "app"
FILES_VOLUME = "files"

DEFAULT_TERMINATION_GRACE_SECONDS = 30  # Kubernetes' own
PRE_STOP_SLEEP_SECONDS = 5
"""Seconds for which a terminating pod keeps serving, until endpoints and proxies have dropped it."""

_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "privileged": False,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Container fields required by Pod Security `restricted`. Fields of the pod are repeated, because a container field of
another manager would override them (https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted)."""


def container(webapp: WebApp) -> Manifest:
    """Return the container."""
    spec = webapp.spec
    resources = spec.get("resources", {})
    return without_empty(
        {
            "name": CONTAINER,
            "image": spec["image"],
            "imagePullPolicy": spec.get("imagePullPolicy"),
            "command": spec.get("command"),
            "args": spec.get("args"),
            "workingDir": spec.get("workingDir"),
            "ports": [
                _port(port["name"], port["containerPort"], port.get("protocol")) for port in spec.get("ports", [])
            ],
            "env": _environment(webapp),
            "envFrom": spec.get("envFrom"),
            "resources": {
                "requests": quantities(resources.get("requests", {})),
                "limits": quantities(resources.get("limits", {})),
            },
            "volumeMounts": _mounts(webapp),
            "startupProbe": _probe(spec.get("startupProbe")),
            "readinessProbe": _readiness_probe(webapp),
            "livenessProbe": _probe(spec.get("livenessProbe")),
            "lifecycle": {"preStop": {"sleep": {"seconds": pre_stop_seconds(webapp)}}}
            if pre_stop_seconds(webapp)
            else {},
            # The status quotes the end of the log of a failed container (docs/decisions/0011).
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "securityContext": _SECURITY,
        }
    )


def files_volume(webapp: WebApp) -> Manifest | None:
    """Return the volume with the WebApp's files, or None without files."""
    if not webapp.spec.get("files"):
        return None
    return {"name": FILES_VOLUME, "configMap": {"name": config_map_name(webapp)}}


def pre_stop_seconds(webapp: WebApp) -> int:
    """Return the seconds of the preStop sleep: at most half of the grace period, to leave time to stop.

    It is 0 without a port, because the pod gets no traffic.
    """
    if not webapp.spec.get("ports"):
        return 0
    grace = webapp.spec.get("terminationGracePeriodSeconds", DEFAULT_TERMINATION_GRACE_SECONDS)
    return min(PRE_STOP_SLEEP_SECONDS, grace // 2)


def _port(name: str, number: int, protocol: str | None) -> Manifest:
    return {"name": name, "containerPort": number, "protocol": protocol or "TCP"}


def _environment(webapp: WebApp) -> list[Manifest]:
    """Return the environment. `config` comes first, sorted by name, so `env` can refer to it as $(NAME)."""
    # One entry for each key: envFrom would create variables for the files too.
    config = [
        {"name": name, "valueFrom": {"configMapKeyRef": {"name": config_map_name(webapp), "key": name}}}
        for name in sorted(webapp.spec.get("config", {}))
    ]
    return config + [_variable(variable) for variable in webapp.spec.get("env", [])]


def _variable(variable: EnvironmentVariable) -> Manifest:
    source = dict(variable.get("valueFrom", {}))
    # The API server treats these two as atomic and sets defaults in them.
    if "fieldRef" in source:
        source["fieldRef"] = {"apiVersion": "v1", **variable["valueFrom"]["fieldRef"]}
    if "resourceFieldRef" in source:
        reference = variable["valueFrom"]["resourceFieldRef"]
        source["resourceFieldRef"] = {**reference, "divisor": canonical(reference.get("divisor", "0"))}
    return {"name": variable["name"], "value": variable.get("value"), "valueFrom": source}


def _mounts(webapp: WebApp) -> list[Manifest]:
    return [
        {"name": FILES_VOLUME, "mountPath": file["path"], "subPath": file_key(file["path"]), "readOnly": True}
        for file in webapp.spec.get("files", [])
    ]


def _probe(probe: Probe | ReadinessProbe | None) -> Manifest:
    # The server does not store a delay of 0.
    return {key: value for key, value in (probe or {}).items() if (key, value) != ("initialDelaySeconds", 0)}


def _readiness_probe(webapp: WebApp) -> Manifest:
    if "readinessProbe" in webapp.spec:
        return _probe(webapp.spec["readinessProbe"])
    port = next((port for port in webapp.spec.get("ports", []) if port.get("protocol", "TCP") == "TCP"), None)
    return {"tcpSocket": {"port": port["name"]}} if port else {}
