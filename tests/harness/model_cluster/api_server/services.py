"""Services: defaults, allocated values and validation, which depend on the type.

The values that an update keeps, releases or allocates are those of pkg/registry/core/service in Kubernetes.
"""

from collections.abc import Callable

from model_cluster.api_server.answers import Wrong
from model_cluster.api_server.filling import at, each, filled
from model_cluster.api_server.schema import Object
from model_cluster.api_server.validation_of_pods import missing

CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
_ALWAYS = {"sessionAffinity": "None", "type": CLUSTER_IP}
_FAMILIES = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
_OUTSIDE = (NODE_PORT, LOAD_BALANCER)
"""The types that can be reached from outside of the cluster: they have node ports."""


def defaulted_service(obj: Object) -> Object:
    """Return a Service with the defaults of its type."""

    def port(found: Object) -> Object:
        found = filled(found, {"protocol": "TCP"})
        return filled(found, {"targetPort": found["port"]})

    def spec(found: Object) -> Object:
        found = at(filled(found, _ALWAYS), "ports", each(port))
        if found["type"] != EXTERNAL_NAME:
            found = filled(found, {"internalTrafficPolicy": "Cluster"})
        if found["type"] in _OUTSIDE:
            found = filled(found, {"externalTrafficPolicy": "Cluster"})
        if found["type"] == LOAD_BALANCER:
            found = filled(found, {"allocateLoadBalancerNodePorts": True})
        if found["sessionAffinity"] == "ClientIP":
            return filled(found, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}})
        return _without(found, "sessionAffinityConfig")

    return at(obj, "spec", spec)


def allocated(obj: Object, address: Callable[[], str], node_port: Callable[[], int]) -> Object:
    """Return a Service with the values that its type needs: cluster IP, IP families, node ports, health check port."""

    def spec(found: Object) -> Object:
        if _has_address(found):
            ip = found.get("clusterIP") or address()
            found = filled({**filled(found, _FAMILIES), "clusterIP": ip}, {"clusterIPs": [ip]})
        if found["type"] in _OUTSIDE:
            found = at(found, "ports", each(lambda port: port if port.get("nodePort") else _with_port(port, node_port)))
        if _has_health_check(found) and not found.get("healthCheckNodePort"):
            found = {**found, "healthCheckNodePort": node_port()}
        return found

    return at(obj, "spec", spec)


def changed_service(old: Object, new: Object, address: Callable[[], str], node_port: Callable[[], int]) -> Object:
    """Return a changed Service: it keeps the allocated values that it still needs, and releases all others."""
    before = old["spec"]
    kept = _kept(before, new["spec"])
    made = allocated({**new, "spec": kept}, address, node_port)
    spec = _released(before, made["spec"])
    return new if spec is new["spec"] else {**made, "spec": spec}


def _kept(before: Object, spec: Object) -> Object:
    """Return a spec with the allocated values of the old one, where it sets none."""
    found = spec
    if _has_address(before) and _has_address(spec):
        names = ("clusterIP", "ipFamilies", "ipFamilyPolicy")
        found = filled(found, {name: before[name] for name in names if name in before})
        if found["clusterIP"] == before["clusterIP"]:
            found = filled(found, {"clusterIPs": before["clusterIPs"]})
    if found.get("clusterIP") != before.get("clusterIP") and _same(before, found, "clusterIPs"):
        # The request knows only the singular field.
        found = _without(found, "clusterIPs")
        found = {**found, "clusterIPs": [found["clusterIP"]]} if found.get("clusterIP") else found
    if before["type"] in _OUTSIDE and spec["type"] in _OUTSIDE:
        found = at(found, "ports", lambda ports: _with_known_ports(before.get("ports") or [], ports))
    if _has_health_check(before) and _has_health_check(spec):
        found = filled(found, {"healthCheckNodePort": before["healthCheckNodePort"]})
    return found


def _with_known_ports(before: list[Object], ports: list[Object]) -> list[Object]:
    """Return ports with the node ports of the old ones of the same name, unless another port has taken them."""
    used = {port.get("nodePort") for port in before} & {port.get("nodePort") for port in ports}
    known = {port.get("name"): port["nodePort"] for port in before if port.get("nodePort") not in (None, *used)}
    return [
        {**port, "nodePort": known[port.get("name")]}
        if not port.get("nodePort") and port.get("name") in known
        else port
        for port in ports
    ]


def _released(before: Object, spec: Object) -> Object:
    """Return a spec without values that only the old type needs and that the request has not changed."""
    gone: set[str] = set()
    if _has_address(before) and not _has_address(spec):
        gone |= {"clusterIP", "clusterIPs"} if _same(before, spec, "clusterIP", "clusterIPs") else set()
        names = ("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
        gone |= {name for name in names if _same(before, spec, name)}
    if _has_health_check(before) and not _has_health_check(spec):
        gone |= {"healthCheckNodePort"} if _same(before, spec, "healthCheckNodePort") else set()
    if before["type"] == LOAD_BALANCER != spec["type"]:
        gone |= {n for n in ("allocateLoadBalancerNodePorts", "loadBalancerClass") if _same(before, spec, n)}
    if before["type"] in _OUTSIDE and spec["type"] not in _OUTSIDE:
        gone |= {"externalTrafficPolicy"} if _same(before, spec, "externalTrafficPolicy") else set()
        numbers = {port.get("nodePort") for port in before.get("ports") or ()}
        if {port["nodePort"] for port in spec.get("ports") or () if "nodePort" in port} <= numbers:
            spec = at(spec, "ports", each(lambda port: _without(port, "nodePort")))
    return _without(spec, *gone)


def of_service(obj: Object) -> list[Wrong]:
    """Return the errors of a Service."""
    spec = obj["spec"]
    ports, kind, ip = spec.get("ports") or [], spec["type"], spec.get("clusterIP")
    if not ports and ip != "None" and kind != EXTERNAL_NAME:
        return [missing("spec.ports")]
    wrongs = []
    if kind in _OUTSIDE and ip == "None":
        wrongs.append(Wrong("FieldValueInvalid", f"Invalid value: may not be set to 'None' for {kind}", _FIRST_IP))
    if kind == EXTERNAL_NAME:
        wrongs += [] if spec.get("externalName") else [missing("spec.externalName")]
        if spec.get("clusterIPs"):
            wrongs.append(Wrong("FieldValueForbidden", f"Forbidden: may not be set when `type` is '{kind}'", _ALL_IPS))
    return wrongs + _of_ports(ports, kind) + _of_outside(spec)


def of_service_change(old: Object, new: Object) -> list[Wrong]:
    """Return the errors of a change: the cluster IP is immutable, except from and to ExternalName."""
    before, spec = old["spec"], new["spec"]
    if EXTERNAL_NAME in (before["type"], spec["type"]) or before.get("clusterIP") == spec.get("clusterIP"):
        return []
    return [Wrong("FieldValueInvalid", "Invalid value: may not change once set", _FIRST_IP)]


_FIRST_IP, _ALL_IPS = "spec.clusterIPs[0]", "spec.clusterIPs"


def _of_ports(ports: list[Object], kind: str) -> list[Wrong]:
    wrongs = []
    seen = set()
    for index, port in enumerate(ports):
        name = port.get("name")
        if not name and len(ports) > 1:
            wrongs.append(Wrong("FieldValueRequired", "Required value", f"spec.ports[{index}].name"))
        elif name and name in seen:
            wrongs.append(Wrong("FieldValueDuplicate", f'Duplicate value: "{name}"', f"spec.ports[{index}].name"))
        seen.add(name)
        if port.get("nodePort") and kind not in _OUTSIDE:
            message = f"Forbidden: may not be used when `type` is '{kind}'"
            wrongs.append(Wrong("FieldValueForbidden", message, f"spec.ports[{index}].nodePort"))
    return wrongs


def _of_outside(spec: Object) -> list[Wrong]:
    """Return the errors of fields for traffic from outside of the cluster."""
    wrongs = []
    if spec.get("externalTrafficPolicy") and spec["type"] not in _OUTSIDE:
        message = "Invalid value: may only be set for externally-accessible services"
        wrongs.append(Wrong("FieldValueInvalid", message, "spec.externalTrafficPolicy"))
    if spec.get("healthCheckNodePort") and not _has_health_check(spec):
        message = "Invalid value: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        wrongs.append(Wrong("FieldValueInvalid", message, "spec.healthCheckNodePort"))
    return wrongs


def _has_address(spec: Object) -> bool:
    """Return whether a Service has a cluster IP. None, for a headless one, is a value as well."""
    return bool(spec["type"] != EXTERNAL_NAME)


def _has_health_check(spec: Object) -> bool:
    return (spec["type"], spec.get("externalTrafficPolicy")) == (LOAD_BALANCER, "Local")


def _with_port(port: Object, node_port: Callable[[], int]) -> Object:
    return {**port, "nodePort": node_port()}


def _same(before: Object, spec: Object, *names: str) -> bool:
    return all(before.get(name) == spec.get(name) for name in names)


def _without(found: Object, *names: str) -> Object:
    return {name: value for name, value in found.items() if name not in names} if found.keys() & {*names} else found
