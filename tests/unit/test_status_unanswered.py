"""Status writes whose answer is lost: the next reconcile recognizes their effect by the observed status."""

import dataclasses

import pytest

from coxswain.kernel.api.errors import RequestFailed, Unreachable
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.webapp.kinds import SERVICE
from unit.bench import WEB, Bench
from unit.server import RecordingWriter, refusal

LOST = [Unreachable("connection reset"), refusal(504, "timeout"), refusal(500, "etcdserver: request timed out")]


class LosingWriter(RecordingWriter):
    """Carries status writes out. The answers of some are lost."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: list[RequestFailed] = []
        """The errors of the next status writes, instead of an answer."""
        self.carried_out: list[Projection] = []
        """The WebApps after the writes without an answer."""

    async def write_status(self, parent: Projection, status: Status) -> Projection:
        answer = await super().write_status(parent, status)
        if self.lost:
            self.carried_out.append(answer)
            raise self.lost.pop(0)
        return answer


class LosingBench(Bench):
    """A bench with a writer that loses answers."""

    def __init__(self) -> None:
        super().__init__()
        self.losing = self.writer = LosingWriter()
        self.restart()
        self.converge()

    def change_service(self) -> None:
        """Change the type of the Service by kubectl."""
        live = self.store.get(SERVICE, WEB)
        assert live is not None
        self.writer.version += 1
        content = {**live.content, "spec": {**live.content["spec"], "type": "NodePort"}}
        editor = ManagedFieldsEntry("kubectl-edit", {"f:spec": {"f:type": {}}}, "Update")
        self.store.observe(dataclasses.replace(live, version=self.writer.version, content=content, others=(editor,)))

    def lose(self, error: RequestFailed) -> None:
        """Reconcile once. The status write is carried out, but not answered."""
        self.losing.lost = [error]
        with pytest.raises(type(error)):
            self.run()

    def deliver(self) -> None:
        """Deliver the watch event of the unanswered write."""
        self.store.observe(self.losing.carried_out.pop())

    @property
    def counts(self) -> list[int]:
        """Return the counts of the reported drift."""
        return [each["count"] for each in self.webapp_now().content["status"].get("drift", [])]


@pytest.fixture
def bench() -> LosingBench:
    return LosingBench()


@pytest.mark.parametrize("error", LOST)
def test_lost_answers_are_no_write_war_over_the_status(bench: LosingBench, error: RequestFailed) -> None:
    """The operator took its own status for the one of another operator, and suspended its status writes."""
    for step in range(16):
        bench.now += 5
        bench.ready_pods(step % 2)
        if step % 2:
            bench.run()
        else:
            bench.lose(error)
            bench.deliver()
        assert bench.webapp_now().content["status"]["readyReplicas"] == step % 2
    assert "Contested" not in {told.reason for told in bench.events.told}


@pytest.mark.parametrize("retried", [False, True])
def test_drift_in_an_unanswered_status_counts_once(bench: LosingBench, retried: bool) -> None:
    bench.change_service()
    bench.lose(LOST[0])
    if retried:
        # The cache is still stale, so the write conflicts.
        bench.now += 1
        bench.writer.fail("status", refusal(409))
        bench.run()
        bench.writer.answers.clear()
    bench.deliver()
    bench.now += 61
    bench.run()
    assert (bench.counts, bench.writer.sent) == ([1], [])


def test_drift_after_an_unanswered_status_counts(bench: LosingBench) -> None:
    bench.change_service()
    bench.lose(LOST[0])
    bench.deliver()
    bench.change_service()
    bench.run()
    assert "status" not in bench.writer.sent, "drift is reported at intervals, also after an unanswered write"
    bench.now += 61
    bench.run()
    assert bench.counts == [2]


def test_drift_in_a_status_that_was_not_written_counts_later(bench: LosingBench) -> None:
    bench.change_service()
    bench.lose(LOST[0])
    before = bench.webapp_now()
    bench.writer.version += 1
    bench.store.observe(dataclasses.replace(before, version=bench.writer.version))
    bench.now += 61
    bench.run()
    assert bench.counts == [1]
    bench.now += 61
    bench.run()
    assert bench.counts == [1]


def test_another_status_after_an_unanswered_one_is_by_another_process(bench: LosingBench) -> None:
    for step in range(8):
        bench.now += 5
        overwrite_status(bench)
        if step == 3:
            bench.lose(LOST[0])
        else:
            bench.run()
    assert "Contested" in {told.reason for told in bench.events.told}


def overwrite_status(bench: LosingBench) -> None:
    """Write the status as another process."""
    found = bench.webapp_now()
    bench.writer.version += 1
    first, *others = found.content["status"]["conditions"]
    status = {**found.content["status"], "conditions": [{**first, "reason": "Other"}, *others]}
    content = {**found.content, "status": status}
    bench.store.observe(dataclasses.replace(found, version=bench.writer.version, content=content))


def test_few_unanswered_writes_are_remembered(bench: LosingBench) -> None:
    for step in range(20):
        bench.now += 60
        bench.ready_pods(step % 2)
        bench.change_service()
        bench.losing.lost = [Unreachable("reset")]
        try:
            bench.run()
        except Unreachable:
            continue
    assert 1 <= len(bench.memory.status.unanswered) <= 10
