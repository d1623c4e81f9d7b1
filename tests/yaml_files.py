"""YAML parsed by libyaml where PyYAML has it, in an eighth of the time: the CRD has 320 KB and many tests read it."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def document(path: Path) -> Any:
    """Return the only document of a file. The caller may change it."""
    return yaml.load(path.read_text(encoding="utf-8"), _LOADER)  # noqa: S506 - both loaders are safe


def documents(path: Path) -> list[Any]:
    """Return the documents of a file. The caller may change them."""
    return list(yaml.load_all(path.read_text(encoding="utf-8"), _LOADER))


@cache
def webapp_crd() -> Any:
    """Return the CustomResourceDefinition of WebApps. It is shared: the caller must not change it."""
    return document(ROOT / "crds" / "webapps.yaml")


def webapp_schema() -> dict[str, Any]:
    """Return the schemas of a WebApp's `spec` and `status`, as part of the shared CRD."""
    properties: dict[str, Any] = webapp_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return properties
