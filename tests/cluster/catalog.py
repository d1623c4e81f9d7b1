"""Which programs there are, in which versions, and which other versions would do as well."""

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
    """A Go module of modules/ and the release of the software that its go.mod asks for, which nothing else repeats.

    `tags` are those it is built with.
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
        """The oldest Go that builds it."""
        return required_version((self.directory / "go.mod").read_text(encoding="utf-8"), "go")


@dataclass(frozen=True)
class Program:
    """One of the programs that a throwaway Kubernetes, or a node of a kind cluster, consists of.

    `package` is its main package in Go. A version fits if its minor is at most `minor_distance` away from the wanted
    one, or, where the distance does not matter (None), if it is not older than `oldest`.
    """

    name: str
    module: Module
    package: str
    minor_distance: int | None = None
    oldest: tuple[int, int] = (0, 0)

    @property
    def variable(self) -> str:
        """The environment variable that names this program: envtest's names, continued for the others."""
        return "TEST_ASSET_" + self.name.upper().replace("-", "_")


KUBERNETES = Module("kubernetes", "k8s.io/kubernetes")
ETCD = Module("etcd", "go.etcd.io/etcd/server/v3")
KWOK = Module("kwok", "sigs.k8s.io/kwok")
CONTAINERD = Module("containerd", "github.com/containerd/containerd/v2", ("no_btrfs", "no_zfs", "no_devmapper"))
COREDNS = Module("coredns", "github.com/coredns/coredns")
CRICTL = Module("crictl", "sigs.k8s.io/cri-tools")
KIND = Module("kind", "sigs.k8s.io/kind")

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
"""What a throwaway control plane consists of."""

KIND_PROGRAM = Program("kind", KIND, "sigs.k8s.io/kind", oldest=(0, 30))

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
"""What a node image built here consists of, beside Debian's packages."""


@cache
def required_version(go_mod: str, path: str) -> Version:
    """The version that the text of a go.mod requires of the module `path` (or of `go` itself). Raises ValueError."""
    found = re.search(rf"^(?:require)?\s*{re.escape(path)} (v?\d+\.\d+\.\d+)", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError(f"go.mod requires no {path}")
    return parse_version(found[1])


def parse_version(text: str) -> Version:
    """The first version in what a program prints when it is asked for it. Raises ValueError where there is none."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise ValueError(f"no version in {text.strip()[:120]!r}")
    return Version(int(found[1]), int(found[2]), int(found[3] or 0))


def misfit(program: Program, version: Version) -> str:
    """Why this version of the program is not taken; empty if it is."""
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
    """The names that Go, and with it every archive here, has for this operating system and architecture."""
    machine = platform.machine().lower()
    return sys.platform, {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def cached_directory(cache_directory: Path, module: Module) -> Path:
    """Where the cache keeps the programs of one module: a folder for each version and platform; linked statically."""
    system, architecture = go_platform()
    return cache_directory / f"{module.name}-{module.version}-{system}-{architecture}-static"


def default_cache(environment: Mapping[str, str]) -> Path:
    """The per-user cache, by the XDG rules."""
    base = environment.get("XDG_CACHE_HOME") or ""
    root = Path(base) if Path(base).is_absolute() else Path(environment.get("HOME") or Path.home()) / ".cache"
    return root / "coxswain" / "programs"
