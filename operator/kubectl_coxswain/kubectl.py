"""The boundary to the cluster: each request is a run of kubectl, with the user's authentication and context."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from coxswain.kernel.objects.kinds import Kind
from kubectl_coxswain.problems import Problem, Unavailable, problem_of

Json = dict[str, Any]

MANAGER = "kubectl-coxswain"
"""The field manager of a user's changes with the plugin."""

AS_GIVEN = "surrogateescape"
"""How a standard input is decoded and encoded, so that kubectl gets the same bytes: a manifest may also be UTF-16."""

_PAGE = 500
_WITHOUT_PREFERENCES = ("--output=", "--watch=false", "--watch-only=false", "--selector=")
"""The options that `kubectl get` refuses beside --raw. A given option goes before its default in the user's kuberc.

KUBERC=off would also switch off the user's policy for credential plugins.
"""
_TIMEOUT = "--request-timeout"
_REQUEST_SECONDS = 15
"""The timeout of each request while a WebApp is followed. By default kubectl waits without a limit."""
_STDIN = "/dev/stdin"
"""An argument of a process has at most 128 KiB in Linux, and a spec may be larger. `--patch-file` knows no `-`."""
_NO_CONTEXT = "current-context must exist in order to minify"
"""The answer of `kubectl config view --minify` without a kubeconfig, as in a pod, or without a current context."""
_NAMESPACE = "jsonpath={.contexts[0].context.namespace}"
"""Not {..namespace}: that finds keys of extensions and of plugins, too."""
_IN_POD = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""Variables of each container."""
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""The directory with token and namespace of the pod's ServiceAccount."""


@dataclass(frozen=True)
class Completed:
    """A finished run of kubectl."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """Runs kubectl: the only way to the cluster."""

    def __call__(self, arguments: Sequence[str], stdin: str | None = None, seconds: float | None = None) -> Completed:
        """Run kubectl with these arguments, without a shell, for at most some seconds.

        Raises:
            Problem: there is no kubectl, or it cannot be started.
            Unavailable: it does not end in time.
        """


def run_kubectl(arguments: Sequence[str], stdin: str | None = None, seconds: float | None = None) -> Completed:
    """Run the kubectl in PATH."""
    import subprocess  # noqa: PLC0415 - `--help` and `version --client` do without

    try:
        done = subprocess.run(
            ["kubectl", *arguments],
            input=(stdin or "").encode(errors=AS_GIVEN),
            capture_output=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"kubectl got no answer within {seconds:.0f} s", "check: kubectl cluster-info") from None
    except FileNotFoundError:
        raise Problem(
            "kubectl is not in PATH", "install kubectl: https://kubernetes.io/docs/tasks/tools/#kubectl"
        ) from None
    except OSError as error:
        raise Problem(f"kubectl cannot be started: {error.strerror}", "check it: kubectl version --client") from None
    return Completed(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


class Kubectl:
    """Requests to one cluster."""

    def __init__(
        self,
        run: Run,
        options: Sequence[str] = (),
        namespace: str | None = None,
        left: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Send requests through `run`.

        Args:
            run: runs kubectl.
            options: options for each run, such as --context.
            namespace: the namespace; None for that of the context.
            left: returns the seconds that a run may take; None without a limit.
        """
        self._run = run
        self._options = tuple(options)
        self._namespace = namespace
        self._left = left

    def bounded(self, left: Callable[[], float | None]) -> "Kubectl":
        """Return the same requests with a timeout; `left` returns the seconds that a run may take."""
        given = any(option.startswith(_TIMEOUT) for option in self._options)
        options = self._options if given else (*self._options, f"{_TIMEOUT}={_REQUEST_SECONDS}s")
        return Kubectl(self._run, options, self._namespace, left)

    @cached_property
    def namespace(self) -> str:
        """The chosen namespace, or else that of the context; if it names none, that of the pod, as for kubectl.

        Raises:
            Problem: kubectl has no such context.
        """
        if self._namespace is not None:
            return self._namespace
        try:
            namespace = self.text("config", "view", "--minify", "--output", _NAMESPACE)
        except Problem as problem:
            if problem.message != _NO_CONTEXT:
                raise
            namespace = ""
        return namespace.strip() or _namespace_of_pod(os.environ) or "default"

    def text(self, *arguments: str, stdin: str | None = None) -> str:
        """Return the standard output of a run.

        Raises:
            Problem: kubectl failed.
        """
        done = self._run([*self._options, *arguments], stdin, self._left())
        if done.code != 0:
            raise problem_of(done.err or done.out)
        return done.out

    def get(self, path: str, **query: str) -> Json:
        """Return an object or a list by its URL path.

        Raises:
            Problem: the request failed; see its subclasses.
        """
        return _parsed(self.text("get", *_WITHOUT_PREFERENCES, "--raw", path + _query(query)))

    def one(self, kind: Kind, name: str, namespace: str | None = None) -> Json:
        """Return an object. Raises as `get` does."""
        return self.get(kind.path(namespace or self.namespace, name))

    def all_of(self, kind: Kind, namespace: str | None = None, *, everywhere: bool = False, **query: str) -> list[Json]:
        """Return all objects of a kind, page by page. Raises as `get` does."""
        path = kind.path(None if everywhere else namespace or self.namespace)
        items: list[Json] = []
        page = {**query, "limit": str(_PAGE)}
        while True:
            answer = self.get(path, **page)
            items += answer.get("items") or []
            following = (answer.get("metadata") or {}).get("continue")
            if not following:
                return items
            page["continue"] = following

    def documents(self, file: str, stdin: str | None) -> list[Json]:
        """Return the objects of a manifest file: kubectl parses the YAML.

        Raises:
            Problem: the file is missing or not valid.
        """
        out = self.text(
            *("create", "--dry-run=client", "--validate=false", "--output=json", f"--filename={file}"),
            *(("--namespace", self._namespace) if self._namespace else ()),
            stdin=stdin,
        )
        return _all_parsed(out)

    def apply(self, manifest: Mapping[str, Any], *options: str) -> Json:
        """Return the result of an apply by dry-run; nothing is stored. Raises as `get` does."""
        out = self.text(
            *("apply", "--dry-run=server", "--output=json", *options, "--filename=-"),
            stdin=json.dumps(manifest),
        )
        return _parsed(out)

    def patch(self, resource: str, name: str, namespace: str, patch: Any, *, kind: str, dry_run: bool = False) -> Json:
        """Patch an object and return it.

        Args:
            resource: the plural, with its group.
            name: the name.
            namespace: the namespace.
            patch: the patch.
            kind: its type: merge or json.
            dry_run: whether nothing is stored.

        Raises:
            Problem: the request failed; see its subclasses.
        """
        out = self.text(
            *("patch", resource, name, f"--namespace={namespace}", f"--type={kind}", f"--patch-file={_STDIN}"),
            *(f"--field-manager={MANAGER}", "--output=json", *(("--dry-run=server",) if dry_run else ())),
            stdin=json.dumps(patch),
        )
        return _parsed(out)


def _namespace_of_pod(environment: Mapping[str, str]) -> str:
    """Return the namespace of the pod around this process, by the rule of client-go; empty outside of a pod."""
    token = f"{_ACCOUNT}/token"
    if not (all(environment.get(name) for name in _IN_POD) and os.path.isfile(token)):  # noqa: PTH113 - see below
        return ""
    if environment.get("POD_NAMESPACE"):
        return environment["POD_NAMESPACE"]
    try:
        with open(f"{_ACCOUNT}/namespace", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes 5 ms at each start
            return file.read().strip()
    except OSError:
        return ""


def _query(query: Mapping[str, str]) -> str:
    if not query:
        return ""
    from urllib.parse import urlencode  # noqa: PLC0415 - it takes 10 ms

    return "?" + urlencode(query)


def _parsed(text: str) -> Json:
    return _all_parsed(text)[0]


def _all_parsed(text: str) -> list[Json]:
    """Return the objects of a text with one JSON value after the other; a List counts as its items.

    Values that Python's parser refuses are left out.
    """
    try:
        return _decoded(text)
    except (RecursionError, ValueError):
        from coxswain.kernel.objects.tolerant_json import parsable  # noqa: PLC0415 - few answers need it
    try:
        return _decoded(parsable(text.encode()).decode())
    except ValueError:
        raise Problem("kubectl gave an answer that is not JSON", "run kubectl alone to see it") from None


def _decoded(text: str) -> list[Json]:
    found: list[Json] = []
    decoder, position = json.JSONDecoder(), 0
    text = text.strip()
    while position < len(text):
        value, end = decoder.raw_decode(text, position)
        found += value["items"] if value.get("kind") == "List" else [value]
        position = end + len(text[end:]) - len(text[end:].lstrip())
    return found
