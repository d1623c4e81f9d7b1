"""Coverage: the listed and watched kinds of each namespace decide whether its WebApps are reconciled."""

import pytest

from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.cache.coverage import Coverage, _message
from coxswain.kernel.cache.resync import WatchNotOpened
from coxswain.kernel.cache.scope_state import LASTING_SECONDS, UNWATCHED_SECONDS
from coxswain.kernel.cache.waiting import Waiting
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, HTTP_ROUTE, POD, SECRET, SERVICE, WEBAPP
from rendered import CHILDREN, KINDS
from unit.bench import WEB
from unit.bench import Bench as Reconciling

FORBIDDEN = Refused(403, {"reason": "Forbidden", "message": "no right"})


class Bench:
    """The coverage of two namespaces, with a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.coverage = Coverage(KINDS, ["a", "b"], lambda: self.now)

    def cover(self, namespace: str, *without: Kind) -> None:
        """Watch and list all kinds of a namespace except some."""
        for kind in KINDS.watched:
            if kind not in without:
                self.coverage.watch_started((kind, namespace))
                self.coverage.listed((kind, namespace), self.coverage.gaps((kind, namespace)))

    def fail(self, kind: Kind, namespace: str, error: Exception = FORBIDDEN, *, seconds: float = 0) -> None:
        """Report that a kind has failed for this number of seconds."""
        self.coverage.failed((kind, namespace), error)
        self.now += seconds
        self.coverage.failed((kind, namespace), error)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_unlisted_namespace_does_not_block_others(bench: Bench) -> None:
    bench.cover("a")
    bench.fail(WEBAPP, "b", seconds=1000)
    assert bench.coverage.view("a").settled
    assert not bench.coverage.view("b").settled
    assert all(scope[1] == "b" for scope in bench.coverage.missing())
    assert bench.coverage.missing()[WEBAPP, "b"] == "webapps of b cannot be listed: 403 Forbidden: no right"


@pytest.mark.parametrize("kind", KINDS.watched)
def test_before_the_first_list_every_kind_is_required(bench: Bench, kind: Kind) -> None:
    bench.cover("a", kind)
    assert not bench.coverage.view("a").settled
    bench.cover("a")
    assert bench.coverage.view("a").settled
    bench.coverage.start_over()
    assert not bench.coverage.view("a").settled


def test_a_kind_for_explanations_is_not_required_after_its_list_failed(bench: Bench) -> None:
    bench.cover("a", POD)
    bench.fail(POD, "a", Unreachable("timed out"))
    assert bench.coverage.view("a") == (True, (), (), (), (), ())


def test_an_unlisted_kind_of_children_is_required(bench: Bench) -> None:
    """The operator would create an existing autoscaler again if it could not list it."""
    bench.cover("a", HORIZONTAL_POD_AUTOSCALER)
    bench.fail(HORIZONTAL_POD_AUTOSCALER, "a", Unreachable("timed out"))
    assert bench.coverage.view("a") == (False, (), (HORIZONTAL_POD_AUTOSCALER,), (), (), ())


@pytest.mark.parametrize("kind", [kind for kind in CHILDREN if kind not in KINDS.optional])
def test_a_kind_of_children_whose_list_fails_for_long_is_reported(bench: Bench, kind: Kind) -> None:
    bench.cover("a", kind)
    bench.fail(kind, "a", seconds=LASTING_SECONDS - 1)
    assert not bench.coverage.view("a").settled
    bench.fail(kind, "a", seconds=1)
    view = bench.coverage.view("a")
    assert (view.settled, view.unlisted) == (True, (kind.plural,))
    told = bench.coverage.unlisted("a")[kind.kind]
    assert "in namespace a: 403 Forbidden: no right." in told
    assert kind.plural in told
    bench.cover("a")
    assert bench.coverage.view("a").unlisted == ()
    assert bench.coverage.unlisted("a") == {}


def test_another_error_restarts_the_time_of_the_failure(bench: Bench) -> None:
    """After an outage the API server answers 403 until it has read the roles."""
    bench.cover("a")
    bench.fail(DEPLOYMENT, "a", Unreachable("refused"), seconds=1000)
    bench.fail(DEPLOYMENT, "a", seconds=LASTING_SECONDS - 1)
    assert bench.coverage.view("a").unlisted == ()
    bench.fail(DEPLOYMENT, "a", seconds=1)
    assert bench.coverage.view("a").unlisted == ("deployments",)


def test_an_outage_after_all_lists_is_not_reported(bench: Bench) -> None:
    bench.cover("a")
    bench.fail(SERVICE, "a", Unreachable("refused"), seconds=1000)
    assert bench.coverage.view("a").unlisted == ()
    assert bench.coverage.missing()[SERVICE, "a"] == "services of a cannot be listed: refused"


def test_a_short_failure_of_a_listed_kind_is_not_missing(bench: Bench) -> None:
    bench.cover("a")
    bench.fail(SERVICE, "a")
    assert (SERVICE, "a") not in bench.coverage.missing()


def test_autoscalers_are_unknown_until_a_relist_after_a_gap(bench: Bench) -> None:
    coverage, scope = bench.coverage, (HORIZONTAL_POD_AUTOSCALER, "a")
    assert coverage.view("a").doubtful
    bench.cover("a")
    assert not coverage.view("a").doubtful
    assert coverage.view("b").doubtful
    coverage.watch_refused(scope)
    assert coverage.view("a").doubtful
    coverage.listed(scope, coverage.gaps(scope))
    assert coverage.view("a").doubtful, "its watch is not running"
    assert coverage.watch_opened(scope)
    assert not coverage.watch_opened(scope)
    assert coverage.view("a").doubtful, "an autoscaler may be younger than that relist"
    coverage.listed(scope, coverage.gaps(scope))
    assert not coverage.view("a").doubtful
    coverage.begin_watches(KINDS.watched)
    coverage.listed(scope, coverage.gaps(scope))
    assert coverage.view("a").doubtful
    coverage.watch_started(scope)
    assert coverage.view("a").doubtful, "the watch reports nothing from between that relist and its start"
    coverage.listed(scope, coverage.gaps(scope))
    assert not coverage.view("a").doubtful


def test_a_refused_watch_beside_an_answered_list(bench: Bench) -> None:
    bench.fail(POD, "b", WatchNotOpened("the watch does not open"))
    assert "the watch does not open" in bench.coverage.missing()[POD, "b"]


def test_a_watch_that_is_refused_for_long_is_missing(bench: Bench) -> None:
    """The right to watch is gone, the one to list is not: relists do not replace the watch."""
    bench.cover("a")
    scope = (DEPLOYMENT, "a")
    for _ in range(12):
        bench.coverage.watch_refused(scope)
        bench.coverage.listed(scope, bench.coverage.gaps(scope))
        assert bench.coverage.missing().get(scope) is None
        assert not bench.coverage.is_unwatched(scope)
        bench.now += 5
    bench.coverage.watch_refused(scope)
    assert bench.coverage.is_unwatched(scope)
    assert bench.coverage.missing()[scope] == (
        "deployments of a cannot be watched: each attempt has failed for 60 s. The log has the reason"
    )
    assert bench.coverage.view("a").settled, "they are relisted each minute"
    bench.coverage.watch_opened(scope)
    assert scope not in bench.coverage.missing()
    bench.coverage.watch_refused(scope)
    assert scope not in bench.coverage.missing(), "the time begins with each refusal after an opening"


@pytest.mark.parametrize("kind", KINDS.optional)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_refused_watch_of_an_optional_kind_does_not_make_the_operator_unready(
    bench: Bench, kind: Kind, restarted: bool
) -> None:
    """It did after the first relist, although a kind whose LIST never succeeded did not."""
    bench.cover("a")
    bench.cover("b")
    scope = (kind, "a")
    bench.coverage.watch_refused(scope)
    bench.now += 60
    if restarted:
        bench.coverage.begin_watches(KINDS.watched)
        bench.cover("a", kind)
        bench.cover("b")
    bench.coverage.listed(scope, bench.coverage.gaps(scope))
    assert bench.coverage.is_unwatched(scope), "it is relisted each minute"
    assert bench.coverage.missing() == {}


def test_a_cluster_wide_list_covers_every_namespace() -> None:
    coverage = Coverage(KINDS, [None], lambda: 0.0)
    assert coverage.scope(POD, "shop") == (POD, None)
    assert not coverage.view("shop").settled


def test_an_unlisted_kind_is_reported_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """K5: the operator could list the WebApp but not its Deployment, and reported nothing."""
    bench, why = Reconciling(), dict[str, str]()
    monkeypatch.setattr(bench.coverage, "unlisted", lambda namespace: why if namespace == "shop" else {})
    bench.converge()
    why["Deployment"] = "deployments.apps cannot be listed in namespace shop: 403 Forbidden: no right"
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "NotListed")
    assert [(told.reason, told.type) for told in bench.events.told] == [("NotListed", "Warning")]
    assert why["Deployment"] in bench.events.told[0].note
    bench.run()
    assert bench.writer.sent == []
    why.clear()
    bench.run()
    assert "update Deployment" in bench.writer.sent


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (
            'services is forbidden: User "system:serviceaccount:ops:coxswain" cannot list resource "services"',
            (
                "may list and watch services: "
                "kubectl auth can-i list services -n shop --as=system:serviceaccount:ops:coxswain"
            ),
        ),
        ("internal error", "the API server answers: kubectl get services -n shop"),
    ],
)
def test_the_message_of_an_unlisted_kind_has_a_command_to_run(text: str, step: str) -> None:
    assert _message((SERVICE, "shop"), text).endswith(step)


USUAL, OTHER = (f"system:serviceaccount:{place}:coxswain" for place in ("coxswain-system", "team-a"))
ROUTES = "kubectl auth can-i list httproutes.gateway.networking.k8s.io"
GRANT_ROUTES = (
    "A cluster administrator can grant the right, from a checkout of the operator: "
    "kubectl apply -n shop -k manifests/overlays/routes"
)


@pytest.mark.parametrize(
    ("kind", "namespace", "user", "step"),
    [
        (HTTP_ROUTE, "shop", USUAL, f"the operator retries every few seconds. {GRANT_ROUTES}"),
        (HTTP_ROUTE, None, USUAL, f"{ROUTES} --all-namespaces --as={USUAL}"),
        (HTTP_ROUTE, "shop", OTHER, f"{ROUTES} -n shop --as={OTHER}"),
        (SERVICE, "shop", USUAL, f"list services -n shop --as={USUAL}"),
    ],
)
def test_a_kind_with_permissions_of_its_own_names_their_manifest(
    kind: Kind, namespace: str | None, user: str, step: str
) -> None:
    """Their RoleBinding names the user, so they grant nothing to an operator that is installed elsewhere."""
    text = f'{kind.plural} is forbidden: User "{user}" cannot list resource "{kind.plural}"'
    found = _message((kind, namespace), text)
    assert found.endswith(step)
    assert found.count("kubectl ") == 1


@pytest.mark.parametrize("plurals", [[], ["secrets"]])
def test_a_kind_that_the_operator_is_not_set_to_watch_is_told_apart(plurals: list[str]) -> None:
    found = Coverage(KINDS.with_referenced(plurals), [None], lambda: 0.0).visibility(SECRET, "shop")
    assert found.problem is not None
    assert found.watched is bool(plurals)


def test_a_referenced_kind_that_can_be_listed_but_not_watched_is_told_apart_from_an_outage() -> None:
    """Without the right to watch it, its kind stayed in doubt, so its changes waited for ever, without a message."""
    now = [100.0]
    coverage, scope = Coverage(KINDS.with_referenced(["secrets"]), [None], lambda: now[0]), (SECRET, None)

    def relist() -> None:
        coverage.listed(scope, coverage.gaps(scope))

    coverage.watch_started(scope)
    relist()
    now[0] += 1
    coverage.watch_refused(scope)
    now[0] += UNWATCHED_SECONDS
    waiting = Waiting(coverage, [None])
    # Only the requests of the watch have failed, but nothing has shown that others succeed.
    assert coverage.visibility(SECRET, "shop").problem is None
    now[0] += 1
    relist()
    problem = coverage.visibility(SECRET, "shop").problem
    assert problem is not None
    assert problem.startswith("The operator can list secrets (metadata), but each attempt to watch them has failed")
    assert coverage.view(None).unwatched == (SECRET,)
    assert waiting.take_due(lambda: [WEB]) == {WEB}, "its status reports it"
    coverage.watch_opened(scope)
    assert waiting.take_due(lambda: [WEB]) == {WEB}
    assert (coverage.visibility(SECRET, "shop").problem, coverage.view(None).unwatched) == (None, ())
