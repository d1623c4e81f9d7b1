"""kubectl's answers to the plugin without its start, which takes twenty times as long as a request.

It knows only the runs of a plan. Other tests run the real kubectl.
"""

import json
from collections.abc import Sequence

from pykube import HTTPClient

from kubectl_coxswain.kubectl import Completed

_RESOURCES = {
    "WebApp": "webapps",
    "Deployment": "deployments",
    "ServiceAccount": "serviceaccounts",
    "ConfigMap": "configmaps",
    "Service": "services",
    "NetworkPolicy": "networkpolicies",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "HTTPRoute": "httproutes",
    "Ingress": "ingresses",
}


class HttpKubectl:
    """Sends the requests of the plugin over HTTP."""

    def __init__(self, api: HTTPClient) -> None:
        """Send requests as the user of `api`."""
        self._api = api

    def __call__(self, arguments: Sequence[str], stdin: str | None = None, seconds: float | None = None) -> Completed:  # noqa: ARG002
        """Run kubectl. The API has a timeout of its own."""
        if arguments[0] == "get":
            return self._answer("get", arguments[-1])
        if arguments[0] == "patch":
            return self._patch(arguments, stdin)
        assert arguments[0] == "apply"
        assert "--server-side" in arguments
        assert stdin is not None
        manifest = json.loads(stdin)
        manager = next(word.partition("=")[2] for word in arguments if word.startswith("--field-manager="))
        return self._answer("patch", f"{_path(manifest)}?dryRun=All&force=true&fieldManager={manager}", stdin)

    def _patch(self, arguments: Sequence[str], patch: str | None) -> Completed:
        """Try the patch of a WebApp."""
        options = dict(word.split("=", 1) for word in arguments if word.startswith("--"))
        assert (options["--type"], options["--dry-run"], options["--patch-file"]) == ("json", "server", "/dev/stdin")
        path = f"/apis/coxswain.dev/v1/namespaces/{options['--namespace']}/webapps/{arguments[2]}?dryRun=All"
        return self._answer("patch", path, patch, "application/json-patch+json")

    def _answer(
        self, method: str, path: str, body: str | None = None, content_type: str = "application/apply-patch+yaml"
    ) -> Completed:
        headers = {"Content-Type": content_type} if body else {}
        answer = self._api.session.request(method.upper(), self._api.url + path, data=body, headers=headers)
        if answer.ok:
            return Completed(0, answer.text, "")
        status = answer.json()
        if status.get("reason") == "Invalid":
            return Completed(1, "", f"The object is invalid: {status['message']}")
        return Completed(1, "", f"Error from server ({status.get('reason', '')}): {status.get('message', '')}")


def _path(manifest: dict[str, object]) -> str:
    version, metadata = str(manifest["apiVersion"]), manifest["metadata"]
    assert isinstance(metadata, dict)
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    resource = _RESOURCES[str(manifest["kind"])]
    return f"{root}/namespaces/{metadata['namespace']}/{resource}/{metadata['name']}"
