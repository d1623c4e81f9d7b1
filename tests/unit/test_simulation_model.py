"""The main semantics of the model API server. The integration test of this name compares it with the real one."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from model_cluster.api_server import APPLY, JSON_PATCH, MERGE_PATCH, ApiServer, Expired, Refusal, Response

ROOT = Path(__file__).parents[2]
CRDS = [ROOT / "crds" / "webapps.yaml", ROOT / "operator" / "example" / "crd.yaml"]
NAMESPACE = "shop"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
WEBAPPS = f"/apis/coxswain.dev/v1/namespaces/{NAMESPACE}/webapps"


@pytest.fixture
def api() -> ApiServer:
    numbers = itertools.count(1)
    server = ApiServer(
        CRDS,
        restricted_agent="coxswain",
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        new_uid=lambda: f"uid-{next(numbers)}",
    )
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    assert server.request("POST", "/api/v1/namespaces", query={}, body=body).status == 201
    return server


def apply(
    api: ApiServer, path: str, manifest: dict[str, Any], *, manager: str = "one", force: bool = False
) -> Response:
    return api.request(
        "PATCH",
        path,
        query={"fieldManager": manager, "force": "true" if force else "false"},
        body=manifest,
        content_type=APPLY,
        user_agent="coxswain",
    )


def config_map(data: dict[str, str], **metadata: object) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}, "data": data}


def owned(answer: Response) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in answer.body["metadata"].get("managedFields", [])}


def merged(api: ApiServer, path: str, patch: dict[str, Any], agent: str = "kubectl/1") -> Response:
    return api.request("PATCH", path, query={}, body=patch, content_type=MERGE_PATCH, user_agent=agent)


def test_an_apply_creates_and_owns_what_it_names(api: ApiServer) -> None:
    answer = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"}, resourceVersion="1"))
    assert answer.status == 201
    assert owned(answer) == {"one": {"f:data": {"f:x": {}}}}
    again = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"}, resourceVersion="1"))
    assert (again.status, again.body["reason"]) == (409, "Conflict")


def test_an_apply_of_the_same_changes_nothing(api: ApiServer) -> None:
    before = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"}))
    after = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"}))
    assert (after.status, after.body) == (200, before.body)


def test_fields_of_others_conflict_and_force_takes_them(api: ApiServer) -> None:
    apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"}))
    refused = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "2"}), manager="two")
    assert refused.status == 409
    assert [(cause["reason"], cause["field"]) for cause in refused.body["details"]["causes"]] == [
        ("FieldManagerConflict", ".data.x")
    ]
    forced = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "2"}), manager="two", force=True)
    assert owned(forced) == {"two": {"f:data": {"f:x": {}}}}


def test_an_apply_removes_what_it_owned_alone_and_leaves_what_is_shared(api: ApiServer) -> None:
    apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1", "y": "1", "z": "1"}))
    apply(api, f"{CONFIG_MAPS}/a", config_map({"y": "1"}), manager="two")
    answer = apply(api, f"{CONFIG_MAPS}/a", config_map({"z": "1"}))
    assert answer.body["data"] == {"y": "1", "z": "1"}
    assert owned(answer) == {"one": {"f:data": {"f:z": {}}}, "two": {"f:data": {"f:y": {}}}}


def test_a_patch_takes_the_ownership_of_what_it_changes(api: ApiServer) -> None:
    apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1", "y": "1"}))
    answer = merged(api, f"{CONFIG_MAPS}/a", {"data": {"x": "2", "y": "1"}})
    assert owned(answer) == {"one": {"f:data": {"f:y": {}}}, "kubectl": {"f:data": {"f:x": {}}}}


def test_managed_fields_can_be_cleared_and_are_everyones_at_the_next_apply(api: ApiServer) -> None:
    version = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"})).body["metadata"]["resourceVersion"]
    operations = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/metadata/managedFields", "value": [{}]},
    ]
    cleared = api.request("PATCH", f"{CONFIG_MAPS}/a", query={}, body=operations, content_type=JSON_PATCH)
    assert "managedFields" not in cleared.body["metadata"]
    again = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"}))
    assert owned(again) == {
        "before-first-apply": {"f:data": {".": {}, "f:x": {}}},
        "one": {"f:data": {"f:x": {}}},
    }


def test_items_of_lists_are_owned_by_their_keys(api: ApiServer) -> None:
    def manifest(*names: str) -> dict[str, Any]:
        containers = [{"name": name, "image": "i"} for name in names]
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}

    apply(api, f"{DEPLOYMENTS}/a", manifest("app", "sidecar"))
    apply(api, f"{DEPLOYMENTS}/a", manifest("app"), manager="two")
    answer = apply(api, f"{DEPLOYMENTS}/a", manifest("late"))
    containers = answer.body["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["app", "late"]
    assert containers[0]["terminationMessagePolicy"] == "File"
    assert answer.body["metadata"]["generation"] == 2


def test_a_status_is_written_apart(api: ApiServer) -> None:
    manifest = {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "metadata": {"name": "a"},
        "spec": {"image": "i"},
        "status": {"replicas": 7},
    }
    created = apply(api, f"{WEBAPPS}/a", manifest)
    assert created.body["spec"]["replicas"] == 1
    answer = apply(api, f"{WEBAPPS}/a/status", {**manifest, "spec": {"image": "other"}})
    assert (answer.body["spec"]["image"], answer.body["status"]["replicas"]) == ("i", 7)
    assert answer.body["metadata"]["generation"] == 1
    undeclared = apply(api, f"{WEBAPPS}/a/status", {**manifest, "status": {"new": 1}})
    assert undeclared.status == 500
    assert ".status.new: field not declared in schema" in undeclared.body["message"]


def test_preconditions(api: ApiServer) -> None:
    metadata = apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"})).body["metadata"]
    answers = [
        apply(api, f"{CONFIG_MAPS}/a", config_map({}, resourceVersion="2")),
        apply(api, f"{CONFIG_MAPS}/a", config_map({}, uid="another")),
        apply(api, f"{CONFIG_MAPS}/b", {**config_map({}), "metadata": {"name": "b", "uid": metadata["uid"]}}),
        api.request("DELETE", f"{CONFIG_MAPS}/a", query={}, body={"preconditions": {"uid": "another"}}),
        api.request("DELETE", f"{CONFIG_MAPS}/a", query={}, body={"preconditions": {"resourceVersion": "2"}}),
        api.request("DELETE", f"{CONFIG_MAPS}/a", query={}, body={"preconditions": {"uid": metadata["uid"]}}),
    ]
    assert [answer.status for answer in answers] == [409, 422, 409, 409, 409, 200]
    assert answers[1].body["details"]["causes"][0]["field"] == "metadata.uid"


def test_watches_and_lists_of_the_past(api: ApiServer) -> None:
    start = api.version
    for name in "abc":
        apply(
            api, f"{CONFIG_MAPS}/{name}", {**config_map({"x": "1"}), "metadata": {"name": name, "labels": {"l": "1"}}}
        )
    page = api.request("GET", CONFIG_MAPS, query={"limit": "2"}).body
    merged(api, f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"l": "2"}}})
    api.request("DELETE", f"{CONFIG_MAPS}/c", query={})
    rest = api.request("GET", CONFIG_MAPS, query={"limit": "2", "continue": page["metadata"]["continue"]}).body
    assert [item["metadata"]["name"] for item in page["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["metadata"]["resourceVersion"] == page["metadata"]["resourceVersion"]
    events = api.watch_events(CONFIG_MAPS, since=start, label_selector="l=1")
    told = [(event.type, event.object["metadata"]["name"]) for event in events]
    assert told == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("DELETED", "a"), ("DELETED", "c")]
    assert [event.version for event in events] == list(range(start + 1, start + 6))
    api.compact(api.version)
    with pytest.raises(Expired):
        api.watch_events(CONFIG_MAPS, since=start)
    late = api.request("GET", CONFIG_MAPS, query={"continue": page["metadata"]["continue"]})
    assert (late.status, late.body["reason"]) == (410, "Expired")


def test_finalizers_hold_and_orphans_stay(api: ApiServer) -> None:
    owner = apply(api, f"{CONFIG_MAPS}/a", config_map({})).body["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["uid"]}
    child = {**config_map({}), "metadata": {"name": "b", "ownerReferences": [reference]}}
    apply(api, f"{CONFIG_MAPS}/b", child)
    going = api.request("DELETE", f"{CONFIG_MAPS}/a", query={}, body={"propagationPolicy": "Orphan"})
    assert going.body["metadata"]["finalizers"] == ["orphan"]
    while api.collect_garbage():
        pass
    assert api.request("GET", f"{CONFIG_MAPS}/a", query={}).status == 404
    left = api.request("GET", f"{CONFIG_MAPS}/b", query={})
    assert "ownerReferences" not in left.body["metadata"]
    owner = apply(api, f"{CONFIG_MAPS}/a", config_map({})).body["metadata"]
    apply(
        api,
        f"{CONFIG_MAPS}/c",
        {**child, "metadata": {"name": "c", "ownerReferences": [{**reference, "uid": owner["uid"]}]}},
    )
    api.request("DELETE", f"{CONFIG_MAPS}/a", query={}, body={"propagationPolicy": "Background"})
    api.collect_garbage()
    assert api.request("GET", f"{CONFIG_MAPS}/c", query={}).status == 404


def test_terminating_namespaces_take_nothing(api: ApiServer) -> None:
    apply(api, f"{CONFIG_MAPS}/a", config_map({}))
    api.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}", query={})
    refused = apply(api, f"{CONFIG_MAPS}/b", {**config_map({}), "metadata": {"name": "b"}})
    assert refused.status == 403
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    while api.empty_namespaces():
        pass
    assert apply(api, f"{CONFIG_MAPS}/b", {**config_map({}), "metadata": {"name": "b"}}).status == 404


def test_rights_and_policies(api: ApiServer) -> None:
    api.forbidden.add(("patch", "configmaps", NAMESPACE))
    assert apply(api, f"{CONFIG_MAPS}/a", config_map({})).status == 403
    api.forbidden.clear()
    api.forbidden.add(("create", "configmaps", None))
    assert apply(api, f"{CONFIG_MAPS}/a", config_map({})).status == 403, "an apply that creates needs both rights"
    api.forbidden.clear()
    api.admission.append(lambda operation, _obj, _old, _agent: Refusal() if operation == "CREATE" else None)
    assert apply(api, f"{CONFIG_MAPS}/a", config_map({})).status == 403
    api.admission[:] = [lambda _operation, obj, _old, _agent: {**(obj or {}), "data": {"added": "1"}}]
    assert apply(api, f"{CONFIG_MAPS}/a", config_map({})).body["data"] == {"added": "1"}


def test_a_restored_backup_runs_backwards(api: ApiServer) -> None:
    apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "1"}))
    backup, version = api.snapshot(), api.version
    apply(api, f"{CONFIG_MAPS}/a", config_map({"x": "2"}))
    api.restore(backup)
    assert api.version == version
    assert api.request("GET", f"{CONFIG_MAPS}/a", query={}).body["data"] == {"x": "1"}


def test_a_custom_kind_is_served_by_its_schema(api: ApiServer) -> None:
    path = f"/apis/example.coxswain.dev/v1/namespaces/{NAMESPACE}/scheduledtasks"
    task = {"apiVersion": "example.coxswain.dev/v1", "kind": "ScheduledTask", "metadata": {"name": "a"}}
    refused = api.request("POST", path, query={}, body={**task, "spec": {"image": "i"}})
    # The API server names the CEL rules that it has not checked, too.
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["spec.schedule", "<nil>"]
    made = api.request("POST", path, query={}, body={**task, "spec": {"image": "i", "schedule": "s", "unheard": 1}})
    assert made.body["spec"] == {"image": "i", "schedule": "s"}
    assert ApiServer(now=lambda: datetime.now(UTC), new_uid=str).request("GET", path, query={}).status == 404


def test_a_cron_job_has_defaults_and_needs_a_restart_policy(api: ApiServer) -> None:
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/cronjobs/a"

    def manifest(**pod: str) -> dict[str, Any]:
        job = {"template": {"spec": {"containers": [{"name": "a", "image": "i:1"}], **pod}}}
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
        return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": spec}

    refused = apply(api, path, manifest())
    fields = [cause["field"] for cause in refused.body["details"]["causes"]]
    assert fields == ["spec.jobTemplate.spec.template.spec.restartPolicy"]
    spec = apply(api, path, manifest(restartPolicy="Never")).body["spec"]
    template = spec.pop("jobTemplate")["spec"]["template"]["spec"]
    assert template["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert spec == {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }


def test_a_pod_has_no_two_containers_of_one_name(api: ApiServer) -> None:
    """Also not in different lists."""

    def refused(containers: list[str], init_containers: list[str]) -> list[str]:
        lists = {"containers": containers, "initContainers": init_containers}
        pod = {field: [{"name": name, "image": "i:1"} for name in names] for field, names in lists.items()}
        labels = {"app": "a"}
        template = {"metadata": {"labels": labels}, "spec": pod}
        metadata, spec = {"name": "a"}, {"selector": {"matchLabels": labels}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        answer = api.request("POST", DEPLOYMENTS, query={"dryRun": "All"}, body=body)
        return [cause["field"] for cause in answer.body.get("details", {}).get("causes", [])]

    assert refused(["a", "b"], ["c"]) == []
    assert refused(["a", "b"], ["c", "b"]) == ["spec.template.spec.initContainers[1].name"]
    assert refused(["a", "a"], []) == ["spec.template.spec.containers[1].name"]


def test_a_service_keeps_releases_and_allocates_values_by_its_type(api: ApiServer) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/services/a"

    def put(**spec: Any) -> dict[str, Any]:
        spec = {"ports": [{"name": "http", "port": 80}], **spec}
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}
        found: dict[str, Any] = apply(api, path, body, force=True).body
        refused = {"fields": [each["field"] for each in found.get("details", {}).get("causes", ())]}
        return dict(found.get("spec", refused))

    first = put(type="LoadBalancer", externalTrafficPolicy="Local")
    assert first["healthCheckNodePort"] != first["ports"][0]["nodePort"]
    second = put(type="NodePort", externalTrafficPolicy="Local")
    assert (second["clusterIP"], second["ports"]) == (first["clusterIP"], first["ports"])
    assert not {"healthCheckNodePort", "allocateLoadBalancerNodePorts"} & second.keys()
    assert put(type="ClusterIP", clusterIP="None") == {"fields": ["spec.clusterIPs[0]"]}
    third = put(type="ClusterIP")
    assert "nodePort" not in third["ports"][0]
    assert "externalTrafficPolicy" not in third
    assert "clusterIP" not in put(type="ExternalName", externalName="a.example.com")
    assert put(type="ClusterIP", clusterIP="None")["clusterIPs"] == ["None"]
    assert put(type="NodePort") == {"fields": ["spec.clusterIPs[0]"]}
    assert put(type="ClusterIP")["clusterIP"] == "None", "a headless Service silently stays one"
