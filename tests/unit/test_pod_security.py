"""Each rule of Pod Security `restricted` fails where it should; the status reports it once and names the manager."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from coxswain.kernel.objects.field_paths import ManagedFieldsEntry, text
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.pod_security import violations
from coxswain.webapp.status import violations_of
from rendered import desired
from unit.bench import WEB, Bench
from unit.objects import webapp

POD = "spec.template.spec"
APP = f"{POD}.containers[name=app]"
SECURE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def template() -> dict[str, Any]:
    """Return our pod template with a foreign container and a foreign init container, all compliant with every rule."""
    made: dict[str, Any] = copy.deepcopy(
        desired(webapp(files=[{"path": "/a", "content": "b"}]))[-1]["spec"]["template"]
    )
    made["spec"]["containers"].append({"name": "proxy", "securityContext": copy.deepcopy(SECURE)})
    made["spec"]["initContainers"] = [{"name": "init", "securityContext": copy.deepcopy(SECURE)}]
    return made


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that sets a value at a path, or removes it if the value is an ellipsis."""

    def change(made: dict[str, Any]) -> None:
        holder: Any = made
        for key in path[:-2]:
            holder = holder.setdefault(key, {}) if isinstance(holder, dict) else holder[key]
        if path[-1] is ...:
            del holder[path[-2]]
        else:
            holder[path[-2]] = path[-1]

    return change


def on(*path: Any, container: int = 0, kind: str = "containers") -> Callable[[dict[str, Any]], None]:
    """Return a function that sets a value in a container."""
    return put("spec", kind, container, *path)


INIT = f"{POD}.initContainers[name=init].securityContext"
PROXY = f"{POD}.containers[name=proxy].securityContext"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (put("spec", "hostNetwork", True), f"{POD}.hostNetwork"),
        (put("spec", "hostPID", True), f"{POD}.hostPID"),
        (put("spec", "hostIPC", True), f"{POD}.hostIPC"),
        (put("spec", "volumes", [{"name": "h", "hostPath": {"path": "/"}}]), f"{POD}.volumes[name=h].hostPath"),
        (put("spec", "volumes", [{"name": "n", "nfs": {"server": "x"}}]), f"{POD}.volumes[name=n].nfs"),
        (put("spec", "securityContext", "sysctls", [{"name": "kernel.msgmax"}]), f"{POD}.securityContext.sysctls"),
        (put("spec", "securityContext", "runAsNonRoot", False), f"{POD}.securityContext.runAsNonRoot"),
        (put("spec", "securityContext", "runAsUser", 0), f"{POD}.securityContext.runAsUser"),
        (
            put("spec", "securityContext", "windowsOptions", {"hostProcess": True}),
            f"{POD}.securityContext.windowsOptions.hostProcess",
        ),
        (
            put("spec", "securityContext", "seLinuxOptions", {"type": "spc_t"}),
            f"{POD}.securityContext.seLinuxOptions.type",
        ),
        (put("spec", "securityContext", "seLinuxOptions", {"user": "u"}), f"{POD}.securityContext.seLinuxOptions.user"),
        (put("spec", "securityContext", "seLinuxOptions", {"role": "r"}), f"{POD}.securityContext.seLinuxOptions.role"),
        (
            put("spec", "securityContext", "appArmorProfile", {"type": "Unconfined"}),
            f"{POD}.securityContext.appArmorProfile.type",
        ),
        (
            put("metadata", "annotations", {"container.apparmor.security.beta.kubernetes.io/app": "unconfined"}),
            "spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/app]",
        ),
        (on("securityContext", "privileged", True), f"{APP}.securityContext.privileged"),
        (on("securityContext", "runAsNonRoot", False), f"{APP}.securityContext.runAsNonRoot"),
        (on("securityContext", "runAsUser", 0), f"{APP}.securityContext.runAsUser"),
        (on("securityContext", "procMount", "Unmasked"), f"{APP}.securityContext.procMount"),
        (on("securityContext", "allowPrivilegeEscalation", True), f"{APP}.securityContext.allowPrivilegeEscalation"),
        (on("securityContext", "seccompProfile", {"type": "Unconfined"}), f"{APP}.securityContext.seccompProfile.type"),
        (on("securityContext", "capabilities", "add", ["NET_ADMIN"]), f"{APP}.securityContext.capabilities.add"),
        (on("securityContext", "capabilities", "drop", ["NET_RAW"]), f"{APP}.securityContext.capabilities.drop"),
        (
            on("ports", [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}]),
            f"{APP}.ports[containerPort=80,protocol=TCP].hostPort",
        ),
        (on("livenessProbe", {"httpGet": {"host": "10.0.0.1"}}), f"{APP}.livenessProbe.httpGet.host"),
        (on("lifecycle", {"postStart": {"tcpSocket": {"host": "h"}}}), f"{APP}.lifecycle.postStart.tcpSocket.host"),
        (
            on("securityContext", "allowPrivilegeEscalation", ..., kind="initContainers"),
            f"{INIT}.allowPrivilegeEscalation",
        ),
        (on("securityContext", "capabilities", ..., kind="initContainers"), f"{INIT}.capabilities.drop"),
        (on("securityContext", "privileged", True, container=1), f"{PROXY}.privileged"),
    ],
)
def test_each_rule(change: Callable[[dict[str, Any]], None], place: str) -> None:
    made = template()
    assert violations(made) == []
    change(made)
    assert [text(found) for found in violations(made)] == [place]


def test_what_restricted_allows() -> None:
    made = template()
    on("securityContext", "capabilities", "add", ["NET_BIND_SERVICE"])(made)
    put("spec", "securityContext", "sysctls", [{"name": "net.ipv4.tcp_syncookies", "value": "1"}])(made)
    put("spec", "volumes", [{"name": "a", "emptyDir": {}}, {"name": "b", "image": {"reference": "x"}}])(made)
    assert violations(made) == []


def test_a_container_of_others_leans_on_the_pod_and_ours_does_not() -> None:
    made = template()
    put("spec", "securityContext", "runAsNonRoot", ...)(made)
    put("spec", "securityContext", "seccompProfile", ...)(made)
    missing = ["runAsNonRoot", "seccompProfile"]
    assert [text(found) for found in violations(made)] == [f"{at}.{name}" for at in (INIT, PROXY) for name in missing]


def test_root_in_a_user_namespace_of_its_own_is_allowed() -> None:
    made = template()
    put("spec", "hostUsers", False)(made)
    on("securityContext", "runAsNonRoot", False, container=1)(made)
    assert violations(made) == []


def test_an_empty_template_and_odd_ones_raise_nothing() -> None:
    templates: list[dict[str, Any]] = [{}, {"spec": {}}, {"spec": {"containers": [{}], "volumes": [{}]}}]
    for odd in templates:
        violations(odd)


HOST_NETWORK: dict[str, Any] = {"f:spec": {"f:template": {"f:spec": {"f:hostNetwork": {}}}}}
SIDECAR: dict[str, Any] = {
    "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"side"}': {".": {}, "f:name": {}}}}}}
}


def others(bench: Bench, change: Callable[[dict[str, Any]], None], *entries: ManagedFieldsEntry) -> Projection:
    """Change the Deployment as other managers."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    content: Any = copy.deepcopy(dict(live.content))
    change(content["spec"]["template"])
    bench.writer.version += 1
    changed = dataclasses.replace(live, version=bench.writer.version, content=content, others=entries)
    bench.store.observe(changed)
    return changed


def test_the_managers_are_named() -> None:
    bench = Bench()
    bench.converge()
    live = others(bench, put("spec", "hostNetwork", True), ManagedFieldsEntry("evil", HOST_NETWORK))
    assert [(found.field, found.manager) for found in violations_of(live)] == [(f"{POD}.hostNetwork", "evil")]
    side = [*live.content["spec"]["template"]["spec"]["containers"], {"name": "side"}]
    live = others(
        bench,
        put("spec", "containers", side),
        ManagedFieldsEntry("mesh", SIDECAR),
        ManagedFieldsEntry("evil", HOST_NETWORK),
    )
    assert {(found.field.rpartition(".")[2], found.manager) for found in violations_of(live)} == {
        ("hostNetwork", "evil"),
        ("allowPrivilegeEscalation", "mesh"),
        ("drop", "mesh"),
    }
    assert [found.manager for found in violations_of(dataclasses.replace(live, others=()))] == ["unknown"] * 3


def test_a_missing_field_is_not_called_set() -> None:
    """A container of a chart often lacks a security context. There is nothing to remove."""
    bench = Bench()
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    side = [*live.content["spec"]["template"]["spec"]["containers"], {"name": "side"}]
    others(bench, put("spec", "containers", side), ManagedFieldsEntry("helm", SIDECAR))
    bench.run()
    context = f"{POD}.containers[name=side].securityContext"
    assert bench.events.told[-1].note == (
        f"the pods of Deployment web violate Pod Security 'restricted': {context}.allowPrivilegeEscalation must be "
        f"false (manager helm); {context}.capabilities.drop must contain ALL (manager helm). The operator does not "
        "change these fields. Correct them: kubectl edit deployment web -n shop"
    )


def test_it_is_told_once_and_goes_with_its_cause() -> None:
    bench = Bench()
    bench.converge()
    assert "PodSecurityViolated" not in bench.conditions()
    others(bench, put("spec", "hostNetwork", True), ManagedFieldsEntry("evil", HOST_NETWORK))
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["PodSecurityViolated"] == ("True", "NotRestricted")
    assert bench.conditions()["Ready"] == ("True", "Ready")
    (told,) = bench.events.told
    assert (told.reason, told.type) == ("PodSecurityViolated", "Warning")
    assert f"{POD}.hostNetwork is set by evil" in told.note
    assert told.note.endswith("Remove them: kubectl edit deployment web -n shop")
    bench.run()
    assert (bench.writer.sent, len(bench.events.told)) == ([], 1)
    others(bench, put("spec", "hostNetwork", ...))
    bench.run()
    assert bench.writer.sent == ["status"]
    assert "PodSecurityViolated" not in bench.conditions()
    assert len(bench.events.told) == 1
