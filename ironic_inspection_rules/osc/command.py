# SPDX-License-Identifier: Apache-2.0

"""Commands of ``openstack baremetal``, which show what strangers wrote."""

import os.path
import sys
from typing import Any

from cliff import columns
from ironicclient.osc import command
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.terminal import escapes


class _Application:
    """The application of a command, with guarded streams."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.stdout = escapes.Guard(app.stdout)
        self.stderr = escapes.Guard(app.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


class Guarded:
    """A command whose output and errors do not command the terminal."""

    app: Any

    def get_parser(self, prog_name: str) -> Any:
        """Return a parser that takes options between files and filters."""
        parser = super().get_parser(prog_name)  # type: ignore[misc]
        self.add_arguments(parser)

        def refuse(message: str) -> None:
            # As for any other error: the 2 of argparse is an answer here.
            parser.print_usage(sys.stderr)
            parser.exit(1, _('%(prog)s: error: %(message)s\n') % {
                'prog': parser.prog, 'message': message})

        # Else argparse takes the first of these for all there are.
        parser.parse_args = parser.parse_intermixed_args
        parser.error = refuse
        return parser

    def add_arguments(self, parser: Any) -> None:
        """Add what the command takes."""

    @property
    def baremetal(self) -> Any:
        """The bare metal proxy of openstacksdk.

        The ``openstack`` command asks for the newest microversion that
        python-ironicclient knows, by default. That makes do with less, but
        openstacksdk would refuse to talk to an older Ironic.
        """
        cloud = self.app.client_manager.sdk_connection
        cloud.config.config['baremetal_api_version'] = '1'
        return cloud.baremetal

    def run(self, parsed_args: Any) -> Any:
        """Run it, escape what is no text, and raise what Ironic said."""
        app, self.app = self.app, _Application(self.app)
        try:
            return super().run(parsed_args)  # type: ignore[misc]
        except Exception as exc:
            # In a file, too, what was printed stands before the error.
            self.app.stdout.flush()
            # What Ironic says is a sentence; the error as text begins with
            # the name of its class, a status and a URL.
            said = getattr(exc, 'details', None)
            text = escapes.shown(said or str(exc))
            if self._asks_in_vain(exc):
                raise osc_exceptions.CommandError(
                    _("Ironic's API runs without this plugin: name it in "
                      'ironic.conf ([api]middleware = inspection-rules) and '
                      'restart the API')) from exc
            if text == str(exc):
                raise
            raise osc_exceptions.CommandError(text) from exc
        finally:
            self.app = app

    def _asks_in_vain(self, exc: Exception) -> bool:
        """Check whether Ironic refused a call that it does not have."""
        if not isinstance(exc, sdk_exceptions.HttpException):
            return False
        try:
            return not inspection_rule.is_served(self.baremetal)
        except Exception:
            # What was said first counts.
            return False


class Command(Guarded, command.Command):
    """A command that prints what it likes."""


class Lister(Guarded, command.Lister):
    """A command that lists things."""


class ShowOne(Guarded, command.ShowOne):
    """A command that shows one thing."""


class Error(columns.FormattableColumn):
    """Why something failed: for people the reason, cut where it is long."""

    def human_readable(self) -> str:
        """Return the reason."""
        return short_reason(self._value or '')


def reason(error: str) -> str:
    """Return an error without Ironic's words before it, which repeat it."""
    return error.rpartition('Reason: ')[2]


def short_reason(error: str) -> str:
    """Return the reason of an error, cut where it is long."""
    return cut(reason(error))


def cut(text: str, longest: int = 60) -> str:
    """Cut what is too long for a line or for a cell of a table."""
    return text if len(text) <= longest else f'{text[:longest]}…'


def check_report(path: str | None) -> None:
    """Check that a page can be written, before there is anything to write.

    :raises: CommandError where there is no directory for it.
    """
    if path and not os.path.isdir(os.path.dirname(path) or '.'):
        raise osc_exceptions.CommandError(
            _('There is no directory for %s') % path)


def add_node(parser: Any) -> None:
    """Add the node that a command is for."""
    parser.add_argument('node', metavar='<node>',
                        help=_('Name or UUID of the node'))
