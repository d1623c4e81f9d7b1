"""An invariant of WebApps: a Deployment replaced by the operator keeps the replicas of its autoscaler."""

from model_cluster.objects import Place
from simulation.bounds import Violated
from simulation.judge import Objects
from simulation.network import Sent
from simulation.workloads.webapp.judge import autoscaler
from simulation.world import World


class Counts:
    """Remembers the replicas of Deployments deleted by the operator."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._replaced: dict[Place, int] = {}
        world.on_sent.append(self.take)

    def take(self, sent: Sent) -> Violated | None:
        """Check a request that arrived; return a violation of the invariant."""
        if sent.plural != "deployments" or not sent.name or sent.method == "GET" or sent.status >= 300:
            return None
        where = (sent.namespace or "", sent.name)
        webapp = self._world.cluster.get("webapps", where)
        scaled = webapp is not None and autoscaler(webapp, _autoscalers(sent)) is not None
        if sent.method == "DELETE" and sent.before is not None:
            if scaled:
                self._replaced[where] = sent.before["spec"].get("replicas", 1)
        elif sent.before is None and where in self._replaced and isinstance(sent.answer, dict):
            before, now = self._replaced.pop(where), sent.answer["spec"].get("replicas", 1)
            if before != now and scaled:
                why = f"{where}: an autoscaler had {before} replicas, its successor has {now}"
                return Violated("honesty", why)
        return None


def _autoscalers(sent: Sent) -> Objects:
    return {"horizontalpodautoscalers": sent.replica.delivered.objects.get("horizontalpodautoscalers", {})}
