# SPDX-License-Identifier: Apache-2.0

"""Change the table of the PXE filter in the kernel, with nft."""

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
"""Time limit, in seconds, for a run of nft that lets machines pass."""

_MARGIN = 0.5
"""Seconds that the leader's host blocks before its leadership ends."""

_TIMEOUT = 10.0
"""Time limit for other runs; 50,000 addresses take 0.1 seconds."""

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

    :param script: a script to apply in one transaction.
    :param timeout: seconds after which timeout(1) kills the program, even
        while this process is suspended.
    :returns: standard output.
    :raises: FirewallError, with the message of nft in one line if it failed.
    """
    if script is not None:
        arguments = ('-f', '-', *arguments)
    for program in ('nft', 'timeout'):
        if not shutil.which(program):
            raise FirewallError(_('The %s program is not installed') % program)
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
            # For example "/dev/stdin:1:1-9: Error: Could not process rule: …",
            # where the first part is the position in the script.
            _where, _error, reason = lines[0].rpartition('Error: ')
        else:
            reason = _('exit status %d') % process.returncode
        raise FirewallError(_('nft: %s') % reason)
    return process.stdout


def seconds_to_pass(remaining: float) -> float:
    """Return the seconds for which the kernel may let machines pass.

    They end before leadership does, even if nft takes its full time limit of
    one second: 1.5 for 3 seconds of leadership, 0 for 1.5 or less.

    :param remaining: seconds until the leadership of this host ends.
    """
    return max(remaining - _MARGIN - _PASS_TIMEOUT, 0.0)


class Firewall:
    """The nftables table that guards one interface; not thread-safe.

    :param run: runs the nft program with arguments, and the keywords
        ``script`` and ``timeout`` (in seconds). It returns the standard
        output, or raises FirewallError.
    """

    def __init__(
        self, table: nftables.FilterTable, run: Callable[..., str] = run_nft
    ) -> None:
        self._table = table
        self._run = run
        # The current state of the kernel, from which changes start.
        self._admitted = admission.Admission()

    @property
    def interface(self) -> str:
        """Name of the guarded interface."""
        return self._table.interface

    def install(self) -> None:
        """Create the table again, so that it blocks everything.

        Our own table of that name is replaced. A foreign table of that name is
        kept, and a table of another name blocks everything.

        :raises: FirewallError if there is a foreign table, although everything
            is blocked; if there is no such interface; or if nft fails.
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
        :raises: FirewallError if nft failed, and nothing has changed, or if it
            was killed, perhaps after the change. :meth:`block` works in both
            cases.
        """
        script = self._table.change(self._admitted, admit)
        seconds = seconds_to_pass(remaining)
        if seconds > 0:
            # There are two limits: a timeout of the kernel that begins when
            # nft runs, and a time of day, in case nft runs late. If the clock
            # is set back, the first limit still counts.
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

        The denylist is not changed, because that would take longer.

        :raises: FirewallError if both fail. The table, if it exists, then
            blocks by its timeout.
        """
        admit_nobody = admission.Admission(denylist=self._admitted.denylist)
        try:
            self.update(admit_nobody, remaining=0)
        except FirewallError:
            self.install()

    def _apply_script(
        self, script: list[str], timeout: float = _TIMEOUT
    ) -> None:
        """Apply a script with nft in one transaction."""
        text = ''.join(f'{line}\n' for line in script)
        self._run(script=text, timeout=timeout)
