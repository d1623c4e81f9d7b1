"""The node image for machines without an image registry, built only from Debian's packages and Go modules.

No registry is contacted: kubeadm looks for the names `registry.k8s.io/...` in containerd's image store. The content is
defined in the catalog (NODE_PROGRAMS), in modules/node and in node/.
"""

import hashlib
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.build import build_own
from cluster.catalog import KUBERNETES, MODULES, NODE_PROGRAMS, default_cache
from cluster.kind.debian import Tree, debian_tree
from cluster.kind.engine import Engine, run
from cluster.processes import clean_environment
from cluster.programs import cache_programs
from cluster.progress import Progress

NODE = Path(__file__).parent / "node"
OWN_PROGRAMS = MODULES / "node"

TREE = Tree(
    "node",
    (
        *("systemd", "systemd-sysv", "runc", "kmod", "mount", "procps", "ca-certificates", "curl"),
        *("iproute2", "iptables", "nftables", "conntrack", "ethtool"),
    ),
)
REPOSITORY = "coxswain/kind-node"
NETWORK_IMAGE = "coxswain/node-network:v1"
WITH_TOOLS = ("kube-proxy", "network")
"""Programs that call iptables and similar tools; all other images contain only the program."""


def node_image_tag() -> str:
    """Return the tag of the node image: the version of Kubernetes, and a digest of its other inputs."""
    digest = hashlib.sha256(TREE.digest.encode())
    for program in NODE_PROGRAMS:
        digest.update(f"{program.name} {program.module.version}\n".encode())
    for file in (*_files(NODE), *_files(OWN_PROGRAMS), Path(__file__)):
        digest.update(file.read_bytes())
    return f"{REPOSITORY}:{KUBERNETES.version}-{digest.hexdigest()[:12]}"


def node_image(engine: Engine, environment: Mapping[str, str], progress: Progress) -> str:
    """Return the tag of the node image, after building it if the engine does not have it.

    Raises ProgramMissingError, HostError or DockerError, with the reason.
    """
    tag = node_image_tag()
    if engine.image_exists(tag):
        return tag
    started = time.monotonic()
    progress(f"building the node image {tag}; takes several minutes the first time")
    cache = default_cache(environment)
    programs = {name: found.path for name, found in cache_programs(NODE_PROGRAMS, progress, environment).items()}
    tree = debian_tree(TREE, cache.parent / "images", progress)
    with tempfile.TemporaryDirectory(prefix="coxswain-node-") as scratch:
        own = build_own(OWN_PROGRAMS, Path(scratch) / "own", environment, progress)
        _Workshop(engine, {**programs, **own}, Path(scratch), progress).build(tree, tag)
    progress(f"built the node image in {time.monotonic() - started:.0f} s")
    return tag


@dataclass(frozen=True)
class _Workshop:
    """The build of a node image: the programs by name, and a scratch directory."""

    engine: Engine
    programs: Mapping[str, Path]
    scratch: Path
    progress: Progress

    def build(self, tree: Path, tag: str) -> None:
        """Build the node image from a Debian tree."""
        base = f"{REPOSITORY}-base:{TREE.digest}"
        self.engine.import_tree(tree, base)
        self.progress("the images inside the node")
        inside = self._images_inside(base)
        archive = self.scratch / "images.tar"
        self.engine.docker("save", "--output", str(archive), *inside)
        self.progress("the node itself")
        context = self.scratch / "context.tar"
        with tarfile.open(context, "w") as files:
            files.add(NODE, ".", filter=_of_root)
            files.add(archive, "images.tar", filter=_of_root)
            for program in NODE_PROGRAMS:
                files.add(self.programs[program.name], f"programs/{program.name}", filter=_of_root)
        self.engine.build(context, tag, BASE=base, VERSION=str(KUBERNETES.version))
        self.engine.remove_images(*inside, base)
        self.engine.remove_stages()

    def _images_inside(self, base: str) -> list[str]:
        """Build the images of the cluster's system pods; return their tags."""
        kubeadm_images = _kubeadm_images(self.programs["kubeadm"], self.scratch)
        images = {tag: tag.partition(":")[0].rpartition("/")[2] for tag in kubeadm_images}
        images[NETWORK_IMAGE] = "network"
        for tag, name in images.items():
            archive = self.scratch / f"{name}.tar"
            with tarfile.open(archive, "w") as files:
                files.add(self.programs[name], f"usr/local/bin/{name}", filter=_of_root)
                if name in WITH_TOOLS:
                    files.add(NODE / "tools.Dockerfile", "Dockerfile", filter=_of_root)
            if name in WITH_TOOLS:
                self.engine.build(archive, tag, BASE=base)
            else:
                self.engine.import_tree(archive, tag, f'ENTRYPOINT ["/usr/local/bin/{name}"]')
            archive.unlink()
        return list(images)


def _kubeadm_images(kubeadm: Path, scratch: Path) -> Sequence[str]:
    """Return the image names that this kubeadm needs to start a cluster."""
    command = [str(kubeadm), "config", "images", "list", f"--kubernetes-version={KUBERNETES.version}"]
    return run(command, environment=clean_environment(scratch)).split()


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Set the owner to root and drop the checkout's time, so that Docker's build cache matches."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
