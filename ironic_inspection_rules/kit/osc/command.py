# SPDX-License-Identifier: Apache-2.0

"""What all openstack commands share: errors, escaped text, missing calls."""

import functools
import sys
import traceback
from typing import Any

from cliff import columns
from openstack import connection
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

# python-ironicclient has the same base classes, but not before release 6.1.
from osc_lib.command import command
import requests

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.command import arguments

_PACKAGE = 'ironic_inspection_rules'


class _Application:
    """The application of a command, with guarded output streams."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.stdout = escapes.Guard(app.stdout)
        self.stderr = escapes.Guard(app.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


class Guarded:
    """A command that escapes control characters in output and errors."""

    app: Any
    example = ''
    """The words of a call, which its help shows."""

    def get_parser(self, prog_name: str) -> Any:
        """Return a parser that takes options between positional words.

        Wrong words end the command with status 1. The status of argparse, 2,
        is a result of some commands.
        """
        parser = super().get_parser(prog_name)  # type: ignore[misc]
        self.add_arguments(parser)
        arguments.show_example(parser, self.example)
        # The usual parser stops at the first run of positional words.
        parser.parse_args = parser.parse_intermixed_args
        parser.error = functools.partial(_exit_with_usage, parser)
        return parser

    def add_arguments(self, parser: Any) -> None:
        """Add the arguments of the command."""

    @property
    def baremetal(self) -> Any:
        """The bare metal proxy of openstacksdk.

        By default the ``openstack`` command asks for the newest microversion
        that python-ironicclient knows. That client falls back to an older
        one, but openstacksdk would refuse an older Ironic.
        """
        manager = self.app.client_manager
        if not hasattr(manager, 'sdk_connection'):
            # The command "baremetal" of python-ironicclient offers the same
            # commands, but has only the configuration of a connection.
            manager.sdk_connection = connection.Connection(
                config=manager.cloud_region
            )
        cloud = manager.sdk_connection
        # A major version alone: every call asks for the microversion that it
        # needs.
        cloud.config.config['baremetal_api_version'] = '1'
        return cloud.baremetal

    def run(self, parsed_args: Any) -> Any:
        """Run the command, and escape control characters of output and errors.

        Names and messages come from machines and other users, and could send
        control characters to the terminal.

        :raises: CommandError with a message for the user, for any error of
            the command; the error itself if its own text is that message.
        """
        app = self.app
        self.app = _Application(app)
        try:
            return super().run(parsed_args)  # type: ignore[misc]
        # Any error may have text of a stranger.
        except Exception as exc:
            # Keep the order of output and error if both go to one file.
            self.app.stdout.flush()
            # An Ironic without the plugin, or another service, refuses a call
            # for reasons that would mislead the user.
            why_missing = self._why_call_is_missing(exc)
            message = why_missing or _message_for_user(exc)
            if message == str(exc):
                raise
            raise osc_exceptions.CommandError(message) from exc
        finally:
            self.app = app

    def _why_call_is_missing(self, exc: Exception) -> str | None:
        """Return why the API does not know a call, or None for other errors.

        :returns: a sentence for Ironic without this plugin, or for an endpoint
            that is not Ironic's; None also if the API cannot be asked.
        """
        if not isinstance(exc, sdk_exceptions.HttpException):
            return None
        if exc.response is None:
            # Nobody has answered.
            return None
        try:
            if inspection_rule.is_served(self.baremetal):
                return None
            if inspection_rule.is_ironic(self.baremetal):
                return _(
                    "Ironic's API runs without this plugin: name it in "
                    'ironic.conf ([api]middleware = inspection-rules) '
                    'and restart the API'
                )
        except http.REQUEST_ERRORS:
            # Report the first error instead.
            return None
        return (
            _(
                'No API of Ironic is at %s: check the endpoint of the bare '
                'metal service'
            )
            % exc.response.url
        )


def _message_for_user(error: Exception) -> str:
    """Return the message of an error, without control characters.

    Commands do not check the form of an answer before they read it. So an
    answer without a member raises KeyError, and a member that is null or of
    another type raises TypeError or AttributeError: the message says that the
    answer may be the reason.
    """
    reason = escapes.escaped(str(error))
    if isinstance(error, requests.JSONDecodeError):
        # From a call of the SDK, which does not name the URL.
        return (
            _(
                'An answer is no JSON (%s): check the endpoint of the bare '
                'metal service'
            )
            % reason
        )
    if isinstance(error, KeyError) and _is_raised_here(error):
        return (
            _(
                'There is no member %s: an answer may be of another service '
                'or release; --debug shows where it is read'
            )
            % reason
        )
    if isinstance(error, TypeError | AttributeError):
        return (
            _(
                'A value is not of the expected type (%s): an answer may be '
                'of another service or release; --debug shows where it is '
                'read'
            )
            % reason
        )
    # Errors of the SDK have Ironic's message in "details"; str() would put
    # the class, the status and the URL before it.
    details = getattr(error, 'details', None)
    return escapes.escaped(details or str(error))


def _is_raised_here(error: Exception) -> bool:
    """Return whether this package, and no library or plugin, raised an error.

    Only this package reads members of answers with ``answer['name']``. A
    ``KeyError`` of other code is a bug there.
    """
    module = ''
    # The last frame is the one that raised it.
    for frame, _line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get('__name__', '')
    return module.startswith(f'{_PACKAGE}.')


class BaremetalCommand(Guarded, command.Command):
    """A command that prints its own output."""


class Lister(Guarded, command.Lister):
    """A command that prints a table of rows."""


class ShowOne(Guarded, command.ShowOne):
    """A command that prints the fields of one object."""


class Error(columns.FormattableColumn):
    """A cell with an error; people read its reason, shortened."""

    def human_readable(self) -> str:
        """Return the reason."""
        return shorten(without_prefix(self._value or ''))


def _exit_with_usage(parser: Any, message: str) -> None:
    """Print the usage and a message, and exit with status 1.

    The parser would exit with 2, which is a result of some commands.
    """
    parser.print_usage(sys.stderr)
    parser.exit(
        1,
        _('%(prog)s: error: %(message)s\n')
        % {'prog': parser.prog, 'message': message},
    )


def without_prefix(error: str) -> str:
    """Return an error without what Ironic writes before its reason.

    For example, ``Failed to inspect hardware. Reason: no disk`` becomes ``no
    disk``. An error without a prefix stays as it is.
    """
    _prefix, _separator, reason = error.rpartition('Reason: ')
    return reason


def shorten(text: str, longest: int = 60) -> str:
    """Shorten a text that is too long for a line or a table cell.

    A shortened text ends in ``…``.
    """
    if len(text) > longest:
        return f'{text[:longest]}…'
    return text


def add_node(parser: Any) -> None:
    """Add the argument for the node of a command."""
    parser.add_argument(
        'node', metavar='<node>', help=_('Name or UUID of the node')
    )
