"""An admission webhook of the tests: it is down, slow, or refuses with a sentence as the reason."""

import json
import ssl
import threading
import time
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from cluster import KubectlError
from cluster.certificates import create_authority
from cluster.ports import free_ports

if TYPE_CHECKING:
    from fault_engine.stand import Stand

WAYS = ("down", "slow", "refusing with a sentence")
REASON = "You may not have this, because it is Friday: ask the platform team!"
"""The reason of the Status. CamelCase is usual here, and a condition's reason must not contain spaces."""
MESSAGE = "nothing new on Fridays"
PARTS = 4
"""The number of webhooks. A chain of slow ones exceeds the operator's request timeout at any time scale."""
REQUEST_TIMEOUT_SECONDS = 30.0
"""The operator's request timeout without a time scale."""
_FORCE_SECONDS = 30.0


class Webhook:
    """Reviews each create of a `{child}` in the namespace of a run."""

    def __init__(self, stand: "Stand", way: str) -> None:
        self._stand = stand
        self._way = way
        self._name = f"{stand.namespace}.faults.example"
        self._server: ThreadingHTTPServer | None = None
        self.delay = stand.choices.scale.seconds(REQUEST_TIMEOUT_SECONDS, least=3.0) / (PARTS - 1)
        self.asked = 0

    def begin(self) -> None:
        """Install the webhooks, and wait until the API server calls them."""
        port = free_ports(1)[0]
        authority = create_authority(self._stand.folder, "webhook-ca")
        if self._way != "down":
            self._serve(port, authority.issue(self._stand.folder, "webhook", ("127.0.0.1",)))
        trust = b64encode(authority.certificate_file.read_bytes()).decode()
        self._stand.kubectl("apply", "-f", "-", object=self._configuration(port, trust))
        deadline = time.monotonic() + _FORCE_SECONDS + PARTS * self.delay
        while time.monotonic() < deadline:
            try:
                self._stand.kubectl("create", "-f", "-", "--dry-run=server", object=self._stand.workload.probe)
            except KubectlError:
                break
            if self.asked:
                break
        self._stand.proxy.mark(f"a webhook is {self._way}")

    def end(self) -> None:
        """Remove the webhooks."""
        self._stand.kubectl("delete", "mutatingwebhookconfiguration", self._name, "--ignore-not-found")
        self._stand.proxy.mark("the webhook is removed")

    def close(self) -> None:
        """Remove the webhooks, and stop the server."""
        self.end()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _serve(self, port: int, files: Any) -> None:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                webhook.asked += 1
                answer = json.dumps(webhook.answer(review["request"]["uid"])).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

            def handle_error(self) -> None:
                """Ignore clients that disconnect."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*files)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, name="webhook", daemon=True).start()

    def answer(self, uid: str) -> dict[str, Any]:
        """Return the response to a review."""
        verdict: dict[str, Any] = {"uid": uid, "allowed": self._way == "slow"}
        if self._way == "slow":
            time.sleep(self.delay)
        else:
            verdict["status"] = {"code": 403, "reason": REASON, "message": MESSAGE}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": verdict}

    def _configuration(self, port: int, trust: str) -> dict[str, Any]:
        child = self._stand.workload.child
        what = {"apiGroups": [child.group], "apiVersions": [child.version], "resources": [child.plural]}
        rule = {**what, "operations": ["CREATE"]}
        webhooks = [
            {
                "name": f"part-{part}.{self._name}",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/{part}", "caBundle": trust},
                "rules": [rule],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{namespace}"}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 30,
            }
            for part in range(PARTS)
        ]
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self._name},
            "webhooks": webhooks,
        }
