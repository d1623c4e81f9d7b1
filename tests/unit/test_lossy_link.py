"""A link that loses packets: a machine that cannot have one says why."""

import os
import shutil

import pytest

from cluster.lossy_link import LinkUnavailableError, LossyLink


def test_an_ordinary_user_gets_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/sbin/ip")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LinkUnavailableError, match="this is not root"):
        LossyLink(6443)


def test_a_machine_without_iproute2_gets_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(LinkUnavailableError, match="install iproute2"):
        LossyLink(6443)


def test_each_link_has_addresses_and_a_namespace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/sbin/ip")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    links = [LossyLink(6443) for _ in range(3)]
    assert len({link.address for link in links}) == len({link.namespace for link in links}) == 3
    assert links[0].command(["true"]) == ["/sbin/ip", "netns", "exec", links[0].namespace, "true"]
