# SPDX-License-Identifier: Apache-2.0

"""Progress bars, shown on a terminal only."""

from collections.abc import Callable, Iterator
import contextlib
import functools
import sys

from rich import console
from rich import progress

from ironic_inspection_rules.i18n import _


def bar(*more: progress.ProgressColumn) -> progress.Progress:
    """Return a bar on standard error that disappears at the end.

    :param more: columns beside the usual ones.
    """
    return progress.Progress(
        *progress.Progress.get_default_columns(), *more,
        console=console.Console(file=getattr(sys.stderr, 'unguarded',
                                             sys.stderr)),
        transient=True, disable=not sys.stderr.isatty())


@contextlib.contextmanager
def steps(total: int, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar while machines are tried.

    :param hidden: show nothing.
    :returns: a function to call with the number of machines done since.
    """
    shown = bar()
    shown.disable |= hidden
    with shown:
        task = shown.add_task(_('Trying'), total=total)
        yield functools.partial(shown.advance, task)
