"""The containers beside the main one: init containers, and sidecars.

A sidecar is an init container with restartPolicy Always
(https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
"""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.children.container import manifest_of
from coxswain.webapp.children.volumes import file_mounts, mounts
from coxswain.webapp.spec import WebApp


def init_containers(webapp: WebApp) -> list[Manifest]:
    """Return the init containers and sidecars in the order of their start.

    By default sidecars start first, so that init containers can use them, for example a proxy to a database.
    """
    sidecars = webapp.spec.get("sidecars", [])
    first = [_sidecar(webapp, sidecar) for sidecar in sidecars if not sidecar.get("afterInitContainers")]
    last = [_sidecar(webapp, sidecar) for sidecar in sidecars if sidecar.get("afterInitContainers")]
    return [*first, *(_container(webapp, each) for each in webapp.spec.get("initContainers", [])), *last]


def _sidecar(webapp: WebApp, wanted: Mapping[str, Any]) -> Manifest:
    return {**_container(webapp, wanted), "restartPolicy": "Always"}


def _container(webapp: WebApp, wanted: Mapping[str, Any]) -> Manifest:
    uses_config = wanted.get("useConfig", False)
    mounted = mounts(wanted.get("volumeMounts", []))
    return manifest_of(
        {"readOnlyRootFilesystem": webapp.spec.get("readOnlyRootFilesystem"), **wanted},
        message_policy=webapp.defaults.termination_message_policy,
        config_of=webapp if uses_config else None,
        mounts=[*(file_mounts(webapp) if uses_config else []), *mounted],
        user=wanted.get("runAsUser"),
    )
