"""The accepted versions of the throwaway cluster's programs."""

import re
from pathlib import Path

import pytest

from cluster.catalog import (
    CONTOUR,
    ENVOY,
    GATEWAY_PROGRAMS,
    KIND_PROGRAM,
    NODE_PROGRAMS,
    PROGRAMS,
    Module,
    Version,
    cached_directory,
    default_cache,
    misfit,
    parse_version,
    required_version,
)

BUILT = (*PROGRAMS.values(), *NODE_PROGRAMS, KIND_PROGRAM, GATEWAY_PROGRAMS["contour"])


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("Kubernetes v1.36.3\n", Version(1, 36, 3)),
        ("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0\n", Version(1, 32, 4)),
        ("etcd Version: 3.6.16\nGit SHA: Not provided\nGo Version: go1.26.8\n", Version(3, 6, 16)),
        ("kwok version v0.8.0 go1.26.8 (linux/amd64)\n", Version(0, 8, 0)),
        ("go1.26\n", Version(1, 26, 0)),
        ('time="2026-11-23T10:59:15Z" level=info\nversion: v1.33.8\n', Version(1, 33, 8)),
        ("envoy  version: 9e5580933739775e8bce/1.40.0/Clean/RELEASE/BoringSSL\n", Version(1, 40, 0)),
    ],
)
def test_a_version_is_read_from_what_a_program_prints(printed: str, version: Version) -> None:
    assert parse_version(printed) == version


def test_a_text_without_a_version_is_an_error() -> None:
    with pytest.raises(ValueError, match="no version"):
        parse_version("unknown flag: --version")


@pytest.mark.parametrize(
    ("name", "minor_away", "fits"),
    [
        ("kube-apiserver", 0, True),
        ("kube-apiserver", -1, False),
        ("kube-scheduler", 1, False),
        ("kubectl", 1, True),
        ("kubectl", -1, True),
        ("kubectl", -4, False),
    ],
)
def test_kubernetes_programs_fit_by_their_minor_version(name: str, minor_away: int, fits: bool) -> None:
    wanted = PROGRAMS[name].module.version
    reason = misfit(PROGRAMS[name], Version(wanted.major, wanted.minor + minor_away, 99))
    assert (reason == "") is fits


@pytest.mark.parametrize(
    ("name", "version", "fits"),
    [
        ("etcd", Version(3, 5, 0), True),
        ("etcd", Version(3, 4, 99), False),
        ("kwok", Version(0, 7, 0), True),
        ("kwok", Version(0, 6, 1), False),
    ],
)
def test_etcd_and_kwok_fit_from_a_version_on(name: str, version: Version, fits: bool) -> None:
    assert (misfit(PROGRAMS[name], version) == "") is fits


def test_every_module_says_its_version_and_the_go_that_it_needs() -> None:
    for program in BUILT:
        assert program.module.version > Version(0, 0, 0)
        assert isinstance(program.module, Module)
        assert program.module.go_version >= Version(1, 26, 0)


def test_every_program_is_one_that_its_module_pins() -> None:
    for program in BUILT:
        assert isinstance(program.module, Module)
        pinned = (program.module.directory / "go.mod").read_text(encoding="utf-8")
        assert re.search(rf"^(tool |\t){re.escape(program.package)}$", pinned, re.MULTILINE) or program.package == "."


def test_a_wheel_is_pinned_with_its_checksums() -> None:
    """pip refuses a file with another checksum: one for each of two architectures."""
    assert ENVOY.version >= Version(1, 40, 0)
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", ENVOY.requirements.read_text(encoding="utf-8"))) == 2


def test_the_cache_tells_a_wheel_from_what_go_built(tmp_path: Path) -> None:
    assert cached_directory(tmp_path, ENVOY).name.endswith("-wheel")
    assert cached_directory(tmp_path, CONTOUR).name.endswith("-static")


def test_a_requirement_of_one_line_is_read_too() -> None:
    assert required_version("module x\n\nrequire k8s.io/one v1.2.3\n", "k8s.io/one") == Version(1, 2, 3)


def test_the_version_is_the_required_one_and_not_that_of_a_module_whose_path_begins_alike() -> None:
    go_mod = "module x\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes-extra v9.9.9\n\tk8s.io/kubernetes v1.2.3\n)\n"
    assert required_version(go_mod, "k8s.io/kubernetes") == Version(1, 2, 3)
    with pytest.raises(ValueError, match="requires no"):
        required_version(go_mod, "k8s.io/other")


@pytest.mark.parametrize(
    ("environment", "cache"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/coxswain/programs"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/disk/me"}, "/disk/me/coxswain/programs"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache/coxswain/programs"),
    ],
)
def test_the_cache_is_where_xdg_says(environment: dict[str, str], cache: str) -> None:
    assert default_cache(environment) == Path(cache)
