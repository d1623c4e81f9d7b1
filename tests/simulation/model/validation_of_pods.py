"""Which Deployments, ReplicaSets and pods are refused with 422: a small part of what the API server checks."""

from simulation.model.answers import Wrong
from simulation.model.schema import Object

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def missing(path: str) -> Wrong:
    """Say that a field has to be there."""
    return Wrong("FieldValueRequired", "Required value", path)


def of_workload(obj: Object) -> list[Wrong]:
    """Return what is wrong with a Deployment or a ReplicaSet."""
    spec = obj["spec"]
    selector = (spec.get("selector") or {}).get("matchLabels") or {}
    template = spec["template"]
    labels = template.get("metadata", {}).get("labels") or {}
    wrongs = [] if selector else [missing("spec.selector")]
    if not selector or not selector.items() <= labels.items():
        message = "Invalid value: `selector` does not match template `labels`"
        wrongs.append(Wrong("FieldValueInvalid", message, "spec.template.metadata.labels"))
    if spec.get("replicas", 0) < 0:
        wrongs.append(Wrong("FieldValueInvalid", "Invalid value: must be greater than or equal to 0", "spec.replicas"))
    wrongs += _of_strategy(spec)
    return wrongs + of_pod_spec(template.get("spec", {}), "spec.template.spec")


def of_pod_spec(spec: Object, path: str) -> list[Wrong]:
    """Return what is wrong with the spec of a pod."""
    containers = spec.get("containers") or []
    if not containers:
        return [missing(f"{path}.containers")]
    wrongs = []
    volumes = {volume["name"] for volume in spec.get("volumes") or []}
    for index, container in enumerate(containers):
        wrongs += _of_container(container, volumes, f"{path}.containers[{index}]")
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
