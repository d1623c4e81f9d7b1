"""The server of /metrics: plain or with TLS, who may get it, the answers to others, and the limits of connections."""

import asyncio
import re
import ssl
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from cluster.certificates import create_authority
from coxswain.gauges import Readings
from coxswain.kernel.api.access_review import AccessReviewer
from coxswain.kernel.api.connection import plain
from coxswain.kernel.api.transport import HttpTransport
from coxswain.main import _metrics
from coxswain.serving import metrics_server
from coxswain.serving.certificates import CertificateFiles, self_signed_context
from coxswain.serving.metrics_server import Guard, bearer_token, forbidden
from coxswain.settings import Settings
from unit.metrics_serving import ROLE, Served, running
from unit.reviewing_api import ROOT, SCRAPER, TENANT, reviewing


def test_plain_metrics_are_for_everyone() -> None:
    async def body(found: Served) -> None:
        assert found.scheme == "http"
        answer = await found.get()
        assert (answer.status, "coxswain_build_info{" in answer.text) == (200, True)
        assert found.reviews.asked == []
        assert [(await found.get(path=path)).status for path in ("/healthz", "/readyz", "/")] == [404, 404, 404]
        assert (await found.get(method="POST")).status == 405
        assert (await found.get(method="HEAD")).status == 200

    running(body, guarded=False)


def test_a_scraper_gets_the_metrics_over_tls() -> None:
    async def body(found: Served) -> None:
        assert found.scheme == "https"
        answer = await found.get("t-scraper")
        assert (answer.status, "coxswain_build_info{" in answer.text) == (200, True)
        assert len(found.reviews.asked) == 2

    running(body, tls=self_signed_context())


def test_the_certificate_is_the_one_of_the_files(tmp_path: Path) -> None:
    """A client that trusts its authority verifies it, before and after a rotation."""
    now = [0.0]
    authority = create_authority(tmp_path, "authority")

    def issue(*names: str) -> None:
        certificate, key = authority.issue(tmp_path, "tls", names)
        assert certificate == tmp_path / "tls.crt"
        assert key == tmp_path / "tls.key"

    async def body(found: Served) -> None:
        found.trust = ssl.create_default_context(cafile=str(authority.certificate_file))
        assert (await found.get("t-scraper")).status == 200
        issue("elsewhere")
        assert (await found.get("t-scraper")).status == 200, "not read yet"
        now[0] += 10
        with pytest.raises(aiohttp.ClientConnectorCertificateError, match="not valid for 'localhost'"):
            await found.get("t-scraper")
        issue("localhost")
        now[0] += 10
        assert (await found.get("t-scraper")).status == 200

    issue("localhost")
    running(body, tls=CertificateFiles(tmp_path, lambda: now[0]))


@pytest.mark.parametrize("token", [None, "t-unknown"])
def test_who_is_not_authenticated_gets_a_401(token: str | None) -> None:
    async def body(found: Served) -> None:
        answer = await found.get(token)
        assert (answer.status, answer.challenge) == (401, "Bearer")
        assert ("not valid" if token else "missing") in answer.text
        assert "kubectl create token" in answer.text
        assert len(found.reviews.asked) == bool(token), "no access is reviewed without a user"

    running(body)


def test_who_may_not_get_a_403_with_the_command_that_grants_it() -> None:
    async def body(found: Served) -> None:
        answer = await found.get("t-tenant")
        assert (answer.status, answer.text) == (403, forbidden(TENANT, ROLE))
        assert "coxswain_" not in answer.text
        assert (await found.get("t-root")).text == forbidden(ROOT, ROLE)

    running(body)


def test_the_command_that_grants_the_right() -> None:
    told, command = forbidden(SCRAPER, ROLE).splitlines()
    assert told == f'User "{SCRAPER}" may not get /metrics. Grant the right with:'
    assert command.split() == [
        *("kubectl", "create", "clusterrolebinding", "monitoring-prometheus-coxswain-metrics-reader"),
        *("--clusterrole=coxswain-metrics-reader", "--serviceaccount=monitoring:prometheus"),
    ]
    assert forbidden("root at home", ROLE).splitlines()[1].endswith(" '--user=root at home'")


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer  ", None),
        ("Basic dTpw", None),
        ("Bearer a", "a"),
        ("bearer  a ", "a"),
        # aiohttp decodes a byte that is not UTF-8 as a surrogate.
        ("Bearer \udcff", None),
        ("Bearer \u00e9", None),
    ],
)
def test_bearer_tokens(header: str | None, token: str | None) -> None:
    assert bearer_token(header) == token


def refusing(status: int, message: str) -> Callable[[web.Request], web.Response]:
    return lambda _: web.json_response({"reason": "No", "message": message}, status=status)


@pytest.mark.parametrize(
    ("instead", "status", "reason"),
    [
        (refusing(403, "cannot create resource"), 500, "cannot create resource"),
        (refusing(403, "cannot create resource"), 500, "manifests/components/metrics"),
        (refusing(500, "etcd is away"), 503, "etcd is away"),
        (refusing(401, "who are you"), 503, "who are you"),
        (lambda _: web.Response(text="no JSON", status=200), 503, "not a JSON object"),
    ],
)
def test_without_a_review_nobody_gets_the_metrics(
    instead: Callable[[web.Request], web.Response], status: int, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(found: Served) -> None:
        found.reviews.instead = instead
        for _ in range(3):
            answer = await found.get("t-scraper")
            assert (answer.status, reason in answer.text) == (status, True), answer.text
            assert "coxswain_build_info" not in answer.text
        assert len(found.reviews.asked) == 3, "a failure is not cached"

    running(body)
    # asyncio may warn of a process that an earlier test has left.
    own = [record for record in caplog.records if record.name.startswith("coxswain")]
    warnings = [record.getMessage() for record in own if record.levelname == "WARNING"]
    assert len(warnings) == 1, "once, not for each scrape"
    assert warnings[0].startswith("requests for the metrics cannot be authorized: ")


def test_an_api_server_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    async def whole() -> None:
        async with reviewing() as (reviews, client):
            client._transport = HttpTransport(plain("http://127.0.0.1:1"))
            guard = Guard(AccessReviewer(client, "/metrics", asyncio.get_running_loop().time), role=ROLE)
            async with metrics_server.metrics_server("127.0.0.1:0", Readings, guard=guard):
                port = int(caplog.messages[-1].rpartition(":")[2])
                answer = await Served(port, reviews, scheme="http").get("t-scraper")
                assert (answer.status, "Connect call failed" in answer.text) == (503, True), answer.text

    caplog.set_level("INFO")
    asyncio.run(whole())


def test_no_token_is_logged_or_quoted(caplog: pytest.LogCaptureFixture) -> None:
    """Also if a webhook or a proxy quotes the request."""
    caplog.set_level("DEBUG")

    async def body(found: Served) -> None:
        answers = [await found.get(token) for token in ("t-scraper", "t-tenant", "t-unknown")]
        found.reviews.instead = refusing(400, "denied: {'token': 't-another'}")
        answers.append(await found.get("t-another"))
        assert [answer.status for answer in answers] == [200, 403, 401, 503]
        assert not [answer.text for answer in answers if re.search(r"t-(scraper|tenant|unknown|another)", answer.text)]

    running(body)
    # aiohttp's and the API server's own lines are those of the test.
    ours = [
        message for record, message in zip(caplog.records, caplog.messages, strict=True) if "coxswain" in record.name
    ]
    assert any("denied" in message for message in ours)
    assert not [message for message in ours if re.search(r"t-(scraper|tenant|unknown|another)", message)]


@pytest.mark.parametrize(
    ("settings", "scheme", "status"),
    [
        (Settings(metrics_listen="127.0.0.1:0"), "http", 200),
        (Settings(metrics_listen="127.0.0.1:0", metrics_secure=True), "https", 401),
    ],
)
def test_the_settings_decide(settings: Settings, scheme: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    async def whole() -> None:
        async with reviewing() as (reviews, client), _metrics(settings, client, Readings, "coxswain"):
            port = int(caplog.messages[-1].rpartition(":")[2])
            assert (await Served(port, reviews, scheme=scheme).get()).status == status
            if settings.metrics_secure:
                assert ROLE in (await Served(port, reviews, scheme=scheme).get("t-tenant")).text

    asyncio.run(whole())


def test_metrics_can_be_off() -> None:
    async def whole() -> None:
        async with reviewing() as (_, client):
            assert isinstance(_metrics(Settings(metrics_listen="0"), client, Readings, "coxswain"), nullcontext)

    asyncio.run(whole())
