"""The containers of a pod: the main one, and the form of all."""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.quantity import canonical
from coxswain.webapp.canonical import quantities, without_empty
from coxswain.webapp.children.configmap import config_map_name
from coxswain.webapp.children.volumes import main_mounts
from coxswain.webapp.identity import CONTAINER
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.container import EnvironmentVariable, Probe, ReadinessProbe

DEFAULT_TERMINATION_GRACE_SECONDS = 30  # Kubernetes' own

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
    """Return the main container."""
    sleep = pre_stop_seconds(webapp)
    return manifest_of(
        {**webapp.spec, "name": CONTAINER, "readinessProbe": _readiness_probe(webapp)},
        message_policy=webapp.defaults.termination_message_policy,
        config_of=webapp,
        mounts=main_mounts(webapp),
        lifecycle={"preStop": {"sleep": {"seconds": sleep}}} if sleep else None,
    )


def manifest_of(
    fields: Mapping[str, Any],
    *,
    message_policy: str,
    config_of: WebApp | None,
    mounts: Sequence[Manifest],
    lifecycle: Manifest | None = None,
    user: int | None = None,
) -> Manifest:
    """Return a container.

    Args:
        fields: the fields of the spec.
        message_policy: what becomes the termination message.
        config_of: the WebApp whose `config` becomes environment variables.
        mounts: the volume mounts.
        lifecycle: the hooks.
        user: the user id, if it differs from that of the pod.
    """
    resources = fields.get("resources", {})
    return without_empty(
        {
            "name": fields["name"],
            "image": fields["image"],
            "imagePullPolicy": fields.get("imagePullPolicy") or _pull_policy(fields["image"]),
            **{name: fields.get(name) for name in ("command", "args", "workingDir")},
            "ports": [
                _port(port["name"], port["containerPort"], port.get("protocol")) for port in fields.get("ports", [])
            ],
            "env": _environment(config_of, fields.get("env", [])),
            "envFrom": fields.get("envFrom"),
            "resources": {
                "requests": quantities(resources.get("requests", {})),
                "limits": quantities(resources.get("limits", {})),
            },
            "volumeMounts": mounts,
            **{name: _probe(fields.get(name)) for name in ("startupProbe", "readinessProbe", "livenessProbe")},
            "lifecycle": lifecycle,
            "terminationMessagePolicy": message_policy,
            "securityContext": {
                **_SECURITY,
                "readOnlyRootFilesystem": fields.get("readOnlyRootFilesystem"),
                "runAsUser": user,
            },
        }
    )


def pre_stop_seconds(webapp: WebApp) -> int:
    """Return the seconds of the preStop sleep: at most half of the grace period, to leave time to stop.

    It is 0 without a port, because the pod gets no traffic.
    """
    if not webapp.spec.get("ports"):
        return 0
    grace = webapp.spec.get("terminationGracePeriodSeconds", DEFAULT_TERMINATION_GRACE_SECONDS)
    return min(webapp.defaults.pre_stop_sleep_seconds, grace // 2)


def _pull_policy(image: str) -> str:
    """Return Kubernetes' default for an image. The API server sets it once, and keeps it when the image changes.

    https://kubernetes.io/docs/concepts/containers/images/#imagepullpolicy-defaulting
    """
    name, _, digest = image.rpartition("/")[2].partition("@")
    tag = name.partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _port(name: str, number: int, protocol: str | None) -> Manifest:
    return {"name": name, "containerPort": number, "protocol": protocol or "TCP"}


def _environment(config_of: WebApp | None, variables: Sequence[EnvironmentVariable]) -> list[Manifest]:
    """Return the environment. `config` comes first, sorted by name, so `env` can refer to it as $(NAME)."""
    own = {variable["name"] for variable in variables}
    names = [] if config_of is None else sorted(config_of.spec.get("config", {}).keys() - own)
    name = config_map_name(config_of) if config_of is not None and names else ""
    # One entry for each key: envFrom would create variables for the files too.
    config = [{"name": key, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}} for key in names]
    return config + [_variable(variable) for variable in variables]


def _variable(variable: EnvironmentVariable) -> Manifest:
    source = dict(variable.get("valueFrom", {}))
    # The API server treats these two as atomic and sets defaults in them.
    if "fieldRef" in source:
        source["fieldRef"] = {"apiVersion": "v1", **variable["valueFrom"]["fieldRef"]}
    if "resourceFieldRef" in source:
        reference = variable["valueFrom"]["resourceFieldRef"]
        source["resourceFieldRef"] = {**reference, "divisor": canonical(reference.get("divisor", "0"))}
    return {"name": variable["name"], "value": variable.get("value"), "valueFrom": source}


def _probe(probe: Probe | ReadinessProbe | None) -> Manifest:
    # The server does not store a delay of 0.
    return {key: value for key, value in (probe or {}).items() if (key, value) != ("initialDelaySeconds", 0)}


def _readiness_probe(webapp: WebApp) -> Probe | ReadinessProbe:
    if "readinessProbe" in webapp.spec:
        return webapp.spec["readinessProbe"]
    port = next((port for port in webapp.spec.get("ports", []) if port.get("protocol", "TCP") == "TCP"), None)
    return {"tcpSocket": {"port": port["name"]}} if port else {}
