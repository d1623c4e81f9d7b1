"""Docker Engine through its command line: find a running one, and use it."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ANSWER_TIMEOUT_SECONDS = 20.0
COMMAND_TIMEOUT_SECONDS = 600.0
ERROR_TAIL_CHARACTERS = 3000

CAP_SYS_RESOURCE = 24
"""The number of this capability in linux/capability.h."""

SHIM = Path(__file__).parent / "shim"


class EngineMissingError(RuntimeError):
    """No Docker engine answers; the message lists the attempts and the remedies."""


class DockerError(RuntimeError):
    """A command of Docker or kind failed; the message contains its output."""


class Engine:
    """A running Docker engine."""

    def __init__(self, program: Path, process_status: str | None = None) -> None:
        """Use the engine through the client `program`, with the user's environment, such as DOCKER_HOST.

        `process_status` replaces the text of /proc/self/status.
        """
        self.program = program
        status = process_status or Path("/proc/self/status").read_text(encoding="utf-8")
        self._may_all = _has_capability(CAP_SYS_RESOURCE, status)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of programs that call `docker`, such as kind.

        kind requests `--privileged`, which means all capabilities. If this machine lacks one of them, a wrapper for
        `docker` requests the others.
        """
        path = os.pathsep.join((str(self.program.parent), os.environ.get("PATH", os.defpath)))
        if not self._may_all:
            path = f"{SHIM}{os.pathsep}{path}"
        return {**os.environ, "PATH": path}

    def docker(
        self, *arguments: str, stdin: bytes | Path | None = None, timeout_seconds: float = COMMAND_TIMEOUT_SECONDS
    ) -> str:
        """Return the output of a Docker command; `stdin` is its input, or an input file. Raises DockerError."""
        return run([str(self.program), *arguments], stdin=stdin, timeout_seconds=timeout_seconds)

    def image_exists(self, tag: str) -> bool:
        """Return whether the engine has an image with this tag."""
        return bool(self.docker("image", "ls", "--quiet", tag).strip())

    def import_tree(self, tar: Path, tag: str, *changes: str) -> None:
        """Create an image of one layer from a tar of files; `changes` are Dockerfile instructions."""
        options = [word for change in changes for word in ("--change", change)]
        self.docker("import", *options, "-", tag, stdin=tar)

    def build(self, context: Path, tag: str, **arguments: str) -> None:
        """Build an image from a tar with a Dockerfile; `arguments` are its build arguments."""
        options = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        self.docker("build", "--quiet", *options, "--tag", tag, "-", stdin=context)

    def remove_stages(self) -> None:
        """Remove intermediate images of our Dockerfiles, found by their label, on engines that keep them."""
        try:
            self.docker("image", "prune", "--force", "--filter", "label=coxswain.stage=passing")
        except DockerError as error:
            if "prune operation is already running" not in str(error):
                raise
            # Another process is pruning. The next call removes the rest.

    def remove_images(self, *tags: str) -> None:
        """Remove the existing ones of these tags."""
        present = [tag for tag in tags if self.image_exists(tag)]
        if present:
            self.docker("image", "rm", "--force", *present)


def run(
    command: Sequence[str],
    *,
    stdin: bytes | Path | None = None,
    environment: dict[str, str] | None = None,
    timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
) -> str:
    """Return the standard output of a command. Raises DockerError with the end of its output if it fails."""
    name = " ".join((Path(command[0]).name, *command[1:4]))
    try:
        answer = _answer(command, stdin, environment, timeout_seconds)
    except subprocess.TimeoutExpired:
        raise DockerError(f"{name} ... took longer than {timeout_seconds:.0f} s") from None
    if answer.returncode != 0:
        written = (answer.stdout + answer.stderr).decode(errors="replace").strip()
        raise DockerError(f"{name} ... exited with code {answer.returncode}:\n{written[-ERROR_TAIL_CHARACTERS:]}")
    return answer.stdout.decode(errors="replace")


def _answer(
    command: Sequence[str], stdin: bytes | Path | None, environment: dict[str, str] | None, timeout_seconds: float
) -> subprocess.CompletedProcess[bytes]:
    if isinstance(stdin, Path):
        with stdin.open("rb") as file:
            return subprocess.run(
                command, stdin=file, env=environment, capture_output=True, timeout=timeout_seconds, check=False
            )
    return subprocess.run(
        command, input=stdin or b"", env=environment, capture_output=True, timeout=timeout_seconds, check=False
    )


def find_engine() -> Engine:
    """Return the engine reached by the `docker` on PATH. Raises EngineMissingError if none answers."""
    program = shutil.which("docker")
    if program is None:
        raise EngineMissingError(f"a kind cluster needs Docker, and there is no `docker` on PATH.\n{ADVICE}")
    engine = Engine(Path(program).absolute())
    try:
        engine.docker("version", "--format", "{{.Server.Version}}", timeout_seconds=ANSWER_TIMEOUT_SECONDS)
    except DockerError as error:
        raise EngineMissingError(
            f"a kind cluster needs a running Docker engine, and none answers: {error}\n{ADVICE}"
        ) from None
    return engine


ADVICE = """\
Do one of these:
- start Docker, or get permission to use it (the group docker)
- point DOCKER_HOST to an engine
- on Debian, as root: run `make docker-engine`, which installs and starts one"""


def _has_capability(number: int, process_status: str) -> bool:
    """Return whether a capability is in the bounding set, from the text of /proc/PID/status."""
    line = next(line for line in process_status.splitlines() if line.startswith("CapBnd:"))
    return bool(int(line.split()[1], 16) >> number & 1)
