"""The second workload of the kernel, operator/example, with its own rights, against the real API server."""

import json
from collections.abc import Iterator
from pathlib import Path
from signal import Signals
from typing import Any

import pytest

from cluster import ControlPlane, KubectlError
from cluster.operator_process import OperatorProcess
from integration.scene import eventually

EXAMPLE = Path(__file__).parents[2] / "operator" / "example"


class Tasks:
    """ScheduledTasks in a namespace, and their operator."""

    def __init__(self, cluster: ControlPlane, operator: OperatorProcess) -> None:
        self.cluster = cluster
        self.operator = operator

    def kubectl(self, *arguments: str, **named: Any) -> str:
        return self.cluster.kubectl("--namespace", "tasks", *arguments, **named)

    def get(self, kind: str) -> Any:
        """Return the object of a kind named backup, or None."""
        listed = json.loads(self.kubectl("get", kind, "--field-selector", "metadata.name=backup", "--output", "json"))
        return next(iter(listed["items"]), None)

    def condition(self, name: str) -> tuple[str, str]:
        """Return the status and reason of a condition."""
        conditions = (self.get("scheduledtask") or {}).get("status", {}).get("conditions", [])
        return next(((each["status"], each["reason"]) for each in conditions if each["type"] == name), ("", ""))

    def ready(self) -> None:
        eventually(lambda: self.condition("Ready") == ("True", "Ready"), "the ScheduledTask is Ready")

    def patch(self, kind: str, patch: dict[str, Any]) -> None:
        self.kubectl("patch", kind, "backup", "--type", "merge", "--patch", json.dumps(patch))


@pytest.fixture(scope="module")
def tasks(cluster: ControlPlane) -> Iterator[Tasks]:
    """The example operator, with its own ServiceAccount and rights, and one ScheduledTask."""
    cluster.kubectl("apply", "--filename", str(EXAMPLE / "crd.yaml"), "--filename", str(EXAMPLE / "rights.yaml"))
    cluster.wait_for_crds()
    for name in ("tasks", "tasks-system"):
        cluster.kubectl("create", "namespace", name)
    cluster.kubectl("--namespace", "tasks-system", "create", "serviceaccount", "scheduled-tasks")
    account = "--serviceaccount=tasks-system:scheduled-tasks"
    cluster.kubectl("create", "clusterrolebinding", "scheduled-tasks", "--clusterrole=scheduled-tasks", account)
    kubeconfig = cluster.service_account_kubeconfig("tasks-system", "scheduled-tasks")
    log = cluster.directory / "logs" / "example.log"
    operator = OperatorProcess(kubeconfig, log, program=("example",))
    try:
        operator.start()
        made = Tasks(cluster, operator)
        made.kubectl("apply", "--filename", str(EXAMPLE / "backup.yaml"))
        made.ready()
        yield made
    finally:
        operator.stop()
        print("\n".join(operator.logged().splitlines()[-30:]))


def test_a_scheduled_task_gets_its_children_and_a_status(tasks: Tasks) -> None:
    cron_job, config_map = tasks.get("cronjob"), tasks.get("configmap")
    assert config_map["data"] == {"GREETING": "hello"}
    assert cron_job["spec"]["schedule"] == "*/5 * * * *"
    container = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    assert container["envFrom"] == [{"configMapRef": {"name": "backup"}}]
    owner = cron_job["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("ScheduledTask", "backup", True)
    children = tasks.get("scheduledtask")["status"]["children"]
    assert [(child["kind"], child["health"]) for child in children] == [
        ("ConfigMap", "Healthy"),
        ("CronJob", "Healthy"),
    ]


def test_a_name_too_long_for_a_cron_job_is_refused(tasks: Tasks) -> None:
    def create(length: int) -> str:
        spec = {"schedule": "* * * * *", "image": "a"}
        task = {"apiVersion": "example.coxswain.dev/v1", "kind": "ScheduledTask", "metadata": {"name": "a" * length}}
        return tasks.kubectl("create", "--dry-run=server", "--filename=-", input=json.dumps({**task, "spec": spec}))

    assert "created" in create(52)
    with pytest.raises(KubectlError, match=r"metadata\.name: Invalid value: must be at most 52 characters"):
        create(53)


def test_drift_is_corrected_and_recorded(tasks: Tasks) -> None:
    tasks.patch("cronjob", {"spec": {"schedule": "0 0 1 1 *"}})
    eventually(lambda: tasks.get("cronjob")["spec"]["schedule"] == "*/5 * * * *", "the schedule is enforced")
    found = eventually(lambda: tasks.get("scheduledtask")["status"].get("drift"), "the status reports the drift")
    assert (found[0]["object"], found[0]["field"]) == ("CronJob/backup", "spec.schedule")


def test_a_deleted_child_is_created_again(tasks: Tasks) -> None:
    before = tasks.get("configmap")["metadata"]["uid"]
    tasks.kubectl("delete", "configmap", "backup", "--wait=false")
    eventually(
        lambda: (tasks.get("configmap") or {"metadata": {}})["metadata"].get("uid", before) != before, "a new one"
    )
    tasks.ready()


@pytest.mark.slow
def test_a_change_during_a_restart_is_applied(tasks: Tasks) -> None:
    tasks.operator.stop(Signals.SIGKILL)
    tasks.patch("scheduledtask", {"spec": {"schedule": "*/7 * * * *", "config": None}})
    tasks.operator.start()
    eventually(lambda: tasks.get("cronjob")["spec"]["schedule"] == "*/7 * * * *", "the new schedule")
    eventually(lambda: tasks.get("configmap") is None, "the ConfigMap is no longer wanted")
    tasks.patch("scheduledtask", {"spec": {"schedule": "*/5 * * * *", "config": {"GREETING": "hello"}}})
    eventually(lambda: tasks.get("configmap") is not None, "the ConfigMap is wanted again")
    tasks.ready()


def test_a_field_of_another_manager_is_left_under_yield(tasks: Tasks) -> None:
    tasks.patch("scheduledtask", {"spec": {"conflicts": {"policy": "Yield"}}})
    tasks.patch("cronjob", {"spec": {"concurrencyPolicy": "Replace"}})
    eventually(lambda: tasks.condition("Conflicted") == ("True", "Yielded"), "the conflict is reported")
    assert tasks.get("cronjob")["spec"]["concurrencyPolicy"] == "Replace"
    tasks.patch("scheduledtask", {"spec": {"conflicts": None}})
    eventually(lambda: tasks.get("cronjob")["spec"]["concurrencyPolicy"] == "Forbid", "the field is enforced")


@pytest.mark.slow
def test_it_converges_without_requests(tasks: Tasks) -> None:
    tasks.ready()
    audit = tasks.cluster.audit()
    tasks.operator.stop()
    tasks.operator.start()
    eventually(lambda: tasks.get("configmap"), "the operator has had time for a reconcile")
    sent = [each for each in audit.events() if each.user == "system:serviceaccount:tasks-system:scheduled-tasks"]
    assert [each for each in sent if each.verb == "list"] != []
    assert [each for each in sent if each.verb in ("patch", "create", "delete")] == []


def test_deleting_it_deletes_its_children(tasks: Tasks) -> None:
    tasks.kubectl("delete", "scheduledtask", "backup")
    # The garbage collector discovers new kinds of owners twice a minute.
    eventually(lambda: not (tasks.get("cronjob") or tasks.get("configmap")), "the children are gone", timeout=120)
