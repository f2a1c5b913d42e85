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

_FILES_PER_CHUNK = 25  # Files that a process gets at a time.

_CHUNKS_PER_PROCESS = 3
"""Chunks that wait for a process, so that it is never idle."""

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

    A chunk has 25 files. For 60 files, the work is called three times, and
    three results are yielded.

    :param advance: called with the number of files of every chunk that is
        done.
    :param prepare: makes the work, once in every process. It must be
        picklable, and so must the results.
    :param jobs: number of processes; None for as many as processors.
    """
    chunks = [
        paths[start : start + _FILES_PER_CHUNK]
        for start in range(0, len(paths), _FILES_PER_CHUNK)
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
        jobs, initializer=_prepare_process, initargs=(prepare,)
    ) as pool:
        try:
            while True:
                # Not all chunks at once: the results of all machines would be
                # in memory, waiting to be yielded.
                free = jobs * _CHUNKS_PER_PROCESS + 1 - len(waiting)
                for chunk in itertools.islice(chunks_left, free):
                    future = pool.submit(_do_chunk, chunk)
                    waiting.append((len(chunk), future))
                if not waiting:
                    return
                # The oldest chunk first: results come in the order of the
                # files.
                count, future = waiting.popleft()
                yield future.result()
                advance(count)
        finally:
            # The caller needs no more, or there was an error: the pool would
            # do the waiting chunks before it ends.
            for _count, future in waiting:
                future.cancel()


def with_standard_input(
    paths: Sequence[str],
    prepare: Callable[[], Work[Result]],
    advance: Advance,
) -> Iterator[Result]:
    """Do the work on files in chunks, and then on standard input.

    :param paths: standard input may be among them, as ``-``.
    """
    files = [path for path in paths if path != document.STDIN]
    yield from in_chunks(files, prepare, advance)
    if document.STDIN in paths:
        # Other processes have no standard input: this process reads it.
        work = prepare()
        yield work([document.STDIN])


def _prepare_process(prepare: Callable[[], Work[typing.Any]]) -> None:
    """Make the work of this process, when the pool has started it."""
    global _work
    # Ctrl-C in a terminal interrupts all processes. Only the first one acts on
    # it: it ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = prepare()


def _do_chunk(chunk: Sequence[str]) -> typing.Any:
    """Do the work of this process on a chunk."""
    return _work(chunk)
