# SPDX-License-Identifier: Apache-2.0

"""Changes the table of the PXE filter in the kernel, with the nft program.

The *table* is a table of nftables. It blocks machines on one network interface
of a host, except the machines that it lets pass, see :mod:`.nftables`. While
this host leads the filters of a cloud, it tells the kernel again and again to
let machines pass for a second or two. If it fails to do so, the kernel blocks
all machines when this time is over.
"""

from collections.abc import Callable
import shutil
import socket
import subprocess
import time

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import nftables

_PASS_TIMEOUT = 1.0
"""Time limit for a run of nft that lets machines pass, in seconds."""

_MARGIN = 0.5
"""Seconds that the leader's host blocks before its leadership ends."""

_TIMEOUT = 10.0
"""Time limit for other runs of nft, in seconds.

A run with 50,000 addresses takes 0.1 seconds.
"""

_STATUS_AFTER_KILL = (-9, 137)
"""Exit status if timeout(1) has killed nft.

Either timeout(1) is killed by its own signal, or it exits with 128 + 9.
"""

_NO_SUCH_TABLE = 'No such file or directory'
"""Part of the message of nft about a table that does not exist."""


class FirewallError(exceptions.InspectionRulesError):
    """The table cannot be created or changed.

    nft failed, is not installed or did not answer; the interface does not
    exist; or the table of that name is not ours.
    """


def run_nft(
    *arguments: str, script: str | None = None, timeout: float = _TIMEOUT
) -> str:
    """Run the nft program.

    ``run_nft('list', 'tables')`` returns the tables of the kernel.

    :param arguments: arguments of nft.
    :param script: a script to apply in one transaction.
    :param timeout: seconds after which nft is killed.
    :returns: standard output.
    :raises: FirewallError if nft or timeout(1) is not installed, if nft did
        not end in time, or with the first error of nft if it failed.
    """
    if script is not None:
        # nft then reads the script from standard input.
        arguments = ('-f', '-', *arguments)
    for program in ('nft', 'timeout'):
        if not shutil.which(program):
            raise FirewallError(_('The %s program is not installed') % program)
    # timeout(1) kills nft even while this process is suspended.
    process = subprocess.run(
        ['timeout', '-s', 'KILL', f'{timeout:g}', 'nft', *arguments],
        input=script or '',
        capture_output=True,
        check=False,
        text=True,
    )
    if process.returncode in _STATUS_AFTER_KILL:
        raise FirewallError(
            _('nft did not answer within %g seconds') % timeout
        )
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines()
        if lines:
            # From "/dev/stdin:1:1-9: Error: Could not process rule: …", take
            # the text after "Error: ".
            _position, _error, reason = lines[0].rpartition('Error: ')
        else:
            reason = _('exit status %d') % process.returncode
        raise FirewallError(_('nft: %s') % reason)
    return process.stdout


def seconds_to_pass(remaining: float) -> float:
    """Return for how many seconds the kernel may let machines pass.

    The kernel must block before the leadership of this host ends, even if nft
    takes its full time limit of one second. If the leadership ends in 3
    seconds, machines may pass for 1.5 seconds.

    :param remaining: seconds until the leadership of this host ends.
    """
    return max(remaining - _MARGIN - _PASS_TIMEOUT, 0.0)


class Firewall:
    """The nftables table that guards one interface; not thread-safe.

    :param table: builds the scripts for the table.
    :param run: a function like :func:`run_nft`.
    """

    def __init__(
        self, table: nftables.FilterTable, run: Callable[..., str] = run_nft
    ) -> None:
        self._table = table
        self._run = run
        # The machines in the table of the kernel. Scripts contain only the
        # difference to them.
        self._admitted = admission.Admission()

    @property
    def interface(self) -> str:
        """Name of the guarded interface."""
        return self._table.interface

    def install(self) -> None:
        """Create the table, or replace it; it blocks everything.

        The filter needs this when it starts, and again if somebody has removed
        the table, see :meth:`block`.

        If a table of this name exists that is not ours, it is kept. Then a
        table of another name blocks everything, and an error is raised.

        :raises: FirewallError if there is such a table, if there is no such
            interface, or if nft fails.
        """
        try:
            socket.if_nametoindex(self.interface)
        except OSError as exc:
            raise FirewallError(
                _('There is no network interface "%s"') % self.interface
            ) from exc
        if self._is_name_taken():
            self._apply_script(self._table.create_fallback())
            raise FirewallError(
                _('The nftables table "%s" exists and is not ours')
                % self._table.name
            )
        self._apply_script(self._table.create())
        self._admitted = admission.Admission()

    def _is_name_taken(self) -> bool:
        """Return whether the kernel has a table of our name that is not ours.

        Such a table must not be replaced.

        :raises: FirewallError if nft fails.
        """
        try:
            # -t: terse, without the elements of the sets.
            listing = self._run(
                '-t', 'list', 'table', nftables.FAMILY, self._table.name
            )
        except FirewallError as exc:
            if _NO_SUCH_TABLE in str(exc):
                return False
            raise
        return self._table.is_foreign(listing)

    def update(self, admit: admission.Admission, remaining: float) -> None:
        """Change which machines pass, and for how long, in one transaction.

        :param admit: the machines that should pass.
        :param remaining: seconds until the leadership of this host ends. If
            too few are left, all machines are blocked.
        :raises: FirewallError if nft failed, which changes nothing, or if it
            was killed, perhaps after the change. :meth:`block` works in both
            cases.
        """
        script = self._table.change(self._admitted, admit)
        seconds = seconds_to_pass(remaining)
        if seconds > 0:
            # The kernel has two limits: a timeout that begins when nft runs,
            # and a time of day. The time of day counts if nft runs late, and
            # the timeout counts if the clock is set back.
            now = time.time()
            script += self._table.pass_for(seconds, now, now + remaining)
            self._apply_script(script, _PASS_TIMEOUT)
        else:
            script += self._table.block()
            self._apply_script(script)
        # Set this only after nft has succeeded: after an error, the next
        # change starts from the machines that were admitted before.
        self._admitted = admit

    def block(self) -> None:
        """Block everything, and create the table again if it is gone.

        :raises: FirewallError if both fail. If the table exists, it then
            blocks when its timeout is over.
        """
        # Keep the denylist, because changing it would take longer.
        admit_nobody = admission.Admission(denylist=self._admitted.denylist)
        try:
            self.update(admit_nobody, remaining=0)
        except FirewallError:
            # For example, somebody has deleted the table.
            self.install()

    def _apply_script(
        self, script: list[str], timeout: float = _TIMEOUT
    ) -> None:
        """Apply a script with nft in one transaction."""
        text = ''.join(f'{line}\n' for line in script)
        self._run(script=text, timeout=timeout)
