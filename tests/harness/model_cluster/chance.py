"""Random numbers of one seed: they depend only on the seed, a name, and the number of earlier draws for the name.

So the removal of a step from a script does not change the numbers of other names, and shrinking works.
"""

import random
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TypeVar

_T = TypeVar("_T")
_WHOLE = 2.0**64


class Chance:
    """Random numbers of one seed."""

    def __init__(self, seed: str) -> None:
        self._key = blake2b(seed.encode(), digest_size=16).digest()
        self._asked: Counter[str] = Counter()

    def draw(self, name: str) -> float:
        """Return the next number of this name, 0 to 1."""
        count = self._asked[name]
        self._asked[name] = count + 1
        drawn = blake2b(f"{name}#{count}".encode(), digest_size=8, key=self._key).digest()
        return int.from_bytes(drawn, "big") / _WHOLE

    def happens(self, probability: float, name: str) -> bool:
        """Return True with this probability."""
        return probability > 0 and self.draw(name) < probability

    def between(self, low: float, high: float, name: str) -> float:
        """Return a uniformly distributed number."""
        return low + (high - low) * self.draw(name)

    def delay(self, low: float, high: float, name: str) -> float:
        """Return seconds with a uniformly distributed logarithm: small ones are as likely as large ones."""
        return float(low * (high / low) ** self.draw(name))

    def whole(self, low: int, high: int, name: str) -> int:
        """Return an integer from `low` to `high`."""
        return low + int(self.draw(name) * (high - low + 1))

    def pick(self, choices: Sequence[_T], name: str) -> _T:
        """Return one of the choices."""
        return choices[int(self.draw(name) * len(choices))]

    def weighted(self, choices: dict[_T, float], name: str) -> _T:
        """Return one of the choices by weight."""
        left = self.draw(name) * sum(choices.values())
        for choice, weight in choices.items():
            left -= weight
            if left < 0:
                return choice
        return choice


@contextmanager
def seeded(seed: str) -> Iterator[None]:
    """Seed the modules `random` and `uuid`, which the operator uses, for the block."""
    state, uuid4 = random.getstate(), uuid.uuid4
    random.seed(seed)
    own = random.Random(seed)
    uuid.uuid4 = lambda: uuid.UUID(int=own.getrandbits(128), version=4)
    try:
        yield
    finally:
        random.setstate(state)
        uuid.uuid4 = uuid4
