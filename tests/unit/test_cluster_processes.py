"""Child processes: they die with their parent, and their environment contains only PATH and HOME."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cluster.memory_limit import memory_limit
from cluster.ports import free_ports
from cluster.processes import ProgramExitedError, Service, process_start_time, wait_for_end

SOURCE_ROOT = str(Path(__file__).parents[1] / "harness")

PARENT = """
import sys, threading, time
from pathlib import Path
from cluster.processes import Service

service = Service("sleep", ["/bin/sleep", "60"], log=Path(sys.argv[1]) / "log", home=Path(sys.argv[1]))
starter = threading.Thread(target=service.start)  # a thread that ends: the child has to survive that
starter.start()
starter.join()
time.sleep(0.2)
print(service.pid, flush=True)
time.sleep(60)
"""


def service(tmp_path: Path, *command: str, grace_seconds: float = 5.0) -> Service:
    return Service("program", command, log=tmp_path / "log", home=tmp_path, grace_seconds=grace_seconds)


def wait_for_log(one: Service, text: str) -> None:
    deadline = time.monotonic() + 5
    while text not in one.tail():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_dies_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": SOURCE_ROOT},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
    started = process_start_time(child)
    assert started is not None
    parent.send_signal(number)
    parent.wait(5)
    assert wait_for_end(child, started, 5)


def test_a_program_sees_path_and_home_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTPS_PROXY", "KUBECONFIG"):
        monkeypatch.setenv(name, "nonsense")
    one = service(tmp_path, "/usr/bin/env")
    one.start()
    wait_for_log(one, "HOME=")
    names = {line.partition("=")[0] for line in one.tail(50).splitlines()}
    one.stop()
    assert {"PATH", "HOME"} <= names <= {"PATH", "HOME", "LC_CTYPE"}


def test_an_early_end_is_an_error_that_shows_the_log(tmp_path: Path) -> None:
    one = service(tmp_path, "/bin/sh", "-c", "echo no such flag >&2; exit 3")
    one.start()
    wait_for_log(one, "no such flag")
    while one.pid is not None:
        time.sleep(0.01)
    with pytest.raises(ProgramExitedError, match=r"exited with code 3(.|\n)*no such flag"):
        one.check()


def test_a_program_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    one = service(tmp_path, "/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done", grace_seconds=0.2)
    one.start()
    wait_for_log(one, "up")
    started = time.monotonic()
    one.stop()
    assert one.pid is None
    assert time.monotonic() - started < 3


def test_a_stopped_program_can_be_started_again(tmp_path: Path) -> None:
    one = service(tmp_path, "/bin/sleep", "60")
    one.start()
    first = one.pid
    one.send(signal.SIGSTOP)
    one.stop()
    one.check()
    one.start()
    assert one.pid not in {None, first}
    one.stop()
    one.stop()


def test_threads_that_start_programs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    services = [
        Service("sleep", ["/bin/sleep", "60"], log=tmp_path / f"{number}.log", home=tmp_path) for number in range(4)
    ]
    threads = [threading.Thread(target=one.start) for one in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(0.2)
    assert all(one.pid for one in services)
    for one in services:
        one.stop()


def test_a_process_is_told_from_a_later_one_with_its_id() -> None:
    own = process_start_time(os.getpid())
    assert own is not None
    assert not wait_for_end(os.getpid(), own, 0)
    assert wait_for_end(os.getpid(), own - 1, 0)


def test_ports_are_different_and_out_of_the_way_of_outgoing_connections() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="utf-8").split()[0])
    assert all(port < lowest for port in ports) or lowest < 16000


def test_a_port_is_reserved_before_its_server_listens() -> None:
    mine = free_ports(3)
    code = f"from cluster import ports; ports.ATTEMPTS, choices = 3, iter({mine}); "
    code += "ports.random.randint = lambda *_: next(choices); ports.free_ports(1)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE_ROOT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "OSError: no 1 free ports" in run.stderr


@pytest.mark.parametrize(("needed", "killed"), [(10, 0), (200, 1)], ids=["below the limit", "above the limit"])
def test_a_process_is_killed_at_its_memory_limit(needed: int, killed: int) -> None:
    code = f"x = bytearray({needed << 20}); x[::4096] = bytes(len(x[::4096])); print('done')"
    with memory_limit(100 << 20) as limit:
        if limit is None:
            pytest.skip("no control group limits the memory here")
        run = subprocess.run([*limit.prefix, sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert limit.kills() == killed
        assert not limit.contains(os.getpid())
    assert (run.returncode, run.stdout) == ((-signal.SIGKILL, "") if killed else (0, "done\n"))


def test_a_process_is_in_the_group_of_its_memory_limit() -> None:
    with memory_limit(100 << 20) as limit:
        if limit is None:
            pytest.skip("no control group limits the memory here")
        child = subprocess.Popen([*limit.prefix, "/bin/sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        try:
            assert limit.contains(child.pid)
        finally:
            child.kill()
            child.communicate()
