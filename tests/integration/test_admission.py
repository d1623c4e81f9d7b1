"""Denials by admission control are retried, unlike validation errors of the object."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cluster import ControlPlane
from cluster.certificates import create_authority
from cluster.clients import direct_session
from coxswain.kernel.api.errors import ErrorClass, Refused
from integration.scene import SPEC, Scene, eventually

GROUP = "admissionregistration.k8s.io/v1"
CODES = (None, 400, 403, 404, 409, 422)
"""Codes of a webhook's response; None leaves the code to the API server."""


def selecting(namespace: str) -> dict[str, Any]:
    return {"matchLabels": {"kubernetes.io/metadata.name": namespace}}


def rule(resource: str, *operations: str) -> dict[str, Any]:
    return {"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": list(operations)}


@contextmanager
def denying(cluster: ControlPlane, namespace: str, resource: str, *operations: str, reason: str = "") -> Iterator[None]:
    """Let a ValidatingAdmissionPolicy deny writes of a resource in a namespace."""
    name = f"deny-{namespace}"
    validation = {"expression": "false", "message": "spec.x: not today"}
    policy = {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule(resource, *operations)]},
            "validations": [{**validation, **({"reason": reason} if reason else {})}],
        },
    }
    binding = {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selecting(namespace)},
        },
    }
    both = {"apiVersion": "v1", "kind": "List", "items": [policy, binding]}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(both))
    try:
        yield
    finally:
        cluster.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)


class Webhook(BaseHTTPRequestHandler):
    """Denies every object with the label `webhook`; the label is the code."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[dict[str, Any]] = {}

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        label = (review["request"]["object"]["metadata"].get("labels") or {}).get("webhook")
        response: dict[str, Any] = {"uid": review["request"]["uid"], "allowed": label is None}
        if label not in (None, "none"):
            response["status"] = {"code": int(label), "message": "policy default not found", "reason": "a sentence"}
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def webhook(cluster: ControlPlane, namespace: str, directory: Path) -> Iterator[None]:
    """Run an admission webhook for the ConfigMaps of a namespace."""
    authority = create_authority(directory, "webhook-ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue(directory, "webhook", ("127.0.0.1",)))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    configuration = {
        "apiVersion": GROUP,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"webhook-{namespace}"},
        "webhooks": [
            {
                "name": "deny.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 5,
                "rules": [rule("configmaps", "CREATE")],
                "namespaceSelector": selecting(namespace),
                "clientConfig": {
                    "url": f"https://127.0.0.1:{server.server_address[1]}/",
                    "caBundle": base64.b64encode(authority.certificate_file.read_bytes()).decode(),
                },
            }
        ],
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(configuration))
    try:
        yield
    finally:
        cluster.kubectl("delete", "validatingwebhookconfiguration", f"webhook-{namespace}")
        server.shutdown()
        server.server_close()


def created(cluster: ControlPlane, namespace: str, name: str, **more: Any) -> Refused | None:
    """Create a ConfigMap; return the refusal, or None."""
    session = direct_session(cluster.ca_file, cluster.token)
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more.pop("metadata", {})}, **more}
    answer = session.post(f"{cluster.url}/api/v1/namespaces/{namespace}/configmaps", json=thing, timeout=30)
    if answer.status_code < 400:
        return None
    print(f"\n{json.dumps(answer.json())}")
    return Refused(answer.status_code, answer.json())


def refused(cluster: ControlPlane, namespace: str, name: str, **more: Any) -> Refused:
    """Create ConfigMaps until one is refused; return the refusal."""
    attempts = iter(range(1000))
    return eventually(lambda: created(cluster, namespace, f"{name}-{next(attempts)}", **more), "refused", pause=0.2)


@pytest.mark.parametrize(("reason", "status"), [("", 422), ("Forbidden", 403), ("RequestEntityTooLarge", 413)])
def test_a_policy(cluster: ControlPlane, namespace: str, reason: str, status: int) -> None:
    with denying(cluster, namespace, "configmaps", "CREATE", reason=reason):
        error = refused(cluster, namespace, "a")
    assert (error.status, error.by_admission, error.error_class) == (status, True, ErrorClass.TRANSIENT)


@pytest.mark.parametrize("code", CODES)
def test_a_webhook(cluster: ControlPlane, namespace: str, tmp_path: Path, code: int | None) -> None:
    with webhook(cluster, namespace, tmp_path):
        error = refused(cluster, namespace, "a", metadata={"labels": {"webhook": str(code or "none")}})
    assert (error.status, error.by_admission, error.error_class) == (code or 400, True, ErrorClass.TRANSIENT)


def test_a_quota(cluster: ControlPlane, namespace: str) -> None:
    quota: dict[str, Any] = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    quota["spec"] = {"hard": {"count/configmaps": "2"}}
    cluster.kubectl("--namespace", namespace, "apply", "-f", "-", input=json.dumps(quota))
    error = refused(cluster, namespace, "a")
    assert (error.status, error.error_class) == (403, ErrorClass.TRANSIENT)
    assert "exceeded quota" in error.message


@pytest.mark.parametrize(
    "more",
    [
        {"data": {"no/key": "admission webhook"}},
        {"metadata": {"labels": {"a": 'admission webhook "x" denied the request'}}},
        {"data": []},
    ],
)
def test_the_object_itself(cluster: ControlPlane, namespace: str, more: dict[str, Any]) -> None:
    error = created(cluster, namespace, "a", **more)
    assert error is not None
    assert (error.by_admission, error.error_class) == (False, ErrorClass.TERMINAL)


def test_a_policy_that_goes_holds_nothing_up(scene: Scene) -> None:
    """No watch event reports the removal: the write is retried with backoff, long before the next resync."""
    mark = scene.cluster.audit()
    with denying(scene.cluster, scene.namespace, "services", "CREATE"):
        probe = ("--namespace", scene.namespace, "create", "service", "clusterip", "probe", "--tcp=80")
        eventually(
            lambda: "created" not in scene.cluster.kubectl(*probe, "--dry-run=server", check=False),
            "the policy is in force",
        )
        scene.apply(spec=SPEC)
        condition = scene.not_ready("AdmissionDenied")
        assert "denied request: spec.x: not today" in condition["message"]
        assert "The operator retries with backoff" in condition["message"]
        assert scene.condition("Stalled")["status"] == "False"
        assert scene.find("deployment"), "its siblings are made"
    scene.ready()
    requests = scene.settled(mark)
    assert requests["patch webapps/status"] <= 5
    assert [event["reason"] for event in scene.events()].count("AdmissionDenied") == 1
