# SPDX-License-Identifier: Apache-2.0

"""Work on many files of machines, in processes on all processors."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
import itertools
import os
import signal
import typing

from ironic_inspection_rules.rule_file import document

_CHUNK = 25  # Files that a process gets at a time.
_WAITING = 3  # Chunks that wait for each process, so that none is idle.

Result = typing.TypeVar('Result')
Work = Callable[[Sequence[str]], Result]
"""A function of a chunk of files, named by their paths."""
Advance = Callable[[int], typing.Any]
"""Takes the number of machines that were tried since it was last called."""

_work: Work[typing.Any]
"""The work of this process of the pool.

It is made once, by the initializer. As an argument it would be sent with every
chunk, and may be large: it has compiled rules.
"""


def in_chunks(
    paths: Sequence[str],
    prepare: Callable[[], Work[Result]],
    advance: Advance,
    jobs: int | None = None,
) -> Iterator[Result]:
    """Do the work on chunks of files, and yield their results in order.

    Only a few results wait to be yielded, however many chunks there are. A
    caller that stops early cancels the chunks that have not begun.

    :param prepare: makes the work, once in every process. It has to be
        pickled, as have the results, if there is more than one process.
    :param advance: called with the number of files of a chunk when the caller
        is done with its result and asks for the next one.
    :param jobs: most processes, as many as processors if None. There are no
        more than chunks; a single one is this process itself.
    """
    chunks = [
        paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK)
    ]
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(chunks))
    if jobs <= 1:
        work = prepare()
        for chunk in chunks:
            yield work(chunk)
            advance(len(chunk))
        return
    chunks_left = iter(chunks)
    waiting: deque[tuple[int, futures.Future[Result]]] = deque()
    with futures.ProcessPoolExecutor(
        jobs, initializer=_prepare, initargs=(prepare,)
    ) as pool:
        try:
            while True:
                # Not all chunks at once: the results that wait to be yielded
                # would be as many as the machines.
                room = jobs * _WAITING + 1 - len(waiting)
                for chunk in itertools.islice(chunks_left, room):
                    waiting.append((len(chunk), pool.submit(_do, chunk)))
                if not waiting:
                    return
                # The oldest, so that results come in the order of the files.
                count, future = waiting.popleft()
                yield future.result()
                advance(count)
        finally:
            # The caller needs no more, or there was an error. Without this the
            # pool would do the waiting chunks before it ends.
            for _count, future in waiting:
                future.cancel()


def with_standard_input(
    paths: Sequence[str],
    prepare: Callable[[], Work[Result]],
    advance: Advance,
) -> Iterator[Result]:
    """Do the work as :func:`in_chunks` does, and then on standard input.

    Standard input is among the paths if somebody has named it.
    """
    files = [path for path in paths if path != document.STDIN]
    yield from in_chunks(files, prepare, advance)
    if len(files) < len(paths):
        # Other processes have no standard input: this one reads it.
        work = prepare()
        yield work([document.STDIN])


def _prepare(prepare: Callable[[], Work[typing.Any]]) -> None:
    """Make the work of this process, when the pool has started it."""
    global _work
    # A terminal interrupts all processes; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = prepare()


def _do(chunk: Sequence[str]) -> typing.Any:
    """Do the work of this process on a chunk."""
    return _work(chunk)
