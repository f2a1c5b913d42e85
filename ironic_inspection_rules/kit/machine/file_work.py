# SPDX-License-Identifier: Apache-2.0

"""Process many files of machines, on all processors.

The work is a function that processes a chunk of files and returns a result. It
must be prepared before the first chunk, e.g. by compiling rules. Every process
prepares the work once for itself.
"""

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
"""Number of chunks that wait for a process, so that it is never idle."""

Result = typing.TypeVar('Result')
Work = Callable[[Sequence[str]], Result]
"""A function that processes a chunk of files, which are given by their paths.
"""
Advance = Callable[[int], typing.Any]
"""A function that receives the number of machines tried since its last call.
"""

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
    """Process files in chunks, and yield the results in order.

    A chunk has 25 files. For example, 60 files give three calls of the work,
    and three results.

    :param prepare: returns the function that processes a chunk. It is called
        once in every process. It must be picklable, and so must the results.
    :param advance: called with the number of files of every chunk that is
        done.
    :param jobs: the number of processes; None for one per processor.
    """
    chunks = [
        paths[start : start + _FILES_PER_CHUNK]
        for start in range(0, len(paths), _FILES_PER_CHUNK)
    ]
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(chunks))
    if jobs <= 1:
        # The chunks are processed here, without other processes.
        work = prepare()
        for chunk in chunks:
            yield work(chunk)
            advance(len(chunk))
        return
    # The chunks that are not submitted to a process yet.
    chunks_left = iter(chunks)
    # The submitted chunks whose results are not yielded yet, oldest first: the
    # number of files, and the future result.
    waiting: deque[tuple[int, futures.Future[Result]]] = deque()
    with futures.ProcessPoolExecutor(
        jobs, initializer=_prepare_process, initargs=(prepare,)
    ) as pool:
        try:
            while True:
                # Only some chunks are submitted at a time. Otherwise the
                # results of all machines would be in memory, waiting to be
                # yielded.
                free = jobs * _CHUNKS_PER_PROCESS + 1 - len(waiting)
                for chunk in itertools.islice(chunks_left, free):
                    future = pool.submit(_do_chunk, chunk)
                    waiting.append((len(chunk), future))
                if not waiting:
                    # All results were yielded.
                    return
                # The oldest chunk comes first, so that the results are in the
                # order of the files.
                count, future = waiting.popleft()
                yield future.result()
                advance(count)
        finally:
            # The caller has stopped, or there was an error. Without this, the
            # pool would process the waiting chunks before it ends.
            for _count, future in waiting:
                future.cancel()


def with_standard_input(
    paths: Sequence[str],
    prepare: Callable[[], Work[Result]],
    advance: Advance,
) -> Iterator[Result]:
    """Process files in chunks, and then standard input.

    See :func:`in_chunks` for ``prepare`` and ``advance``.

    :param paths: the files; ``-`` means standard input.
    """
    files = [path for path in paths if path != document.STDIN]
    yield from in_chunks(files, prepare, advance)
    if document.STDIN in paths:
        # Worker processes have no standard input, so this process reads it.
        work = prepare()
        yield work([document.STDIN])


def _prepare_process(prepare: Callable[[], Work[typing.Any]]) -> None:
    """Prepare the work of a process that the pool has started."""
    global _work
    # Ctrl-C in a terminal interrupts all processes. Only the first process
    # handles it, and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = prepare()


def _do_chunk(chunk: Sequence[str]) -> typing.Any:
    """Process a chunk with the work of this process."""
    return _work(chunk)
