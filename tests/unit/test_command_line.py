"""Settings from the command line and the environment, messages for invalid ones, and an early SIGTERM."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coxswain.command_line import settings
from coxswain.settings import VARIABLES

OPERATOR = str(Path(__file__).parents[2] / "operator")


def test_without_anything() -> None:
    made = settings([], {})
    assert (made.namespaces, made.scopes, made.resync_interval) == ((), (None,), 600)


def test_namespaces_are_a_scope_each() -> None:
    made = settings(["--namespace", "a,b", "--namespace", "b"], {"COXSWAIN_NAMESPACES": "c"})
    assert made.scopes == ("a", "b")


def test_the_environment_where_the_command_line_is_silent() -> None:
    environment = {
        "COXSWAIN_NAMESPACES": "a, b,",
        "COXSWAIN_LISTEN": "[::]:80",
        "COXSWAIN_METRICS_LISTEN": ":8443",
        "COXSWAIN_METRICS_SECURE": "True",
        "COXSWAIN_METRICS_CERT_DIR": "/certificate",
        "COXSWAIN_LOG_FORMAT": "JSON",
        "COXSWAIN_LOG_LEVEL": "debug",
        "COXSWAIN_RESYNC_INTERVAL": "60",
        "COXSWAIN_WATCH_METADATA": "secrets, configmaps",
        "COXSWAIN_LEADER_ELECT": "False",
        "COXSWAIN_LEADER_ELECT_NAMESPACE": "kept",
        "COXSWAIN_SLOTS": "1",
    }
    assert set(environment) == set(VARIABLES.values())
    made = settings(["--log-level", "error"], environment)
    assert made.namespaces == ("a", "b")
    assert made.watch_metadata == ("secrets", "configmaps")
    assert (made.leader_elect, made.leader_elect_namespace) == (False, "kept")
    assert (made.metrics_listen, made.metrics_secure, made.metrics_cert_dir) == (":8443", True, Path("/certificate"))
    assert (made.listen, made.log_format, made.log_level, made.resync_interval) == ("[::]:80", "json", "error", 60)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [([], True), (["--leader-elect"], True), (["--leader-elect=true"], True), (["--leader-elect=false"], False)],
)
def test_leader_election_is_on_unless_it_is_turned_off(arguments: list[str], wanted: bool) -> None:
    assert settings(arguments, {}).leader_elect is wanted
    assert settings(arguments or ["--leader-elect"], {"COXSWAIN_LEADER_ELECT": "false"}).leader_elect is wanted


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], False),
        (["--metrics-listen=[::1]:0"], False),
        (["--metrics-listen=localhost:8081"], False),
        (["--metrics-listen=:8443"], True),
        (["--metrics-listen=[::]:8443"], True),
        (["--metrics-listen=10.0.0.1:8443"], True),
        (["--metrics-listen=operator.example:8443"], True),
        (["--metrics-secure"], True),
        (["--metrics-listen=:8081", "--metrics-secure=false"], False),
    ],
)
def test_metrics_for_others_are_secure_unless_that_is_turned_off(arguments: list[str], wanted: bool) -> None:
    """S5: who sets only the address must not open the metrics to everyone."""
    assert settings(arguments, {}).secures_metrics is wanted


def test_there_is_one_slot_without_another_number() -> None:
    assert settings([], {}).slots == 1
    assert settings([], {"COXSWAIN_SLOTS": "6"}).slots == 6
    assert settings(["--slots", "64"], {"COXSWAIN_SLOTS": "6"}).slots == 64


@pytest.mark.parametrize(
    ("arguments", "environment", "named"),
    [
        (["--namespace", "Shop"], {}, "'Shop' is not a valid namespace name"),
        ([], {"COXSWAIN_NAMESPACES": "a b"}, "COXSWAIN_NAMESPACES"),
        (["--namespace="], {}, "--namespace (or COXSWAIN_NAMESPACES): '' has no name"),
        (["--namespace", ", ,"], {"COXSWAIN_NAMESPACES": "a"}, "', ,' has no name"),
        ([], {"COXSWAIN_NAMESPACES": ","}, "COXSWAIN_NAMESPACES): ',' has no name"),
        (["--listen", "8080"], {}, "HOST:PORT"),
        (["--metrics-listen", "8081"], {}, "--metrics-listen: '8081' is no HOST:PORT"),
        (["--listen=a..b:8080"], {}, "--listen: 'a..b:8080': 'a..b' is no host name"),
        ([], {"COXSWAIN_METRICS_LISTEN": f"{'a' * 64}:8443"}, "is no host name"),
        (["--metrics-secure=no"], {}, "'no' is neither true nor false"),
        (["--metrics-cert-dir=/certificate"], {}, "a certificate needs --metrics-secure=true"),
        ([], {"COXSWAIN_METRICS_CERT_DIR": "/certificate"}, "COXSWAIN_METRICS_CERT_DIR"),
        (["--metrics-cert-dir=/certificate", "--metrics-listen=0"], {}, "--metrics-listen=0 turns the metrics off"),
        (["--listen=:8443"], {"COXSWAIN_METRICS_LISTEN": ":8443"}, "the metrics need another port"),
        (["--metrics-listen=:\N{SUPERSCRIPT TWO}"], {}, "is no HOST:PORT"),
        (["--resync-interval", "0"], {}, "seconds from 1 to 86400"),
        ([], {"COXSWAIN_RESYNC_INTERVAL": "soon"}, "seconds from 1 to 86400"),
        (["--log-format", "xml"], {}, "none of text, json"),
        ([], {"COXSWAIN_LOG_LEVEL": "loud"}, "none of debug, info"),
        (["--unknown"], {}, "--unknown"),
        (["--leader-elect=no"], {}, "'no' is neither true nor false"),
        ([], {"COXSWAIN_LEADER_ELECT": "0"}, "'0' is neither true nor false"),
        (["--leader-elect-namespace", "A"], {}, "'A' is not a valid namespace name"),
        (["--slots", "0"], {}, "'0' is no number from 1 to 64"),
        (["--slots=65"], {}, "'65' is no number from 1 to 64"),
        ([], {"COXSWAIN_SLOTS": "two"}, "'two' is no number from 1 to 64"),
        (["--slots=2", "--leader-elect=false"], {}, "2 slots need --leader-elect"),
    ],
)
def test_what_is_wrong_is_named(
    arguments: list[str], environment: dict[str, str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        settings(arguments, environment)
    assert ended.value.code == 2
    assert named in capsys.readouterr().err


def test_help_tells_of_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        settings(["--help"], {})
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert all(variable in printed.replace("\n", " ") for variable in VARIABLES.values())


def test_sigterm_in_the_first_moment_ends_it(tmp_path: Path) -> None:
    """As the first process of a container it would not even receive the signal before it has a handler."""
    (tmp_path / "kubeconfig").write_text("{}")
    command = [sys.executable, "-m", "coxswain", "--kubeconfig", str(tmp_path / "kubeconfig")]
    operator = Path(__file__).parents[2] / "operator"
    begun = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": str(operator)}) as process:
        while not _handled(process.pid, signal.SIGTERM):
            assert process.poll() is None, "the process ended before it had a handler"
            time.sleep(0.001)
        print(f"SIGTERM is handled after {time.monotonic() - begun:.3f} s")
        process.terminate()
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def _handled(pid: int, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    caught = next(line for line in lines if line.startswith("SigCgt:")).split()[1]
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.thorough
def test_signals_that_go_on_coming_do_not_kill_what_is_ending(tmp_path: Path) -> None:
    server = {"server": "https://127.0.0.1:1"}
    kubeconfig = {
        "current-context": "away",
        "contexts": [{"name": "away", "context": {"cluster": "away", "user": "nobody"}}],
        "clusters": [{"name": "away", "cluster": server}],
        "users": [{"name": "nobody", "user": {"token": "none"}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(kubeconfig))
    ports = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
    command = [sys.executable, "-m", "coxswain", "--kubeconfig", str(file), *ports]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": OPERATOR}) as process:
        assert process.stderr is not None
        assert any("serving" in line for line in process.stderr)
        deadline = time.monotonic() + 15
        while process.poll() is None and time.monotonic() < deadline:
            process.terminate()
            time.sleep(0.001)
        assert process.wait(1) == 0
        # With a line for each signal, nobody would have to read the log for long until the process blocks.
        assert process.stderr.read().count("draining") == 1
