"""The throwaway Kubernetes as a context manager."""

import base64
import dataclasses
import json
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml
from pykube import HTTPClient

from cluster import configuration as config
from cluster.audit import AuditLog
from cluster.catalog import go_platform
from cluster.certificates import create_authority, write_key
from cluster.clients import pykube_client
from cluster.kubectl import run_kubectl
from cluster.ports import free_ports
from cluster.processes import Service
from cluster.programs import find_programs
from cluster.progress import Progress, silent
from cluster.readiness import count_ready_nodes, fetch, wait_until

START_TIMEOUT_SECONDS = 90.0
DEFAULT_SERVICE_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


class ControlPlane:
    """A Kubernetes of etcd, API server, controller manager, scheduler and KWOK's fake nodes, running during a `with`.

    Everything listens on free ports of the loopback interface and keeps its data in a scratch directory. All of it is
    removed after the block. The programs also stop when this process dies, in any way.

    Options:

    - `fsync`: let etcd call fsync. It is faster without; benchmarks turn it on.
    - `feature_gates`: of the API server, by name.
    - `api_server_flags`, `controller_manager_flags`: further flags, which override the ones set here.
    - `nodes`: number of fake KWOK nodes; with 0, KWOK does not run and pods stay pending.
    - `manifests`: files applied before the controller manager starts. The garbage collector knows CRDs given here from
      the start; it discovers later ones only about every 30 seconds.
    - `directory`: for data, logs and kubeconfigs. It must be empty, and is kept at the end. None creates a temporary
      directory and removes it.
    - `programs`: paths by program name, as returned by `find_programs`; None calls it.
    - `progress`: receives a line for each step.

    Raises ProgramMissingError if a program is not available, ProgramExitedError if one exits unexpectedly, TimeoutError
    if the cluster does not become ready.
    """

    def __init__(
        self,
        *,
        fsync: bool = False,
        feature_gates: Mapping[str, bool] | None = None,
        api_server_flags: Sequence[str] = (),
        controller_manager_flags: Sequence[str] = (),
        nodes: int = 3,
        manifests: Sequence[Path] = (),
        directory: Path | None = None,
        programs: Mapping[str, Path] | None = None,
        progress: Progress = silent,
    ) -> None:
        self._choices = config.Choices(fsync, dict(feature_gates or {}), api_server_flags, controller_manager_flags)
        self._nodes = nodes
        self._manifests = manifests
        self._directory = directory
        self._given_programs = programs
        self._progress = progress
        self._services: dict[str, Service] = {}
        self._accounts = {
            account.user: account
            for account in (
                config.Account("admin", ("system:masters",), secrets.token_hex(16)),
                config.Account("system:kube-controller-manager", (), secrets.token_hex(16)),
                config.Account("system:kube-scheduler", (), secrets.token_hex(16)),
                config.Account("kwok", ("system:masters",), secrets.token_hex(16)),
            )
        }

    def __enter__(self) -> Self:
        started = time.monotonic()
        self._programs = self._find_programs()
        self._prepare()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        self._progress(f"ready after {time.monotonic() - started:.1f} s: {self.url}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The API server's address."""
        return self._layout.url

    @property
    def ca_file(self) -> Path:
        """The certificate (PEM) of the API server's CA."""
        return self._layout.ca_file

    @property
    def token(self) -> str:
        """A bearer token of a cluster administrator."""
        return self._accounts["admin"].token

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, with the CA embedded."""
        return self._layout.kubeconfig("admin")

    @property
    def directory(self) -> Path:
        """The scratch directory: logs/, kubeconfigs/, pki/, etcd/."""
        return self._layout.root

    @property
    def layout(self) -> config.Layout:
        """The paths of its files, and its ports."""
        return self._layout

    @property
    def audit_log(self) -> Path:
        """The API server's audit log; `audit()` reads it."""
        return self._layout.audit_log

    @property
    def programs(self) -> Mapping[str, Path]:
        """The path of each running program, and of kubectl."""
        return self._programs

    def audit(self) -> AuditLog:
        """Return a position in the audit log; its `events()` are the requests from now on."""
        return AuditLog(self.audit_log)

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002 - as subprocess.run calls it
        check: bool = True,
        kubeconfig: Path | None = None,
        timeout: float = 60.0,
    ) -> str:
        """Return the standard output of kubectl, run by the administrator or with another kubeconfig.

        `input` goes to its standard input; `timeout` is in seconds. Raises KubectlError.
        """
        return run_kubectl(
            self._programs["kubectl"],
            arguments,
            kubeconfig=kubeconfig or self.kubeconfig,
            home=self._layout.home,
            stdin=input,
            check=check,
            timeout_seconds=timeout,
        )

    def pykube(self, kubeconfig: Path | None = None) -> HTTPClient:
        """Return a client of the administrator or of another kubeconfig that trusts only this cluster's CA."""
        return pykube_client(kubeconfig or self.kubeconfig, self.ca_file)

    def write_kubeconfig(self, user: str, token: str, namespace: str = "default") -> Path:
        """Write a kubeconfig for a bearer token; it replaces an earlier one for the same user."""
        file = self._layout.kubeconfig(user)
        ca_data = base64.b64encode(self.ca_file.read_bytes()).decode()
        text = config.kubeconfig(url=self.url, ca_data=ca_data, user=user, token=token, namespace=namespace)
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
        return file

    def service_account_kubeconfig(self, namespace: str, name: str, duration: str = "24h") -> Path:
        """Write a kubeconfig of an existing ServiceAccount, with a new token valid for `duration`."""
        token = self.kubectl("create", "token", name, "--namespace", namespace, "--duration", duration).strip()
        return self.write_kubeconfig(f"system:serviceaccount:{namespace}:{name}", token, namespace)

    def stop_program(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop one program, for example `kube-apiserver`, with a signal, and wait until it has exited."""
        self._services[name].stop(number)

    def start_program(self, name: str) -> None:
        """Restart a stopped program with the same port, certificates and data, and wait until it is ready."""
        self._services[name].start()
        if name == "etcd":
            self._wait("etcd", lambda: fetch(f"{self._layout.etcd_url}/health"))
        elif name == "kube-apiserver":
            self._wait("the API server", lambda: self._get("/readyz"))

    def signal_program(self, name: str, number: signal.Signals) -> None:
        """Send a running program a signal, for example SIGSTOP or SIGCONT, without waiting."""
        self._services[name].send(number)

    def pid(self, name: str) -> int | None:
        """Return the process id of a program, or None if it does not run."""
        return self._services[name].pid

    def check(self) -> None:
        """Raise ProgramExitedError if a program has exited unexpectedly."""
        for service in self._services.values():
            service.check()

    def stop(self) -> None:
        """Stop all programs in reverse order, and remove the scratch directory if it was created here. Idempotent."""
        while self._services:
            _name, service = self._services.popitem()
            service.stop()
        if self._directory is None:
            shutil.rmtree(self._layout.root, ignore_errors=True)

    def _find_programs(self) -> Mapping[str, Path]:
        if self._given_programs is not None:
            return self._given_programs
        return {name: found.path for name, found in find_programs(self._progress).items()}

    def issue_certificate(self) -> None:
        """Issue the API server a new certificate from the same CA, used from its next start on."""
        self._authority.issue(self._layout.pki, "apiserver", ("127.0.0.1", "localhost", "kubernetes.default.svc"))

    def add_api_server(self, name: str, port: int) -> None:
        """Start another API server on the same etcd, and wait until it is ready: `https://127.0.0.1:PORT`."""
        layout = dataclasses.replace(self._layout, api_port=port)
        self._add(name, config.api_server_command(layout, self._choices), program="kube-apiserver").start()
        self._wait("the other API server", lambda: fetch(f"{layout.url}/readyz", self.ca_file, self.token))

    def _prepare(self) -> None:
        root = self._directory.absolute() if self._directory else Path(tempfile.mkdtemp(prefix="coxswain-cluster-"))
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise FileExistsError(f"{root} is not empty")
        layout = self._layout = config.Layout(root, *free_ports(3))
        for folder in (layout.home, layout.logs, layout.pki, layout.kubeconfigs):
            folder.mkdir(mode=0o700)
        self._authority = create_authority(layout.pki, "ca")
        self.issue_certificate()
        write_key(layout.pki / "service-accounts.key")
        layout.tokens.touch(mode=0o600)
        layout.tokens.write_text(config.token_file(list(self._accounts.values())), encoding="utf-8")
        layout.audit_policy.write_text(yaml.safe_dump(dict(config.AUDIT_POLICY)), encoding="utf-8")
        for account in self._accounts.values():
            self.write_kubeconfig(account.user, account.token)

    def _start(self) -> None:
        layout, choices = self._layout, self._choices
        self._add("etcd", config.etcd_command(layout, choices))
        self.start_program("etcd")
        self._add("kube-apiserver", config.api_server_command(layout, choices))
        self.start_program("kube-apiserver")
        self._progress("the API server answers")
        self._apply_manifests()
        self._add("kube-controller-manager", config.controller_manager_command(layout, choices)).start()
        self._add("kube-scheduler", config.scheduler_command(layout)).start()
        if self._nodes:
            self._add("kwok", config.kwok_command(layout)).start()
            self.kubectl("create", "-f", "-", input=config.fake_nodes(self._nodes, go_platform()[1]))
        self._wait("the default ServiceAccount", lambda: self._get(DEFAULT_SERVICE_ACCOUNT))
        self._wait("the nodes", self._nodes_ready)

    def _add(self, name: str, arguments: Sequence[str], program: str | None = None) -> Service:
        log = self._layout.logs / f"{name}.log"
        command = [str(self._programs[program or name]), *arguments]
        service = Service(name, command, log=log, home=self._layout.home, extra=config.ENVIRONMENT)
        self._services[name] = service
        return service

    def _apply_manifests(self) -> None:
        if not self._manifests:
            return
        self.kubectl("apply", "--server-side", *(f"--filename={file}" for file in self._manifests))
        self.wait_for_crds()

    def wait_for_crds(self) -> None:
        """Wait until all CRDs are established. `kubectl wait` fails immediately for a CRD without conditions."""
        self._wait("the CRDs", self._crds_established)

    def _wait(self, what: str, condition: Callable[[], object]) -> None:
        wait_until(what, condition, self._services.values(), START_TIMEOUT_SECONDS)

    def _get(self, path: str) -> str | None:
        return fetch(self.url + path, self.ca_file, self.token)

    def _crds_established(self) -> bool:
        answer = self._get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        if answer is None:
            return False
        conditions = [crd.get("status", {}).get("conditions") or [] for crd in json.loads(answer)["items"]]
        return all(
            any((each["type"], each["status"]) == ("Established", "True") for each in found) for found in conditions
        )

    def _nodes_ready(self) -> bool:
        return count_ready_nodes(self._get("/api/v1/nodes") or '{"items": []}') >= self._nodes
