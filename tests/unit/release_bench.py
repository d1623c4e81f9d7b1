"""A whole reconciler on the model API server, for rollouts of one WebApp: it can crash before any write."""

from datetime import timedelta
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Store
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from coxswain.kernel.status.status_writer import StatusWriter
from coxswain.settings import Settings
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from coxswain.webapp.workload import WORKLOAD
from rendered import MODELLED
from unit.bench import Recorded, Reported
from unit.event_loop import run
from unit.model_bench import KEY, ModelBench, ModelTransport
from unit.set_coverage import SetCoverage

COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
IN_FLIGHT = 8
AVAILABLE = {"type": "Available", "status": "True"}


class Crash(Exception):
    """The process ends before a write."""


class CrashingTransport(ModelTransport):
    """Counts the requests by method, and ends the process before a given write."""

    def __init__(self, api: Any) -> None:
        super().__init__(api)
        self.sent: list[str] = []
        self.writes_left: int | None = None

    async def send(self, method: str, path: str, **request: Any) -> HttpResponse:
        """Send a request, unless the process ends before it."""
        request["check"]()
        if method != "GET" and self.writes_left is not None:
            if self.writes_left == 0:
                raise Crash
            self.writes_left -= 1
        self.sent.append(f"{method} {path.rpartition('/shop/')[2]}")
        return await super().send(method, path, **request)


class ReleaseBench(ModelBench):
    """One WebApp with its children on the model. The test plays the Deployment's controller."""

    def __init__(self, **spec: Any) -> None:
        super().__init__(**spec)
        self.transport = CrashingTransport(self.api)
        self.events = Recorded()
        self.restart()

    def restart(self) -> None:
        """Start a new process, with an empty memory."""
        self.store, self._observed = Store(WEBAPP), 0
        client = Client(self.transport, Throttle(in_flight=IN_FLIGHT), timeout=1, page_size=100)
        writer = Writer(client, WORKLOAD.projector)
        status_writer = StatusWriter(
            self.store,
            writer,
            Settings().status,
            WORKLOAD.status_rules,
            clock=lambda: self.now,
            relist_parents=lambda _: None,
        )
        self.reconciler = Reconciler(
            WORKLOAD,
            self.store,
            SetCoverage(),
            writer,
            recorder=self.events,  # type: ignore[arg-type]
            event_reader=Reported(),  # type: ignore[arg-type]
            status_writer=status_writer,
            settings=Settings(),
            clock=lambda: self.now,
            now=lambda: self.time,
        )

    def reconcile_once(self) -> Outcome:
        """Reconcile once, after all events."""
        self.observe_all()
        return run(self.reconciler.reconcile(KEY, failures=0))

    def settle(self) -> int:
        """Reconcile until nothing is left to do; return the number of writes."""
        self.transport.sent.clear()
        for _ in range(30):
            before = self.api.version
            outcome = self.reconcile_once()
            self.pass_time(30)
            if self.api.version == before and not outcome.again and outcome.after is None:
                return len([sent for sent in self.transport.sent if not sent.startswith("GET")])
        raise AssertionError(f"the WebApp does not settle: {self.transport.sent[-20:]}")

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.time += timedelta(seconds=seconds)

    def change(self, **spec: Any) -> None:
        """Change the spec as a user. None removes a field."""
        answer = self.patch(WEBAPP.path("shop", "web"), {"spec": spec})
        assert answer.status == 200, answer.body

    def annotate(self, **annotations: str | None) -> None:
        """Annotate the WebApp as a user."""
        self.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": annotations}})

    def roll_out(self) -> None:
        """Complete the rollout of the Deployment, and let the operator see it."""
        self._report({}, {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}, AVAILABLE)

    def time_out(self) -> None:
        """Let the rollout of the Deployment exceed its deadline. The old pods serve on."""
        message = 'ReplicaSet "web-abc" has timed out progressing.'
        progress = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": message}
        progress["lastUpdateTime"] = self.time.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._report({"replicas": self.deployment["spec"]["replicas"] + 1}, progress, AVAILABLE)

    def _report(self, counts: dict[str, int], *conditions: dict[str, str]) -> None:
        live = self.deployment
        complete = dict.fromkeys(COUNTS, live["spec"]["replicas"])
        status = {
            **complete,
            **counts,
            "observedGeneration": live["metadata"]["generation"],
            "conditions": list(conditions),
        }
        path = DEPLOYMENT.path("shop", "web", "status")
        assert self.patch(path, {"status": status}).status == 200
        self.settle()

    def release(self, **spec: Any) -> None:
        """Change the spec and complete its rollout."""
        self.change(**spec)
        self.settle()
        self.roll_out()

    def live(self, kind: str) -> list[dict[str, Any]]:
        """Return the objects of a kind."""
        [found] = [each for each in MODELLED if each.kind == kind]
        listed: list[dict[str, Any]] = self.request("GET", found.path("shop"), None, "").body["items"]
        return listed

    @property
    def deployment(self) -> dict[str, Any]:
        """The live Deployment."""
        found: dict[str, Any] = self.request("GET", DEPLOYMENT.path("shop", "web"), None, "").body
        return found

    @property
    def status(self) -> dict[str, Any]:
        """The status of the WebApp."""
        found: dict[str, Any] = self.request("GET", WEBAPP.path("shop", "web"), None, "").body["status"]
        return found

    def condition(self, name: str) -> tuple[str, str, str] | None:
        """Return status, reason and message of a condition."""
        found = next((each for each in self.status["conditions"] if each["type"] == name), None)
        return None if found is None else (found["status"], found["reason"], found["message"])

    @property
    def revisions(self) -> dict[int, dict[str, Any]]:
        """The revisions by number."""
        return {each["revision"]: each for each in self.live("ControllerRevision")}

    @property
    def images(self) -> dict[int, str]:
        """The recorded images by the number of the revision."""
        return {number: each["data"]["spec"]["image"] for number, each in sorted(self.revisions.items())}

    def note(self, number: int, annotation: str) -> str | None:
        """Return an annotation of a revision."""
        found: str | None = self.revisions[number]["metadata"]["annotations"].get(f"coxswain.dev/{annotation}")
        return found

    @property
    def running(self) -> str:
        """The image of the Deployment."""
        image: str = self.deployment["spec"]["template"]["spec"]["containers"][0]["image"]
        return image
