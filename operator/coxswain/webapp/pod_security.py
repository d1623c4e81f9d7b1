"""Checks a pod template against Pod Security `restricted`, as k8s.io/pod-security-admission 1.36 does.

The operator's own manifest complies, so violations come from other field managers of the Deployment
(https://kubernetes.io/docs/concepts/security/pod-security-standards/).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.conflicts.managed_fields import shown_manager
from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.quote import clean
from coxswain.kernel.status.conflict_report import FIELD_LIMIT

_Object = Mapping[str, Any]

_POD: Path = ("f:spec", "f:template", "f:spec")
_CONTAINERS = ("initContainers", "containers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")

_VOLUMES = {
    *("name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"),
    *("image", "persistentVolumeClaim", "projected", "secret"),
}
_SYSCTLS = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
}
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_PROFILES = ("RuntimeDefault", "Localhost")
_REQUIRED = {
    "f:allowPrivilegeEscalation": "must be false",
    "f:drop": "must contain ALL",
    "f:runAsNonRoot": "must be true",
    "f:seccompProfile": "must have the type RuntimeDefault",
}
"""Fields that every container needs, by the last element of their path: a missing one is a violation, too."""
_APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


@dataclass(frozen=True)
class Violation:
    """A field of the pod template in violation of `restricted`, and the manager that sets it."""

    field: str
    """Field path such as spec.template.spec.hostNetwork."""
    manager: str
    required: str | None = None
    """The condition on a field that may also be missing; None for a field that must not be set."""

    def __post_init__(self) -> None:
        """Make external texts valid."""
        object.__setattr__(self, "field", clean(self.field, FIELD_LIMIT))
        object.__setattr__(self, "manager", shown_manager(self.manager))

    @property
    def text(self) -> str:
        """The violation as a clause."""
        if self.required is None:
            return f"{self.field} is set by {self.manager}"
        return f"{self.field} {self.required} (manager {self.manager})"


def violations(template: _Object) -> list[Path]:
    """Return the paths of violations in a pod template, including missing required fields."""
    pod = template.get("spec", {})
    paths = [*_of_pod(pod), *_of_volumes(pod), *_of_annotations(template.get("metadata", {}))]
    for kind in _CONTAINERS:
        for container in pod.get(kind, []):
            place = (*_POD, f"f:{kind}", _item(container, "name"))
            paths += _of_container(container, place, pod.get("securityContext", {}))
    # A pod with its own user namespace may run as root in it.
    relaxed = ("f:runAsNonRoot", "f:runAsUser") if pod.get("hostUsers") is False else ()
    return [place for place in paths if place[-1] not in relaxed]


def required(place: Path) -> str | None:
    """Return the condition on a field in violation that every container needs; None for any other field."""
    return _REQUIRED.get(place[-1])


def _of_pod(pod: _Object) -> Iterator[Path]:
    yield from ((*_POD, f"f:{name}") for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name))
    security = pod.get("securityContext", {})
    place = (*_POD, "f:securityContext")
    yield from _of_security(security, place)
    if any(sysctl.get("name") not in _SYSCTLS for sysctl in security.get("sysctls", [])):
        yield (*place, "f:sysctls")


def _of_volumes(pod: _Object) -> Iterator[Path]:
    for volume in pod.get("volumes", []):
        yield from ((*_POD, "f:volumes", _item(volume, "name"), f"f:{kind}") for kind in volume.keys() - _VOLUMES)


def _of_annotations(metadata: _Object) -> Iterator[Path]:
    for name, value in metadata.get("annotations", {}).items():
        allowed = value in ("", "runtime/default") or value.startswith("localhost/")
        if name.startswith(_APPARMOR_ANNOTATION) and not allowed:
            yield ("f:spec", "f:template", "f:metadata", "f:annotations", f"f:{name}")


def _of_security(security: _Object, place: Path) -> Iterator[Path]:
    """Yield violations in the security context of a pod or a container."""
    rules: Mapping[tuple[str, ...], Callable[[Any], bool]] = {
        ("runAsNonRoot",): lambda value: value is not False,
        ("runAsUser",): lambda value: value != 0,
        ("windowsOptions", "hostProcess"): lambda value: not value,
        ("seccompProfile", "type"): lambda value: value in (None, *_PROFILES),
        ("appArmorProfile", "type"): lambda value: value in (None, "", *_PROFILES),
        ("seLinuxOptions", "type"): lambda value: (value or "") in _SELINUX_TYPES,
        ("seLinuxOptions", "user"): lambda value: not value,
        ("seLinuxOptions", "role"): lambda value: not value,
    }
    yield from _failing(security, rules, place)


def _of_container(container: _Object, place: Path, pod: _Object) -> Iterator[Path]:
    """Yield violations of a container. `pod` is the pod's security context, with defaults for some fields."""
    security, inside = container.get("securityContext", {}), (*place, "f:securityContext")
    yield from _of_security(security, inside)
    rules: Mapping[tuple[str, ...], Callable[[Any], bool]] = {
        ("privileged",): lambda value: not value,
        ("allowPrivilegeEscalation",): lambda value: value is False,
        ("procMount",): lambda value: value in (None, "", "Default"),
        ("capabilities", "add"): lambda value: set(value or ()) <= {"NET_BIND_SERVICE"},
        ("capabilities", "drop"): lambda value: "ALL" in (value or ()),
    }
    yield from _failing(security, rules, inside)
    if "runAsNonRoot" not in security and "runAsNonRoot" not in pod:
        yield (*inside, "f:runAsNonRoot")
    if "seccompProfile" not in security and "seccompProfile" not in pod:
        yield (*inside, "f:seccompProfile")
    for port in container.get("ports", []):
        if port.get("hostPort"):
            yield (*place, "f:ports", _item(port, "containerPort", "protocol"), "f:hostPort")
    lifecycle = container.get("lifecycle", {})
    handlers: dict[Path, _Object] = {(f"f:{name}",): container.get(name, {}) for name in _PROBES}
    handlers |= {("f:lifecycle", f"f:{name}"): lifecycle.get(name, {}) for name in _HOOKS}
    for path, handler in handlers.items():
        for kind in ("httpGet", "tcpSocket"):
            if handler.get(kind, {}).get("host"):
                yield (*place, *path, f"f:{kind}", "f:host")


def _failing(security: _Object, rules: Mapping[tuple[str, ...], Callable[[Any], bool]], place: Path) -> Iterator[Path]:
    for path, holds in rules.items():
        value: Any = security
        for name in path:
            value = (value or {}).get(name)
        if not holds(value):
            yield (*place, *(f"f:{name}" for name in path))


def _item(item: _Object, *keys: str) -> str:
    """Return the managedFields element of a list item, in the spelling of the API server."""
    return "k:" + json.dumps({key: item.get(key, "") for key in keys}, separators=(",", ":"), ensure_ascii=False)
