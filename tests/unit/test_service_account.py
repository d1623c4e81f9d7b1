"""The ServiceAccount of the pods: it stays while they use its name."""

from unit.release_bench import ReleaseBench


def names(bench: ReleaseBench) -> list[str]:
    return [each["metadata"]["name"] for each in bench.live("ServiceAccount")]


def test_it_stays_if_the_pods_go_on_to_use_it() -> None:
    """Another tool takes it over: the spec no longer creates it, but names it."""
    bench = ReleaseBench()
    bench.settle()
    bench.roll_out()
    bench.release(serviceAccount={"create": False, "name": "web"})
    assert names(bench) == ["web"]
    assert bench.deployment["spec"]["template"]["spec"]["serviceAccountName"] == "web"


def test_it_goes_after_the_rollout_if_the_pods_use_another_one() -> None:
    bench = ReleaseBench()
    bench.settle()
    bench.roll_out()
    bench.change(serviceAccount={"create": False, "name": "other"})
    bench.settle()
    assert names(bench) == ["web"], "the old pods still run"
    bench.roll_out()
    assert names(bench) == []
