# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The guard in the kernel: what the nftables table holds just now."""

import json
import socket
import subprocess
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import admission
from ironic_inspection_rules.ha import nftables
from ironic_inspection_rules.i18n import _

_TIMEOUT = 10
"""Seconds for one run of nft; 50,000 addresses take a tenth of one."""


class FirewallError(exceptions.InspectionRulesError):
    """The kernel, or what speaks to it, refused."""


class UnknownInterface(FirewallError):
    """There is no network interface of this name."""


class ForeignTable(FirewallError):
    """Somebody else's table has the name of ours."""


def run_nft(*arguments: str, commands: list[nftables.Command] | None = None
            ) -> dict[str, Any]:
    """Run the nft program with JSON on both sides.

    :param arguments: of the program.
    :param commands: carried out all or none.
    :returns: what it printed, {} for nothing.
    :raises: FirewallError with nft's own reason in one line.
    """
    try:
        done = subprocess.run(
            ['nft', '-j', *arguments], timeout=_TIMEOUT,
            input=json.dumps({'nftables': commands}), capture_output=True,
            check=True, text=True)
    except FileNotFoundError as exc:
        raise FirewallError(_('The nft program is not installed')) from exc
    except subprocess.TimeoutExpired as exc:
        raise FirewallError(
            _('nft did not answer within %d seconds') % _TIMEOUT) from exc
    except subprocess.CalledProcessError as exc:
        lines = exc.stderr.strip().splitlines()
        reason = lines[0] if lines else _('exit status %d') % exc.returncode
        raise FirewallError(_('nft: %s') % reason.rpartition('Error: ')[2]
                            ) from exc
    return json.loads(done.stdout) if done.stdout else {}


class Firewall:
    """The guard of one interface.

    Not for use by more than one thread at a time.

    :param table: what to make in the kernel.
    :param run: carries out commands, as :func:`run_nft`.
    """

    def __init__(self, table: nftables.Table, run: Any = run_nft) -> None:
        self._table = table
        self._run = run
        self._admitted = admission.Admission()

    @property
    def interface(self) -> str:
        """Name of the guarded interface."""
        return self._table.interface

    def install(self) -> None:
        """Put the guard in place, with the door closed.

        :raises: ForeignTable when the name is taken. That table is left
            alone; the door is closed all the same.
        :raises: UnknownInterface likewise.
        :raises: FirewallError when the guard cannot be put in place.
        """
        if self._is_taken():
            self._run('-f', '-', commands=self._table.create_fallback())
            raise ForeignTable(
                _('The nftables table "%s" exists and is not ours') %
                self._table.name)
        self._run('-f', '-', commands=self._table.create())
        self._admitted = admission.Admission()
        try:
            socket.if_nametoindex(self.interface)
        except OSError as exc:
            raise UnknownInterface(
                _('There is no network interface "%s"') % self.interface
            ) from exc

    def update(self, admit: admission.Admission, seconds: int) -> None:
        """Change who passes and hold the door open, both in one step.

        :param admit: who passes the open door.
        :param seconds: how long to leave it open, 0 closes it.
        :raises: FirewallError when nothing was changed.
        """
        self._run('-f', '-', commands=[
            *self._table.change(self._admitted, admit),
            *self._table.hold_open(seconds)])
        self._admitted = admit

    def close(self) -> None:
        """Close the door, come what may.

        The blacklist stays, which makes this as quick as it can be.

        :raises: FirewallError when that is not possible; the kernel then
            does it in a moment, if ever the guard was in place.
        """
        try:
            self.update(
                admission.Admission(blacklist=self._admitted.blacklist), 0)
        except FirewallError:
            self.install()

    def _is_taken(self) -> bool:
        try:
            # Terse: without the elements of the sets.
            listing = self._run('-t', 'list', 'table', nftables.FAMILY,
                                self._table.name)
        except FirewallError as exc:
            if 'No such file or directory' in str(exc):
                return False
            raise
        return self._table.is_foreign(listing)
