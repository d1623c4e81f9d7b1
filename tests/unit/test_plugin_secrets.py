"""No output of the plugin has the value of a probable secret or the content of a file."""

from typing import Any

import pytest

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.status.conflict_report import shown
from kubectl_coxswain.fields import child_change, spec_changes

SECRET = "hunter2"
JSON = '{"password": "hunter2"}'
SIDECAR: dict[str, Any] = {"name": "proxy", "env": [{"name": "TOKEN", "value": SECRET}]}
SPECS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"files": [{"path": "/etc/app.ini", "content": f"password is {SECRET}"}]}, {}),
    (
        {"files": [{"path": "/etc/app.ini", "content": SECRET}]},
        {"files": [{"path": "/etc/app.ini", "content": "other"}, {"path": "/b", "content": SECRET}]},
    ),
    ({"files": [{"path": "/same", "content": SECRET}, {"path": "/same", "content": "b"}]}, {"files": []}),
    ({"annotations": {"a.b": JSON}}, {}),
    ({"config": {"app.json": JSON}}, {"config": {"app.json": "apiKey: hunter2"}}),
    ({"config": {"app.json": '{"db": "{\\"secret\\": \\"hunter2\\"}"}'}}, {}),
    ({"args": ["--x={'api_key': 'hunter2'}"]}, {"args": []}),
    ({"sidecars": [SIDECAR]}, {"sidecars": [{"name": "proxy"}]}),
]


@pytest.mark.parametrize(("live", "wanted"), SPECS)
def test_no_secret_is_shown(live: dict[str, Any], wanted: dict[str, Any]) -> None:
    for found in (*spec_changes(live, wanted), *spec_changes(wanted, live)):
        assert SECRET not in found.live + found.wanted


def test_the_content_of_a_file_is_only_named() -> None:
    live = {"files": [{"path": "/etc/motd", "content": "hello"}]}
    [found] = spec_changes(live, {"files": [{"path": "/etc/motd", "content": "welcome"}]})
    assert (found.field, found.live, found.wanted) == ("spec.files[path=/etc/motd].content", "(a text)", "(a text)")
    [gone] = spec_changes(live, {})
    assert (gone.live, gone.wanted) == ("(a text)", "(none)")


@pytest.mark.parametrize("data", ["f:data", "f:binaryData"])
def test_the_data_of_a_configmap_is_only_named(data: str) -> None:
    """The cache has hashes of it."""
    [found] = child_change(Difference((data, "f:motd"), "5891b5b5", "ef2d127d"), (), hashed=True)
    assert (found.live, found.wanted) == ("(a text)", "(a text)")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec.files[path=/etc/db-password].content", SECRET),
        ("spec.items[key=api-token].value", SECRET),
        ("data[app.json]", JSON),
        ("data[app.json]", "{'secret' : 'hunter2'}"),
        ("data[app.yaml]", "apiKey: hunter2"),
        ("data[app.yaml]", "api-key=hunter2"),
    ],
)
def test_the_status_hides_values_by_the_name_beside_them(field: str, value: str) -> None:
    assert shown(field, value) == "(hidden)"


@pytest.mark.parametrize("value", ["the password is in the vault", "api keys", "secretary: Anna"])
def test_words_about_secrets_are_shown(value: str) -> None:
    assert shown("data[motd]", value) == value
