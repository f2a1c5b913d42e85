# SPDX-License-Identifier: Apache-2.0

"""The guard in the kernel: what the nftables table holds just now."""

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
"""Seconds for a run of nft that lets machines pass."""

_MARGIN = 0.5
"""Seconds before the end of its leadership that the leader's host blocks."""

_TIMEOUT = 10.0
"""Seconds for any other; 50,000 addresses take a tenth of one."""

_KILLED = (-9, 137)
"""How timeout(1) ends where the program was killed, by its own reading."""


class FirewallError(exceptions.InspectionRulesError):
    """The kernel, or what speaks to it, refused."""


def run_nft(*arguments: str, script: str | None = None,
            timeout: float = _TIMEOUT) -> str:
    """Run the nft program.

    :param script: is carried out all or none.
    :param timeout: seconds after which the program is killed, even while
        this process is suspended.
    :raises: FirewallError with nft's own reason in one line.
    """
    if script is not None:
        arguments = ('-f', '-', *arguments)
    for program in ('nft', 'timeout'):
        if not shutil.which(program):
            raise FirewallError(
                _('The %s program is not installed') % program)
    done = subprocess.run(
        ['timeout', '-s', 'KILL', f'{timeout:g}', 'nft', *arguments],
        input=script or '', capture_output=True, check=False, text=True)
    if done.returncode in _KILLED:
        raise FirewallError(
            _('nft did not answer within %g seconds') % timeout)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[0] if lines else _('exit status %d') % done.returncode
        raise FirewallError(_('nft: %s') % reason.rpartition('Error: ')[2])
    return done.stdout


def seconds_to_pass(remaining: float) -> float:
    """Seconds for which the kernel may let machines pass.

    However long nft takes, they end while this host still leads.

    :param remaining: seconds that this host is sure to lead.
    """
    return max(remaining - _MARGIN - _PASS_TIMEOUT, 0.0)


class Firewall:
    """The guard of one interface.

    Not for use by more than one thread at a time.
    """

    def __init__(self, table: nftables.Table,
                 run: Callable[..., str] = run_nft) -> None:
        self._table = table
        self._run = run
        self._admitted = admission.Admission()

    @property
    def interface(self) -> str:
        """Name of the guarded interface."""
        return self._table.interface

    def install(self) -> None:
        """Put the guard in place; it blocks everything.

        :raises: FirewallError when the guard cannot be put in place, or there
            is no interface to be guarded, or the name of the table is taken.
            That one is left alone; everything is blocked all the same.
        """
        try:
            socket.if_nametoindex(self.interface)
        except OSError as exc:
            raise FirewallError(
                _('There is no network interface "%s"') % self.interface
            ) from exc
        try:
            # Terse: without the elements of the sets.
            listing = self._run('-t', 'list', 'table', nftables.FAMILY,
                                self._table.name)
        except FirewallError as exc:
            if 'No such file or directory' not in str(exc):
                raise
            listing = None
        if listing is not None and self._table.is_foreign(listing):
            self._execute(self._table.create_fallback())
            raise FirewallError(
                _('The nftables table "%s" exists and is not ours') %
                self._table.name)
        self._execute(self._table.create())
        self._admitted = admission.Admission()

    def update(self, admit: admission.Admission, remaining: float) -> None:
        """Change who passes, and for how long, both in one step.

        :param remaining: seconds that this host is sure to lead; see
            :func:`seconds_to_pass`.
        :raises: FirewallError when nothing was changed.
        """
        change = self._table.change(self._admitted, admit)
        seconds = seconds_to_pass(remaining)
        if seconds:
            now = time.time()
            self._execute([*change, *self._table.pass_for(
                seconds, now, now + remaining)], _PASS_TIMEOUT)
        else:
            self._execute([*change, *self._table.block()])
        self._admitted = admit

    def block(self) -> None:
        """Block everything, and put the guard back if it is gone.

        The denylist stays, which makes this as quick as it can be.

        :raises: FirewallError when that is not possible; the kernel then
            does it in a moment, if ever the guard was in place.
        """
        try:
            self.update(
                admission.Admission(denylist=self._admitted.denylist), 0)
        except FirewallError:
            self.install()

    def _execute(self, script: list[str], timeout: float = _TIMEOUT) -> None:
        self._run(script='\n'.join([*script, '']), timeout=timeout)
