"""Read the object with a child's name: the watch does not report it, or a write was answered with a conflict."""

import logging

from coxswain.kernel.api.errors import NotSent, Refused, RequestFailed
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.objects.manifests import kind_and_name
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.answers import Answers
from coxswain.kernel.reconciling.child.decide import Target
from coxswain.kernel.reconciling.memory.unwatched import NOTHING_UNWATCHED
from coxswain.kernel.workload import P

log = logging.getLogger(__name__)


class NameReader:
    """Reads by name, and takes the found objects in."""

    def __init__(self, writer: Writer, answers: Answers) -> None:
        self._writer = writer
        self._answers = answers

    async def read_when_due(self, target: Target[P]) -> bool:
        """Read the object with the child's name if that is due; tell whether it was read.

        A failed read takes place again after the interval, and the last one counts until then.

        Raises:
            NotSent: the operator is shutting down or does not lead.
            HistoryReset: the answer is older than a removal of the object.
        """
        if not target.memory.unwatched.is_due(target.parent.generation, target.now):
            return False
        try:
            await self.read(target)
        except NotSent:
            raise
        except RequestFailed as error:
            log.warning("%s %s cannot be read: %s", *kind_and_name(target.manifest), error)
            self._answers.postpone_read(target)
        return True

    async def read(self, target: Target[P]) -> None:
        """Read the object. If it does not exist, nothing holds the name.

        Raises:
            RequestFailed: it could not be read.
            HistoryReset: the answer is older than a removal of the object.
        """
        try:
            await self.read_existing(target)
        except Refused as error:
            if error.status != 404:
                raise
            target.memory.unwatched = NOTHING_UNWATCHED

    async def read_existing(self, target: Target[P]) -> Projection:
        """Read the object and return it.

        Raises:
            RequestFailed: it could not be read, or it does not exist.
            HistoryReset: the answer is older than a removal of the object.
        """
        removed_at = self._answers.removed_at(target)
        found = await self._writer.read(target.manifest)
        self._answers.take_read(target, found, removed_at)
        return found
