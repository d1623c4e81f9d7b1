"""The plugin on the model API server: kubectl is a function that a test can read and break."""

import argparse
import functools
import io
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl

import yaml

from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import HTTP_ROUTE, WEBAPP
from coxswain.webapp.releases import render
from coxswain.webapp.workload import WORKLOAD
from kubectl_coxswain.arguments import kubectl_of, parse
from kubectl_coxswain.kubectl import Completed
from kubectl_coxswain.names import CONTROLLER_REVISION
from kubectl_coxswain.problems import Problem
from kubectl_coxswain.screen import Screen
from kubectl_coxswain.session import Session
from model_cluster.api_server import APPLY, JSON_PATCH, MERGE_PATCH, Response
from unit.model_bench import ModelBench, Saved
from yaml_files import webapp_schema

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
EVENTS = Kind("", "v1", "Event", "events")
UNMODELLED = (EVENTS,)
"""Kinds that the model lacks: a test gives their objects."""


class FakeKubectl:
    """Answers the runs of kubectl from the model API server."""

    def __init__(self, bench: ModelBench) -> None:
        self.bench = bench
        self._lock = Lock()
        """The plugin runs kubectl in several threads, and a dry run changes the model and restores it."""
        self.calls: list[tuple[str, ...]] = []
        self.limits: list[float | None] = []
        """The seconds that each run may take."""
        self.more: dict[Kind, list[dict[str, Any]]] = {kind: [] for kind in UNMODELLED}
        self.forbidden: set[tuple[str, str]] = set()
        """Missing rights: verb and plural."""
        self.unserved: set[str] = {HTTP_ROUTE.plural}
        self.before: Callable[[Sequence[str]], None] = lambda _: None
        """Called before each run."""
        self.stderr: str | None = None
        """If set, every run fails with this text."""
        self.patches: list[str] = []
        """The standard input of each patch."""
        self.context_namespace = "shop"

    def __call__(self, arguments: Sequence[str], stdin: str | None = None, seconds: float | None = None) -> Completed:
        """Run kubectl."""
        self.calls.append(tuple(arguments))
        self.limits.append(seconds)
        self.before(arguments)
        if self.stderr is not None:
            return Completed(1, "", self.stderr)
        words = [word for word in arguments if not word.startswith(("--context", "--request-timeout", "--as-group"))]
        with self._lock:
            return self._commands()[words[0]](words[1:], stdin)

    def _commands(self) -> Mapping[str, Callable[[list[str], str | None], Completed]]:
        return {
            "get": self._get,
            "config": lambda *_: Completed(0, self.context_namespace, ""),
            "create": self._parse,
            "apply": self._apply,
            "patch": self._patch,
            "annotate": self._annotate,
            "rollout": lambda *_: Completed(0, "", ""),
            "version": lambda *_: Completed(0, json.dumps({"clientVersion": {"gitVersion": "v1.36.3"}}), ""),
        }

    def _get(self, words: list[str], _: str | None) -> Completed:
        path, _, query = words[-1].partition("?")
        fixed = {"/version": {"gitVersion": "v1.36.3"}, f"/openapi/v3{WEBAPP.group_path}": _openapi()}
        if path in fixed:
            return Completed(0, json.dumps(fixed[path]), "")
        kind, name = self._kind_of(path)
        if kind is not None and kind.plural in self.unserved:
            return Completed(1, "", "Error from server (NotFound): the server could not find the requested resource")
        verb = "get" if name else "list"
        if kind is not None and (verb, kind.plural) in self.forbidden:
            return self._denied(verb, kind)
        if kind in self.more:
            return Completed(0, json.dumps({"items": self.more[kind]}), "")
        answer = self.bench.api.request("GET", path, query=dict(parse_qsl(query)))
        return _completed(answer, path)

    def _kind_of(self, path: str) -> tuple[Kind | None, str]:
        kinds = (WEBAPP, *WORKLOAD.projector.kinds.watched, *UNMODELLED)
        for kind in kinds:
            if path.startswith(kind.group_path + "/"):
                words = path.removeprefix(kind.group_path + "/").split("/")
                words = words[2:] if words[0] == "namespaces" and len(words) > 2 else words
                if words[0] == kind.plural:
                    return kind, words[1] if len(words) > 1 else ""
        return None, ""

    @staticmethod
    def _denied(verb: str, kind: Kind) -> Completed:
        text = (
            f'{kind.plural} is forbidden: User "bob" cannot {verb} resource "{kind.plural}" '
            f'in API group "{kind.group}" in the namespace "shop"'
        )
        return Completed(1, "", f"Error from server (Forbidden): {text}")

    @staticmethod
    def _parse(words: list[str], stdin: str | None) -> Completed:
        options = _options(words, "filename", "namespace")
        assert options.filename == "-"
        assert stdin is not None
        found = [each for each in yaml.safe_load_all(stdin) if each]
        return Completed(0, "\n".join(json.dumps(each) for each in found), "")

    def _apply(self, words: list[str], stdin: str | None) -> Completed:
        """Apply to a copy: the real one is a dry run."""
        manifest = json.loads(stdin or "")
        options = _options(words, "field-manager", "filename", "dry-run", "output", "validate")
        assert options.dry_run == "server"
        kind = next(each for each in (WEBAPP, *WORKLOAD.projector.kinds.children) if each.kind == manifest["kind"])
        if ("patch", kind.plural) in self.forbidden:
            return self._denied("patch", kind)
        path = kind.path(manifest["metadata"]["namespace"], manifest["metadata"]["name"])
        before = self.bench.api.snapshot()
        try:
            if "--server-side" in words:
                query = {"fieldManager": options.field_manager or "kubectl", "force": str("--force-conflicts" in words)}
                answer = self._send("PATCH", path, manifest, APPLY, **{**query, "force": query["force"].lower()})
            else:
                answer = self._client_side(kind, path, manifest)
        finally:
            self.bench.api.restore(before)
        return _completed(answer, path)

    def _client_side(self, kind: Kind, path: str, manifest: dict[str, Any]) -> Response:
        live = self._send("GET", path, None, "")
        if live.status == 404:
            return self._send("POST", kind.path(manifest["metadata"]["namespace"]), manifest, "application/json")
        last = json.loads(live.body["metadata"].get("annotations", {}).get(LAST_APPLIED, "{}")).get("spec", {})
        gone = dict.fromkeys(last.keys() - manifest["spec"].keys())
        return self._send("PATCH", path, {"spec": {**manifest["spec"], **gone}}, MERGE_PATCH)

    def _patch(self, words: list[str], stdin: str | None) -> Completed:
        options = _options(words[2:], "namespace", "type", "patch-file", "field-manager", "output", "dry-run")
        assert options.patch_file == "/dev/stdin"
        self.patches.append(stdin or "")
        plural = words[0].partition(".")[0]
        if ("patch", plural) in self.forbidden:
            return self._denied("patch", WEBAPP)
        path = WEBAPP.path(options.namespace, words[1])
        before = self.bench.api.snapshot()
        type_ = JSON_PATCH if options.type == "json" else MERGE_PATCH
        answer = self._send("PATCH", path, json.loads(stdin or ""), type_, fieldManager=options.field_manager)
        if options.dry_run:
            self.bench.api.restore(before)
        return _completed(answer, path)

    def _annotate(self, words: list[str], _: str | None) -> Completed:
        options = _options(words[3:], "namespace", "resource-version")
        plural = words[0].partition(".")[0]
        kind = next(each for each in WORKLOAD.projector.kinds.children if each.plural == plural)
        key, _, value = words[2].partition("=")
        metadata = {"annotations": {key: value}, "resourceVersion": options.resource_version}
        path = kind.path(options.namespace, words[1])
        return _completed(self._send("PATCH", path, {"metadata": metadata}, MERGE_PATCH), path)

    def _send(self, method: str, path: str, body: Any, content_type: str, **query: str) -> Response:
        return self.bench.api.request(
            method, path, query=query, body=body, content_type=content_type, user_agent="kubectl/1"
        )


def _openapi() -> dict[str, Any]:
    """Return the part of the OpenAPI document that names the WebApp."""
    kind = {"group": WEBAPP.group, "version": WEBAPP.version, "kind": WEBAPP.kind}
    schema = {"x-kubernetes-group-version-kind": [kind], "properties": webapp_schema()}
    return {"components": {"schemas": {"dev.coxswain.v1.WebApp": schema}}}


def _options(words: Sequence[str], *names: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in names:
        parser.add_argument(f"--{name}")
    return parser.parse_known_args(list(words))[0]


def _completed(answer: Response, path: str) -> Completed:
    if answer.status < 300:
        return Completed(0, json.dumps(answer.body), "")
    body = answer.body
    message, reason = body.get("message", ""), body.get("reason", "")
    if reason == "Invalid":
        return Completed(1, "", f"The WebApp is invalid: {message} ({path})")
    return Completed(1, "", f"Error from server ({reason}): {message}")


class Terminal(io.StringIO):
    """A stream that a test reads."""


@functools.cache
def _reconciled(spec: str, versions: str) -> Saved:  # noqa: ARG001 - a part of the key: a test may patch them
    """Return the objects after the first reconcile by an operator with these render versions.

    A reconcile takes longer than most commands, so each is done once.
    """
    model = ModelBench(**json.loads(spec))
    model.reconcile()
    return model.save()


class PluginBench:
    """A WebApp on the model with the plugin beside it."""

    def __init__(self, *, reconciled: bool = True, **spec: Any) -> None:
        self.model = ModelBench(**spec)
        if reconciled:
            self.model.load(_reconciled(json.dumps(spec), repr(render.VERSIONS)))
            self.forget_revisions()
        self.kubectl = FakeKubectl(self.model)
        self.out, self.err = "", ""
        self.now = NOW
        self.size: Callable[[], tuple[int, int]] | None = None
        """Returns the present width and height of the terminal, if a test resizes it."""
        self.clock = 0.0
        """Monotonic seconds."""
        self.answers: list[str] = []
        """Answers to the questions."""
        self.questions: list[str] = []
        self.asked: Callable[[], None] = lambda: None
        """Called while a question waits for its answer."""
        self.slept: Callable[[], None] = lambda: None
        """Called while `status --watch` sleeps."""

    @property
    def raw(self) -> dict[str, Any]:
        """The stored WebApp."""
        return self.model.request("GET", WEBAPP.path("shop", "web"), None, "").body

    def status(self, **status: Any) -> None:
        """Set fields of the WebApp's status."""
        path = WEBAPP.path("shop", "web", "status")
        answer = self.model.request("PATCH", path, {"status": status}, MERGE_PATCH)
        assert answer.status == 200, answer.body

    def run(
        self, *words: str, width: int | None = None, colour: bool = False, glyphs: bool = False, stdin: str = ""
    ) -> int:
        """Run a command; `out` and `err` have its output. Returns its exit code."""
        found = parse(words)
        out, err = Terminal(), Terminal()
        session = Session(
            kubectl=kubectl_of(self.kubectl, found),
            screen=Screen(out, width=width, colour=colour, glyphs=glyphs, size=self.size),
            notes=Screen(err, width=width),
            output=found.output or "",
            now=lambda: self.now,
            clock=lambda: self.clock,
            sleep=self._sleep,
            confirmed=self._confirmed,
            stdin=lambda: stdin,
        )
        from importlib import import_module  # noqa: PLC0415

        code = 0
        try:
            code = import_module(f"kubectl_coxswain.commands.{found.command}").run(session, found)
        except Problem as problem:
            session.fail(problem)
            code = problem.code
        finally:
            self.out, self.err = out.getvalue(), err.getvalue()
        return code

    def json(self, *words: str, stdin: str = "") -> Any:
        """Return the output of a command with `-o json`."""
        self.run(*words, "-o", "json", stdin=stdin)
        return json.loads(self.out)

    def forget_revisions(self) -> None:
        """Delete the revisions of the operator, so that a test gives its own ones."""
        path = CONTROLLER_REVISION.path("shop")
        for found in self.model.request("GET", path, None, "").body["items"]:
            self.model.delete(f"{path}/{found['metadata']['name']}")

    def add_revision(self, number: int, spec: Mapping[str, Any], cause: str = "", **notes: str) -> None:
        """Add a revision of the WebApp."""
        annotations = {f"coxswain.dev/{key.replace('_', '-')}": value for key, value in notes.items()}
        if cause:
            annotations["kubernetes.io/change-cause"] = cause
        owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "uid": self.raw["metadata"]["uid"]}
        metadata = {
            "name": f"web-{number:010x}",
            "labels": {"coxswain.dev/webapp": "web"},
            "annotations": annotations,
            "ownerReferences": [{**owner, "controller": True}],
        }
        head = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata}
        self.model.post(CONTROLLER_REVISION.path("shop"), {**head, "revision": number, "data": {"spec": dict(spec)}})

    def _sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.clock += seconds
        self.slept()

    def _confirmed(self, question: str) -> bool:
        self.questions.append(question)
        self.asked()
        if not self.answers:
            raise EOFError
        return self.answers.pop(0) == "y"
