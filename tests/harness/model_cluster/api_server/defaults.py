"""The API server's defaults for the manifests of the simulation.

A complete object is returned as the same object.
"""

from collections.abc import Callable

from model_cluster.api_server.canonical import canonical
from model_cluster.api_server.filling import at, each, filled
from model_cluster.api_server.kinds import (
    CRON_JOB,
    DEPLOYMENT,
    HPA,
    LEASE,
    NAMESPACE,
    POD,
    REPLICA_SET,
    SECRET,
    SERVICE,
    Kind,
)
from model_cluster.api_server.schema import Json, Object
from model_cluster.api_server.services import defaulted_service

_ROLLING = {"maxSurge": "25%", "maxUnavailable": "25%"}
_CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}
_POD = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HPA_METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
]
_CRON_JOB = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}
_NAME_LABEL = "kubernetes.io/metadata.name"
_NEVER = {"lastProbeTime": None, "lastTransitionTime": None}
_MODE = {"defaultMode": 420}


def defaulted(kind: Kind, obj: Object) -> Object:
    """Return an object with its defaults and without empty fields."""
    obj = canonical(kind, obj)
    obj = filled(obj, {name: value for name, value in kind.empty.items() if name != "spec"})
    if kind.schema is not None:
        found: Object = _by_schema(kind.schema, obj)
        return found
    change = _OF_KIND.get(kind)
    return obj if change is None else change(obj)


def _deployment(obj: Object) -> Object:
    def spec(found: Object) -> Object:
        found = filled(
            found, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {}}
        )
        return at(at(found, "strategy", _strategy), "template", _template)

    return at(obj, "spec", spec)


def _strategy(found: Object) -> Object:
    found = filled(found, {"type": "RollingUpdate"})
    if found["type"] != "RollingUpdate":
        return found
    return at(filled(found, {"rollingUpdate": {}}), "rollingUpdate", lambda rolling: filled(rolling, _ROLLING))


def _replica_set(obj: Object) -> Object:
    return at(obj, "spec", lambda spec: at(filled(spec, {"replicas": 1}), "template", _template))


def _template(found: Object) -> Object:
    return at(filled(found, {"metadata": {}}), "spec", _pod_spec)


def _pod_spec(spec: Object) -> Object:
    spec = filled(spec, _POD)
    if spec.get("serviceAccountName"):
        if spec.get("serviceAccount") != spec["serviceAccountName"]:
            spec = {**spec, "serviceAccount": spec["serviceAccountName"]}
    elif spec.get("serviceAccount"):
        spec = {**spec, "serviceAccountName": spec["serviceAccount"]}
    for name in ("containers", "initContainers"):
        spec = at(spec, name, each(_container))
    return at(spec, "volumes", each(_volume))


def _container(found: Object) -> Object:
    found = filled(found, {**_CONTAINER, "imagePullPolicy": _pull_policy(found.get("image", ""))})
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        found = at(found, probe, _probe)
    found = at(found, "ports", each(lambda port: filled(port, {"protocol": "TCP"})))
    return at(found, "env", each(lambda variable: at(variable, "valueFrom", _source)))


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    tagged = "@" in name or (":" in name and not name.endswith(":latest"))
    return "IfNotPresent" if tagged else "Always"


def _probe(found: Object) -> Object:
    found = filled(found, _PROBE)
    found = at(found, "grpc", lambda grpc: filled(grpc, {"service": ""}))
    return at(found, "httpGet", lambda get: filled(get, {"path": "/", "scheme": "HTTP"}))


def _source(found: Object) -> Object:
    found = at(found, "fieldRef", lambda reference: filled(reference, {"apiVersion": "v1"}))
    return at(found, "resourceFieldRef", lambda reference: filled(reference, {"divisor": "0"}))


def _resources(found: Object) -> Object:
    limits = found.get("limits")
    if not limits:
        return found
    requests = filled(found.get("requests") or {}, limits)
    return found if requests is found.get("requests") else {**found, "requests": requests}


def _volume(found: Object) -> Object:
    if not found.keys() - {"name"}:
        return {**found, "emptyDir": {}}
    for source in ("configMap", "secret"):
        found = at(found, source, lambda each: filled(each, _MODE))
    return found


def _pod(obj: Object) -> Object:
    def spec(found: Object) -> Object:
        found = at(_pod_spec(found), "containers", each(lambda one: at(one, "resources", _resources)))
        return filled(found, {"enableServiceLinks": True})

    obj = at(obj, "spec", spec)
    quality = _quality(obj.get("spec", {}).get("containers") or [])
    return at(obj, "status", lambda status: _pod_status(filled(status, {"phase": "Pending", "qosClass": quality})))


def _quality(containers: list[Object]) -> str:
    asked = [container.get("resources", {}) for container in containers]
    if not any(each.get("requests") or each.get("limits") for each in asked):
        return "BestEffort"
    sure = all({"cpu", "memory"} <= each.get("limits", {}).keys() for each in asked)
    return "Guaranteed" if sure and all(each["requests"] == each["limits"] for each in asked) else "Burstable"


def _pod_status(found: Object) -> Object:
    found = at(found, "conditions", each(lambda condition: {**_NEVER, **condition}))
    for name in ("containerStatuses", "initContainerStatuses"):
        found = at(found, name, each(lambda status: filled(status, {"state": {}, "lastState": {}})))
    return found


def _hpa(obj: Object) -> Object:
    return at(obj, "spec", lambda spec: filled(spec, {"minReplicas": 1, "metrics": _HPA_METRICS}))


def _cron_job(obj: Object) -> Object:
    """Fill in a CronJob. A job template gets the defaults of its pod template, but not those of a Job."""

    def job_template(found: Object) -> Object:
        return at(filled(found, {"metadata": {}}), "spec", lambda job: at(job, "template", _template))

    return at(obj, "spec", lambda spec: at(filled(spec, _CRON_JOB), "jobTemplate", job_template))


def _namespace(obj: Object) -> Object:
    labels = {_NAME_LABEL: obj["metadata"].get("name", "")}
    obj = filled(obj, {"spec": {}})
    obj = at(
        obj,
        "metadata",
        lambda metadata: at(filled(metadata, {"labels": labels}), "labels", lambda found: filled(found, labels)),
    )
    return at(obj, "status", lambda status: filled(status, {"phase": "Active"}))


def _by_schema(schema: Object, value: Json) -> Json:
    """Return a value with the defaults of a CRD's schema and without unknown fields."""
    if isinstance(value, dict) and "properties" in schema:
        return _object_by_schema(schema["properties"], value)
    if isinstance(value, list) and "items" in schema:
        found = [_by_schema(schema["items"], item) for item in value]
        same = all(one is other for one, other in zip(value, found, strict=True))
        return value if same else found
    return value


def _object_by_schema(properties: Object, value: Object) -> Object:
    found = {}
    same = True
    for name, below in value.items():
        inside = properties.get(name)
        if inside is None or (below is None and "default" in inside):
            same = False
            continue
        found[name] = below if name == "metadata" else _by_schema(inside, below)
        same = same and found[name] is below
    for name, inside in properties.items():
        if "default" in inside and name not in found:
            found[name] = inside["default"]
            same = False
    return value if same else found


_OF_KIND: dict[Kind, Callable[[Object], Object]] = {
    DEPLOYMENT: _deployment,
    REPLICA_SET: _replica_set,
    POD: _pod,
    SERVICE: defaulted_service,
    SECRET: lambda obj: filled(obj, {"type": "Opaque"}),
    HPA: _hpa,
    CRON_JOB: _cron_job,
    LEASE: lambda obj: filled(obj, {"spec": {}}),
    NAMESPACE: _namespace,
}
