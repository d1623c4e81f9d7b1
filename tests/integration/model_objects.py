"""Random objects for the model and the real API server, and objects made by the operator."""

from typing import Any

from hypothesis import strategies as st

from example.scheduled_task import WORKLOAD as TASKS
from example.scheduled_task import Task
from integration.model_specs import (
    COUNTS,
    CRON_JOB_SPEC,
    DEPLOYMENT_SPEC,
    DEPLOYMENT_STATUS,
    HPA_SPEC,
    INGRESS_SPEC,
    INGRESS_STATUS,
    LEASE_SPEC,
    REPLICA_SET_SPEC,
    ROUTE_SPEC,
    ROUTE_STATUS,
    SELECTOR,
    SERVICE_SPEC,
    TASK_SPEC,
    TASK_STATUS,
    WEBAPP_SPEC,
    WEBAPP_STATUS,
    items,
    some,
    texts,
)
from rendered import Empty, desired
from unit.objects import webapp

PATHS = {
    "WebApp": "/apis/coxswain.dev/v1/namespaces/{}/webapps",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "Service": "/api/v1/namespaces/{}/services",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "ScheduledTask": "/apis/example.coxswain.dev/v1/namespaces/{}/scheduledtasks",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "Ingress": "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
    "HTTPRoute": "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
}
KINDS = tuple(kind for kind in PATHS if kind != "Lease")
"""The kinds of the workloads. Leases are compared in sequences of their own."""
CUSTOM = ("WebApp", "ScheduledTask", "HTTPRoute")
API_VERSIONS = {
    "WebApp": "coxswain.dev/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "ScheduledTask": "example.coxswain.dev/v1",
    "CronJob": "batch/v1",
    "Ingress": "networking.k8s.io/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
    "Lease": "coordination.k8s.io/v1",
}


BODIES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "WebApp": st.fixed_dictionaries({"spec": WEBAPP_SPEC}),
    "ScheduledTask": st.fixed_dictionaries({"spec": TASK_SPEC}),
    "CronJob": st.fixed_dictionaries({"spec": CRON_JOB_SPEC}),
    "Deployment": st.fixed_dictionaries({"spec": DEPLOYMENT_SPEC}),
    "ReplicaSet": st.fixed_dictionaries({"spec": REPLICA_SET_SPEC}),
    "Service": st.fixed_dictionaries({"spec": SERVICE_SPEC}),
    "ConfigMap": some(data=texts("x", "y", "z"), immutable=st.booleans()),
    "ServiceAccount": some(
        automountServiceAccountToken=st.booleans(),
        secrets=items("name", ("s", "t")),
        imagePullSecrets=items("name", ("s",)),
    ),
    "HorizontalPodAutoscaler": st.fixed_dictionaries({"spec": HPA_SPEC}),
    "Ingress": st.fixed_dictionaries({"spec": INGRESS_SPEC}),
    "HTTPRoute": st.fixed_dictionaries({"spec": ROUTE_SPEC}),
    "Lease": st.fixed_dictionaries({"spec": LEASE_SPEC}),
}
STATUSES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "WebApp": WEBAPP_STATUS,
    "ScheduledTask": TASK_STATUS,
    "CronJob": some(
        lastScheduleTime=st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]),
        active=st.sampled_from([[], [{"kind": "Job", "name": "a"}]]),
    ),
    "Deployment": DEPLOYMENT_STATUS,
    "ReplicaSet": COUNTS.map(lambda found: {"replicas": 1, **found}),
    "Ingress": INGRESS_STATUS,
    "HTTPRoute": ROUTE_STATUS,
    "HorizontalPodAutoscaler": some(currentReplicas=st.sampled_from([1, 2]), desiredReplicas=st.sampled_from([0, 2])),
}
WEBAPPS: list[dict[str, Any]] = [
    {},
    {"replicas": 3, "ports": [{"name": "http", "containerPort": 8080}], "config": {"A": "1"}},
    {
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}],
        "service": {"headless": True, "annotations": {"x": "1"}},
        "config": {"A": "1", "B": "2"},
        "files": [{"path": "/etc/a", "content": "a"}, {"path": "/etc/b", "content": "b"}],
        "env": [
            {"name": "C", "value": "3"},
            {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "F", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "envFrom": [{"configMapRef": {"name": "more"}}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}},
        "startupProbe": {"tcpSocket": {"port": "http"}},
        "livenessProbe": {"exec": {"command": ["true"]}},
        "readinessProbe": {"grpc": {"port": 8080}},
        "labels": {"team": "a"},
        "annotations": {"note": "a"},
        "serviceAccount": {"annotations": {"y": "1"}},
        "routes": [{"parentRefs": [{"name": "public", "namespace": "infra"}], "hostnames": ["a.example.com"]}],
        "ingress": {"className": "public", "hosts": [{"host": "a.example.com"}], "annotations": {"x": "1"}},
    },
    {
        "ports": [{"name": "http", "containerPort": 8080}],
        "command": ["run"],
        "args": ["fast"],
        "workingDir": "/",
        "runAsUser": 7,
        "imagePullPolicy": "Always",
        "imagePullSecrets": [{"name": "s"}],
        "rollout": {"strategy": "Recreate", "progressDeadlineSeconds": 5, "revisionHistoryLimit": 2},
        "terminationGracePeriodSeconds": 7,
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "nodeSelector": {"disk": "ssd"},
        "topologySpreadConstraints": [],
        "priorityClassName": "high",
        "service": {"sessionAffinity": "ClientIP", "ports": [{"name": "web", "port": 80}]},
        "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 3},
        "config": {"B": "2"},
    },
]
"""Specs of WebApps: the operator's children for them are applied unchanged."""

OPERATORS: dict[str, list[dict[str, Any]]] = {}
for _spec in WEBAPPS:
    for _made in desired(webapp(**_spec)):
        OPERATORS.setdefault(_made["kind"], []).append(_made)
for _config in ({}, {"A": "1"}, {"A": "2", "B": "1"}):
    _task = Task("shop", "web", "uid-1", 1, {"schedule": "* * * * *", "image": "image:1", "config": _config})
    for _child in TASKS.children:
        for _wanted in _child.all_desired(_task, Empty()):
            OPERATORS.setdefault(_wanted.manifest["kind"], []).append(_wanted.manifest)

PARTIAL: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "Deployment": some(replicas=st.sampled_from([1, 3])).map(lambda spec: {"spec": spec}),
    "WebApp": st.just({"spec": {}}),
    "ScheduledTask": st.just({"spec": {}}),
    "CronJob": st.just({"spec": {"schedule": "0 4 * * *"}}),
    "HTTPRoute": st.just({"spec": {}}),
}


def manifest_of(kind: str, name: str) -> dict[str, Any]:
    """Return the smallest valid object, with the label selected by watches."""
    template: dict[str, dict[str, Any]] = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "app", "image": "image:1"}]},
    }
    never = {**template, "spec": {"restartPolicy": "Never", **template["spec"]}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    specs: dict[str, Any] = {
        "WebApp": {"image": "image:1"},
        "ScheduledTask": {"schedule": "* * * * *", "image": "image:1"},
        "CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": never}}},
        "Deployment": {"selector": SELECTOR, "template": template},
        "ReplicaSet": {"selector": SELECTOR, "template": template},
        "Service": {"selector": {"app": "a"}, "ports": [{"port": 80}]},
        "HorizontalPodAutoscaler": {"maxReplicas": 3, "scaleTargetRef": target},
        "Ingress": {"rules": [{"host": "a.example.com"}]},
        "HTTPRoute": {},
        "Lease": {"holderIdentity": "a", "leaseDurationSeconds": 15},
    }
    spec = {"spec": specs[kind]} if kind in specs else {}
    return {**identity(kind, name), "metadata": {"name": name, "labels": {"x": "1"}}, **spec}


def identity(kind: str, name: str) -> dict[str, Any]:
    """Return the fields that identify an object."""
    return {"apiVersion": API_VERSIONS.get(kind, "v1"), "kind": kind, "metadata": {"name": name}}
