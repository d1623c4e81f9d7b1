"""The body of a request: JSON that a YAML parser reads as the same value."""

import json

import yaml

from coxswain.kernel.api.transport import _serialized

TEXT = "Grüße 漢字 🎉 <&> \x00\x1f\x7f\x85\x9f \u2028 \u2029 \ufeff \ufffd \ufffe \uffff \\ud83c\\udf89 \t'\"#: -"


def test_every_character_is_the_same_in_json_and_in_yaml() -> None:
    body = {"data": {TEXT: TEXT}}
    sent = _serialized(body).decode()
    assert json.loads(sent) == body
    assert yaml.safe_load(sent) == body


def test_a_half_of_a_character_can_be_sent() -> None:
    assert _serialized({"a": "\ud83c"}) == b'{"a": "\\ud83c"}'
