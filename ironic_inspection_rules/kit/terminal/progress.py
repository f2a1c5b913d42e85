# SPDX-License-Identifier: Apache-2.0

"""Progress bars, which are shown only on a terminal."""

from collections.abc import Callable, Iterator
import contextlib
import functools
import sys

from rich import console
from rich import progress

from ironic_inspection_rules.i18n import _


def build_bar(*more: progress.ProgressColumn) -> progress.Progress:
    """Build a progress bar on standard error, which disappears at the end.

    :param more: columns in addition to the default columns of rich.
    """
    # Draw on the stream behind the guard of standard error, because the guard
    # removes the control characters that a bar needs.
    stream = getattr(sys.stderr, 'wrapped', sys.stderr)
    return progress.Progress(
        *progress.Progress.get_default_columns(),
        *more,
        console=console.Console(file=stream),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


@contextlib.contextmanager
def show_machine_bar(
    total: int, hidden: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar that counts machines.

    :param total: the number of machines.
    :param hidden: whether to show nothing.
    :returns: a context manager that provides a function. Call this function
        with the number of machines that were done since its last call.
    """
    progress_bar = build_bar()
    if hidden:
        progress_bar.disable = True
    with progress_bar:
        task = progress_bar.add_task(_('Machines'), total=total)
        yield functools.partial(progress_bar.advance, task)
