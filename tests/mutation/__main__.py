"""`python -m mutation`: changes one line of the source at a time, and reports the detecting test."""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from mutation.mutants import Mutant, kept, words_of
from mutation.source import SOURCE, NotApplicable, check
from mutation.trial import Verdict, run, trial
from selection import unknown


def main() -> int:
    """Try all mutants, or the named ones; return 1 if one survives without a written reason."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants with one of these words in their name or file")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel mutants (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="list the mutants and check that each applies")
    arguments = parser.parse_args()
    for word in arguments.words:
        if not kept([word]):
            parser.error(unknown(word, words_of(kept())))
    mutants = kept(arguments.words)
    inapplicable = _inapplicable(mutants)
    if arguments.list or inapplicable:
        for mutant in mutants:
            print(f"{mutant.name:58} {mutant.change.file}")
        print("\n".join(inapplicable) or f"{len(mutants)} mutants, all of them apply")
        return 1 if inapplicable else 0
    return _try(mutants, arguments.jobs)


def _inapplicable(mutants: Sequence[Mutant]) -> list[str]:
    problems = []
    for mutant in mutants:
        try:
            check(mutant.change)
        except (NotApplicable, SyntaxError) as error:
            problems.append(f"{mutant.name}: {error}")
    return problems


def _try(mutants: Sequence[Mutant], jobs: int) -> int:
    begun = time.monotonic()
    tests = tuple(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    print(f"{len(mutants)} mutants; first their tests ({len(tests)} files or tests) on unchanged source", flush=True)
    sound = run(SOURCE, tests)
    if sound.killed or sound.broken:
        print(f"these must pass: {sound.by}")
        return 2
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = list(pool.map(_told, mutants))
    unexplained = [m for m, v in zip(mutants, verdicts, strict=True) if v.broken or v.killed is bool(m.survives)]
    killed = sum(verdict.killed for verdict in verdicts)
    print(f"{killed} of {len(mutants)} killed in {time.monotonic() - begun:.0f} s; unexplained: {len(unexplained)}")
    for mutant in unexplained:
        print(f"  {mutant.name} ({mutant.change.file})")
    return 1 if unexplained else 0


def _told(mutant: Mutant) -> Verdict:
    verdict = trial(mutant)
    word = "broken" if verdict.broken else "killed" if verdict.killed else "survived"
    if verdict.killed and mutant.survives:
        word = "killed, although the list says that it survives"
    print(f"{word:9} {mutant.name:58} {verdict.by or mutant.survives}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
