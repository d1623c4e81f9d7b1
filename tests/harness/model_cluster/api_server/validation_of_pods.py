"""Validation of Deployments, ReplicaSets, CronJobs and pods: a part of the checks of the API server."""

from model_cluster.api_server.answers import Wrong
from model_cluster.api_server.schema import Object
from model_cluster.api_server.selectors import selects

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def missing(path: str) -> Wrong:
    """Return the error for a missing required field."""
    return Wrong("FieldValueRequired", "Required value", path)


def of_workload(obj: Object) -> list[Wrong]:
    """Return the errors of a Deployment or a ReplicaSet."""
    spec = obj["spec"]
    selector = spec.get("selector") or {}
    template = spec["template"]
    labels = template.get("metadata", {}).get("labels") or {}
    wrongs = [] if selector else [missing("spec.selector")]
    if not selector or not selects(selector, labels):
        message = "Invalid value: `selector` does not match template `labels`"
        wrongs.append(Wrong("FieldValueInvalid", message, "spec.template.metadata.labels"))
    if spec.get("replicas", 0) < 0:
        wrongs.append(Wrong("FieldValueInvalid", "Invalid value: must be greater than or equal to 0", "spec.replicas"))
    wrongs += _of_strategy(spec)
    return wrongs + of_pod_spec(template.get("spec", {}), "spec.template.spec")


def of_cron_job(spec: Object) -> list[Wrong]:
    """Return the errors in the spec of a CronJob."""
    wrongs = [] if spec.get("schedule") else [missing("spec.schedule")]
    if spec.get("schedule") and not _is_schedule(spec["schedule"]):
        wrongs.append(Wrong("FieldValueInvalid", "Invalid value: expected exactly 5 fields", "spec.schedule"))
    if spec["concurrencyPolicy"] not in ("Allow", "Forbid", "Replace"):
        wrongs.append(Wrong("FieldValueNotSupported", "Unsupported value", "spec.concurrencyPolicy"))
    wrongs += [
        Wrong("FieldValueInvalid", "Invalid value: must be greater than or equal to 0", f"spec.{name}")
        for name in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
        if spec.get(name, 0) < 0
    ]
    template = (spec.get("jobTemplate", {}).get("spec") or {}).get("template") or {}
    pod, path = template.get("spec") or {}, "spec.jobTemplate.spec.template.spec"
    if pod.get("restartPolicy", "Always") == "Always":
        wrongs.append(missing(f"{path}.restartPolicy"))
    return wrongs + of_pod_spec(pod, path)


def _is_schedule(schedule: str) -> bool:
    return schedule.startswith("@") or len(schedule.split()) == 5


def of_pod_spec(spec: Object, path: str) -> list[Wrong]:
    """Return the errors in the spec of a pod."""
    containers = spec.get("containers") or []
    if not containers:
        return [missing(f"{path}.containers")]
    wrongs = _of_names(spec, path)
    volumes = {volume["name"] for volume in spec.get("volumes") or []}
    for index, container in enumerate(containers):
        wrongs += _of_container(container, volumes, f"{path}.containers[{index}]")
    return wrongs


def _of_names(spec: Object, path: str) -> list[Wrong]:
    """Return an error for each name that another container or init container has before."""
    wrongs, seen = [], set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or []):
            name = container.get("name")
            if name in seen:
                message = f'Duplicate value: "{name}"'
                wrongs.append(Wrong("FieldValueDuplicate", message, f"{path}.{field}[{index}].name"))
            seen.add(name)
    return wrongs


def _of_container(container: Object, volumes: set[str], path: str) -> list[Wrong]:
    wrongs = [missing(f"{path}.{name}") for name in ("name", "image") if not container.get(name)]
    wrongs += [
        Wrong("FieldValueNotFound", f'Not found: "{mount["name"]}"', f"{path}.volumeMounts[{number}].name")
        for number, mount in enumerate(container.get("volumeMounts") or [])
        if mount["name"] not in volumes
    ]
    wrongs += [
        Wrong("FieldValueInvalid", "Invalid value: more than one source", f"{path}.env[{number}].valueFrom")
        for number, variable in enumerate(container.get("env") or [])
        if len(variable.get("valueFrom") or {}) + bool(variable.get("valueFrom") and variable.get("value")) > 1
    ]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        handlers = [handler for handler in _HANDLERS if handler in container.get(probe, {})]
        message = "Forbidden: may not specify more than 1 handler type"
        wrongs += [Wrong("FieldValueForbidden", message, f"{path}.{probe}.{handler}") for handler in handlers[1:]]
        wrongs += [missing(f"{path}.{probe}")] if probe in container and not handlers else []
    return wrongs


def _of_strategy(spec: Object) -> list[Wrong]:
    wrongs = []
    strategy = spec.get("strategy", {})
    if strategy.get("type") == "Recreate" and "rollingUpdate" in strategy:
        message = "Forbidden: may not be specified when strategy `type` is 'Recreate'"
        wrongs.append(Wrong("FieldValueForbidden", message, "spec.strategy.rollingUpdate"))
    if "progressDeadlineSeconds" in spec and spec["progressDeadlineSeconds"] <= spec.get("minReadySeconds", 0):
        message = "Invalid value: must be greater than minReadySeconds"
        wrongs.append(Wrong("FieldValueInvalid", message, "spec.progressDeadlineSeconds"))
    return wrongs
