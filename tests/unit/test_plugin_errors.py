"""Each error of the plugin names the problem and the next step."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kubectl_coxswain import kubectl
from kubectl_coxswain.arguments import COMMANDS, kubectl_of, parse
from kubectl_coxswain.kubectl import Kubectl, run_kubectl
from kubectl_coxswain.problems import (
    Conflict,
    Denied,
    Forbidden,
    Invalid,
    NotFound,
    NotLoggedIn,
    NotServed,
    Problem,
    Unavailable,
    problem_of,
)
from unit.plugin_bench import PluginBench
from unit.plugin_states import healthy

REFUSED = (
    'E1123 17:53:32 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list"\n'
    "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?"
)
FORBIDDEN = (
    'Error from server (Forbidden): deployments.apps "web" is forbidden: User "bob" cannot patch resource '
    '"deployments" in API group "apps" in the namespace "shop"'
)
LIST_FORBIDDEN = (
    'Error from server (Forbidden): webapps.coxswain.dev is forbidden: User "bob" cannot list resource "webapps" '
    'in API group "coxswain.dev" at the cluster scope'
)
UNSERVED = (
    'error: resource mapping not found for name: "shop" namespace: "" from "STDIN": '
    'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"\nensure CRDs are installed first'
)
OTHER_NAMESPACE = (
    'error: the namespace from the provided object "a" does not match the namespace "b". '
    "You must pass '--namespace=a' to perform this operation."
)
TOO_LARGE = (
    'Error from server (RequestEntityTooLarge): error when creating "STDIN": Request entity too large: limit is 3145728'
)
MESSAGES = [
    (REFUSED, Unavailable, "the cluster cannot be reached: The connection to the server 127.0.0.1:1 was refused"),
    ("Unable to connect to the server: net/http: TLS handshake timeout", Unavailable, "the cluster cannot be reached"),
    ('error: context "nope" does not exist', Problem, 'context "nope" does not exist'),
    ("error: stat /nonexist: no such file or directory", Problem, "stat /nonexist: no such file or directory"),
    ("error: You must be logged in to the server (Unauthorized)", NotLoggedIn, "does not accept your credentials"),
    ('Error from server (NotFound): webapps.coxswain.dev "web" not found', NotFound, 'webapps.coxswain.dev "web"'),
    ("Error from server (NotFound): the server could not find the requested resource", NotServed, "does not serve"),
    ('error: resource mapping not found: no matches for kind "WebApp" in version "x/v1"', NotServed, "no matches"),
    (FORBIDDEN, Forbidden, "you are not allowed to patch deployments.apps in namespace shop"),
    (LIST_FORBIDDEN, Forbidden, "you are not allowed to list webapps.coxswain.dev in the whole cluster"),
    ('Error from server (Forbidden): pods "web" is forbidden: exceeded quota: pods', Denied, "exceeded quota"),
    (TOO_LARGE, Problem, "Request entity too large: limit is 3145728"),
    ("Error from server (ServiceUnavailable): x", Unavailable, "x"),
    ("Error from server (Timeout): x", Unavailable, "x"),
    ("Error from server (TooManyRequests): x", Unavailable, "x"),
    ("Error from server (Expired): x", Unavailable, "x"),
    ("Error from server: etcdserver: request timed out", Unavailable, "etcdserver: request timed out"),
    ("Error from server (Conflict): Operation cannot be fulfilled", Conflict, "Operation cannot be fulfilled"),
    ('error: Apply failed with 1 conflict: conflict with "x"', Conflict, "Apply failed with 1 conflict"),
    ('The WebApp "web" is invalid: \n* spec.replicas: Invalid value: -1', Invalid, "spec.replicas: Invalid value: -1"),
    ('error: the path "/a.yaml" does not exist', Problem, 'the path "/a.yaml" does not exist'),
    (UNSERVED, NotServed, 'the cluster has no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"'),
    (OTHER_NAMESPACE, Problem, 'the namespace from the provided object "a" does not match the namespace "b"'),
    ("", Problem, "kubectl failed: without a message"),
]


@pytest.mark.parametrize(("stderr", "kind", "message"), MESSAGES)
def test_messages_of_kubectl(stderr: str, kind: type[Problem], message: str) -> None:
    found = problem_of(stderr)
    assert type(found) is kind
    assert message in found.message
    assert found.next_step or kind is NotFound


def test_a_message_cannot_control_the_terminal() -> None:
    assert "\x1b" not in problem_of("Error from server (NotFound): \x1b[31mred\nnew line").message


def test_a_missing_right_names_verb_and_resource_and_how_to_check_it() -> None:
    assert problem_of(FORBIDDEN).next_step == (
        "ask an administrator for the verb patch on deployments.apps; "
        "to check: kubectl auth can-i patch deployments.apps -n shop"
    )
    # Without -A, kubectl answers for the namespace of the context.
    assert problem_of(LIST_FORBIDDEN).next_step.endswith("kubectl auth can-i list webapps.coxswain.dev -A")


def test_the_crd_of_coxswain_is_advised_only_for_its_own_kinds() -> None:
    assert problem_of(UNSERVED).next_step == (
        "give a file with only the WebApps, or install the CRD of ServiceMonitor (monitoring.coreos.com/v1)"
    )
    ours = UNSERVED.replace("monitoring.coreos.com/v1", "coxswain.dev/v1").replace("ServiceMonitor", "WebApp")
    assert "kubectl apply --server-side -k crds" in problem_of(ours).next_step
    assert "kubectl apply --server-side -k crds" in problem_of(f"{UNSERVED}\n{ours}").next_step


def test_a_namespace_that_contradicts_the_file_is_left_out() -> None:
    assert problem_of(OTHER_NAMESPACE).next_step == "leave -n out: the file names the namespace"


def test_without_kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Problem, match="kubectl is not in PATH") as found:
        run_kubectl(["version"])
    assert "https://kubernetes.io/docs/tasks/tools/" in found.value.next_step


@pytest.mark.parametrize(
    "command", ["status", "why", "drift", "conflicts", "tree", "history", "undo", "pause", "adopt"]
)
def test_every_command_without_the_crd(command: str) -> None:
    bench = PluginBench()
    bench.kubectl.unserved.add("webapps")
    assert bench.run(command, "web") == 1
    assert "error: the cluster does not serve webapps.coxswain.dev: Coxswain's CRD is not installed" in bench.err
    assert "next: install it: kubectl apply --server-side -k crds" in bench.err


@pytest.mark.parametrize("command", ["status", "why", "undo", "restart"])
def test_every_command_without_a_cluster(command: str) -> None:
    bench = PluginBench()
    bench.kubectl.stderr = REFUSED
    assert bench.run(command, "web") == 1
    assert (bench.out, "cannot be reached" in bench.err) == ("", True)


def test_similar_names_are_suggested() -> None:
    bench = PluginBench()
    assert bench.run("status", "wbe") == 1
    assert bench.err == (
        "error: WebApp wbe does not exist in namespace shop. Did you mean web?\n"
        "next: kubectl coxswain status web -n shop\n"
    )


def test_a_webapp_of_another_namespace_is_suggested() -> None:
    bench = PluginBench()
    bench.kubectl.context_namespace = "empty"
    assert bench.run("status", "web") == 1
    assert "It exists in namespace shop" in bench.err
    bench.kubectl.forbidden.add(("list", "webapps"))
    assert bench.run("status", "web") == 1
    assert "next: check the name and the namespace (-n)" in bench.err


def test_without_the_right_to_read_webapps() -> None:
    bench = PluginBench()
    bench.kubectl.forbidden |= {("get", "webapps"), ("list", "webapps")}
    assert bench.run("status", "web") == 1
    assert "error: you are not allowed to get webapps.coxswain.dev in namespace shop" in bench.err


# Arguments


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nothing",),
        ("tree",),
        ("status", "-o", "xml"),
        ("status", "--watch"),
        ("status", "web", "-A"),
        ("status", "web", "--watch", "-o", "yaml"),
        ("undo", "web", "--to", "0"),
        ("plan",),
        ("completion", "fish"),
    ],
)
def test_wrong_usage_ends_with_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(words)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_a_missing_name_is_the_only_missing_argument(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["adopt"])
    assert capsys.readouterr().err.endswith("the following arguments are required: NAME\n")
    assert (parse(["adopt", "web"]).kinds, parse(["adopt", "web", "service"]).kinds) == ([], ["service"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([command, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert COMMANDS[command].summary in text
    for _, example in COMMANDS[command].examples:
        assert f"kubectl coxswain {example}" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_is_valid(command: str) -> None:
    for _, example in COMMANDS[command].examples:
        assert parse(example.partition(" >")[0].split()).command == command


def test_options_of_kubectl_are_passed_on_before_and_after_the_command() -> None:
    bench = PluginBench()
    healthy(bench)
    assert bench.run("--context", "c", "status", "-n", "shop") == 0
    assert bench.kubectl.calls[0][0] == "--context=c"
    bench.kubectl.calls.clear()
    assert bench.run("status", "--context", "c", "-n", "shop") == 0
    assert bench.kubectl.calls[0][0] == "--context=c"


@pytest.mark.parametrize("options", [("-n", "demo"), ("--yes",), ("--context=c", "-y")])
def test_options_may_stand_between_the_arguments(options: tuple[str, ...]) -> None:
    found = parse(["adopt", "web", *options, "deployment", "--as=bob", "service"])
    assert (found.name, found.kinds, found.kubectl_as) == ("web", ["deployment", "service"], "bob")


def test_a_group_before_the_command_and_one_after_it_are_both_impersonated() -> None:
    bench = PluginBench()
    found = parse(["--as-group=a", "status", "--as-group=b"])
    kubectl_of(bench.kubectl, found).text("config")
    assert bench.kubectl.calls == [("--as-group=a", "--as-group=b", "config")]


def test_the_namespace_is_that_of_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    bench = PluginBench()
    assert Kubectl(bench.kubectl).namespace == "shop"
    assert Kubectl(bench.kubectl, namespace="other").namespace == "other"
    bench.kubectl.context_namespace = ""
    assert Kubectl(bench.kubectl).namespace == "default"


@pytest.mark.parametrize("default", ["output", "watch", "watch-only", "selector"])
def test_defaults_of_the_users_kuberc_do_not_count(default: str) -> None:
    """kubectl v1.36.3 refuses each of them beside --raw, if the arguments do not name the option."""
    bench = PluginBench()

    def refuse(arguments: Sequence[str]) -> None:
        if "--raw" in arguments and not any(word.startswith(f"--{default}=") for word in arguments):
            bench.kubectl.stderr = f"error: --raw and --{default} are mutually exclusive"

    bench.kubectl.before = refuse
    bench.run("status", "web")
    assert bench.err == ""


def test_lists_are_read_page_by_page() -> None:
    pages = iter(
        [
            '{"items": [{"a": 1}], "metadata": {"continue": "next"}}',
            '{"items": [{"a": 2}], "metadata": {"continue": ""}}',
        ]
    )
    asked = []

    def run(arguments: object, stdin: str | None = None, seconds: float | None = None) -> object:  # noqa: ARG001
        from kubectl_coxswain.kubectl import Completed  # noqa: PLC0415

        asked.append(str(arguments))
        return Completed(0, next(pages), "")

    from coxswain.webapp.kinds import WEBAPP  # noqa: PLC0415

    assert Kubectl(run, namespace="a").all_of(WEBAPP) == [{"a": 1}, {"a": 2}]  # type: ignore[arg-type]
    assert "continue=next" in asked[1]


@pytest.fixture
def in_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a pod of namespace team-a. Returns the directory of its ServiceAccount."""
    for name, value in (("token", "t"), ("namespace", "team-a\n")):
        (tmp_path / name).write_text(value, encoding="utf-8")
    monkeypatch.setattr(kubectl, "_ACCOUNT", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    return tmp_path


NO_CONTEXT = "error: current-context must exist in order to minify\n"
"""The answer of kubectl v1.36.3 without a kubeconfig, and with one that has no current-context."""


@pytest.mark.parametrize("stderr", [None, NO_CONTEXT])
def test_if_the_context_names_no_namespace_it_is_that_of_the_pod(
    stderr: str | None, in_pod: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order is that of client-go: tools/clientcmd/client_config.go, inClusterClientConfig."""
    bench = PluginBench()
    bench.kubectl.context_namespace, bench.kubectl.stderr = "", stderr
    assert Kubectl(bench.kubectl).namespace == "team-a"
    monkeypatch.setenv("POD_NAMESPACE", "team-b")
    assert Kubectl(bench.kubectl).namespace == "team-b"
    monkeypatch.delenv("POD_NAMESPACE")
    (in_pod / "namespace").unlink()
    assert Kubectl(bench.kubectl).namespace == "default"


@pytest.mark.usefixtures("in_pod")
def test_the_namespace_of_the_context_goes_before_that_of_the_pod() -> None:
    bench = PluginBench()
    bench.kubectl.context_namespace = "default"
    assert Kubectl(bench.kubectl).namespace == "default"


@pytest.mark.parametrize("missing", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "token"])
def test_without_the_signs_of_a_pod_it_is_the_default(
    missing: str, in_pod: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(missing, raising=False)
    (in_pod / missing).unlink(missing_ok=True)
    monkeypatch.setenv("POD_NAMESPACE", "team-b")
    bench = PluginBench()
    bench.kubectl.stderr = NO_CONTEXT
    assert Kubectl(bench.kubectl).namespace == "default"


def test_a_context_that_does_not_exist_is_an_error() -> None:
    bench = PluginBench()
    bench.kubectl.stderr = 'error: context "nope" does not exist\n'
    with pytest.raises(Problem, match='context "nope" does not exist'):
        assert Kubectl(bench.kubectl).namespace
