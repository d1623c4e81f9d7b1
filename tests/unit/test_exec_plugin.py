"""Exec plugins that hang, or write much: no process is left behind."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.kube_config import ConfigNode

from coxswain.kernel.api.exec_plugin import ExecPlugin
from unit.fake_api import until

VERSION = "client.authentication.k8s.io/v1"
ANSWER = f'{{"apiVersion":"{VERSION}","kind":"ExecCredential","status":{{"token":"t"}}}}'


def plugin(directory: Path, script: str) -> ExecPlugin:
    program = directory / "plugin"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    command: dict[str, Any] = {"apiVersion": VERSION, "command": str(program)}
    return ExecPlugin(ConfigNode("exec", command), dict)


def runs(process: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


HANGING = {
    "the plugin": ("{note} $$; exec sleep 60", True),
    "a child of the plugin": ("sleep 60 & {note} $!; wait", True),
    "a child after the end of the plugin": ("sleep 60 & {note} $!", True),
    "a process of another session": ("setsid sleep 60 & {note} $!; wait", False),
}
"""Scripts that hang, and whether their process is ended."""


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks for a process in /proc")
@pytest.mark.parametrize(("script", "ends"), HANGING.values(), ids=HANGING)
def test_a_read_that_is_given_up_leaves_no_process_and_no_open_files(tmp_path: Path, script: str, ends: bool) -> None:
    """Each read of a plugin that hangs left a process running, a new one every minute."""
    number, note = tmp_path / "number", tmp_path / "note"
    note.write_text(f"#!/bin/sh\necho $1 > {number}.new; mv {number}.new {number}\n")
    note.chmod(0o755)
    hanging = plugin(tmp_path, script.format(note=note))

    async def main() -> None:
        opened = open_files()
        reading = asyncio.create_task(hanging.read(renew=False))
        await until(number.exists)
        # asyncio itself ends a process that is still being started.
        await asyncio.sleep(0.2)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        process = int(number.read_text())
        try:
            if ends:
                await until(lambda: not runs(process), seconds=1)
            await until(lambda: open_files() == opened, seconds=1)
        finally:
            if runs(process):
                os.kill(process, 9)

    asyncio.run(main())


def test_a_plugin_may_write_much_to_its_standard_error(tmp_path: Path) -> None:
    """The library reads it after the end of the output, so a full pipe stopped the plugin."""
    verbose = plugin(tmp_path, f"head -c 300000 /dev/zero >&2; echo '{ANSWER}'")

    async def main() -> None:
        async with asyncio.timeout(10):
            assert await verbose.read(renew=False) == ("Bearer t", None, None)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo gone >&2; exit 3", "process returned 3. gone"),
        ("echo no JSON", "failed to decode process output"),
        ("echo []", "no ExecCredential with a status"),
        (f"echo '{ANSWER.replace('/v1', '/v1beta1')}'", "plugin api version"),
        (f"echo '{ANSWER.replace('token', 'other')}'", "neither a token nor a client certificate"),
        (f"echo '{ANSWER.replace('token', 'clientCertificateData')}'", "nor a client certificate with its key"),
    ],
)
def test_a_plugin_that_fails_is_an_error_with_its_reason(tmp_path: Path, script: str, problem: str) -> None:
    with pytest.raises(ConfigException, match=problem):
        asyncio.run(plugin(tmp_path, script).read(renew=False))


@pytest.mark.parametrize(("minutes", "runs"), [(4, 2), (6, 1)])
def test_a_credential_is_replaced_before_it_expires(tmp_path: Path, minutes: int, runs: int) -> None:
    expiry = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    answer = ANSWER.replace('"token"', f'"expirationTimestamp":"{expiry}","token"')
    found = plugin(tmp_path, f"echo run >> {tmp_path}/runs; echo '{answer}'")
    for _ in range(2):
        assert asyncio.run(found.read(renew=False)) == ("Bearer t", None, None)
    assert (tmp_path / "runs").read_text().count("run") == runs
