# SPDX-License-Identifier: Apache-2.0

"""Base classes of openstack commands: errors, escaping and missing APIs."""

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
        """Return a parser that accepts options between positional arguments.

        Invalid arguments end the command with status 1, because 2, the status
        of argparse, is a result of some commands.
        """
        parser = super().get_parser(prog_name)  # type: ignore[misc]
        self.add_arguments(parser)
        arguments.show_example(parser, self.example)
        # The default parser only accepts one run of positional arguments.
        parser.parse_args = parser.parse_intermixed_args
        parser.error = functools.partial(_exit_with_usage, parser)
        return parser

    def add_arguments(self, parser: Any) -> None:
        """Add the arguments of the command."""

    @property
    def baremetal(self) -> Any:
        """The bare metal proxy of openstacksdk.

        By default, the ``openstack`` command requests the newest microversion
        that python-ironicclient knows. That client falls back to an older
        microversion, but openstacksdk would refuse an older Ironic.
        """
        manager = self.app.client_manager
        if not hasattr(manager, 'sdk_connection'):
            # The command "baremetal" of python-ironicclient offers the same
            # commands, but only has the configuration of a connection.
            manager.sdk_connection = connection.Connection(
                config=manager.cloud_region
            )
        cloud = manager.sdk_connection
        # Set only the major version, because every call requests the
        # microversion that it needs.
        cloud.config.config['baremetal_api_version'] = '1'
        return cloud.baremetal

    def run(self, parsed_args: Any) -> Any:
        """Run the command, and escape control characters in output and errors.

        Names and messages come from machines and other users, and may contain
        control characters for the terminal.

        :raises: CommandError with a message for the user, for any error of the
            command; the error itself if its text is already that message.
        """
        app = self.app
        self.app = _Application(app)
        try:
            return super().run(parsed_args)  # type: ignore[misc]
        # Catch everything, because any error may contain text from others.
        except Exception as exc:
            # Keep the order of output and error if both go to one file.
            self.app.stdout.flush()
            # If the API has no plugin, or belongs to another service, the
            # reason in its answer would mislead the user.
            why_missing = self._why_call_is_missing(exc)
            message = why_missing or _message_for_user(exc)
            if message == str(exc):
                raise
            raise osc_exceptions.CommandError(message) from exc
        finally:
            self.app = app

    def _why_call_is_missing(self, exc: Exception) -> str | None:
        """Return why the API does not know a call; None for other errors.

        :returns: a sentence if Ironic lacks this plugin, or if the endpoint
            does not belong to Ironic; None also if the API does not answer.
        """
        if not isinstance(exc, sdk_exceptions.HttpException):
            return None
        if exc.response is None:
            # There was no answer.
            return None
        try:
            if inspection_rule.has_plugin(self.baremetal):
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

    KeyError, TypeError and AttributeError often mean that an answer of the
    service has an unexpected form, because commands read answers without
    checking them first. A missing member raises KeyError, and a member that is
    null or has another type raises TypeError or AttributeError. For these
    errors, the message says that the answer may be the reason.
    """
    reason = escapes.escaped(str(error))
    if isinstance(error, requests.JSONDecodeError):
        # The error comes from a call of the SDK, which does not name the URL.
        return (
            _(
                'An answer is no JSON (%s): check the endpoint of the bare '
                'metal service'
            )
            % reason
        )
    # A KeyError of a library is not about an answer, because only this package
    # looks up the members. But a value of the wrong type may be passed on to a
    # library, so a TypeError or AttributeError counts wherever it is raised.
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
    # Errors of the SDK have Ironic's message in "details". Prefer it to str(),
    # which would start with the class, the status and the URL.
    details = getattr(error, 'details', None)
    return escapes.escaped(details or str(error))


def _is_raised_here(error: Exception) -> bool:
    """Return whether this package raised an error, not a library or plugin.

    Only this package reads members of answers with ``answer['name']``. A
    ``KeyError`` of other code is a bug of that code.
    """
    module = ''
    # The last frame has raised the error.
    for frame, _line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get('__name__', '')
    return module.startswith(f'{_PACKAGE}.')


class BaremetalCommand(Guarded, command.Command):
    """A command that prints its own output."""


class Lister(Guarded, command.Lister):
    """A command that prints a table of rows."""


class ShowOne(Guarded, command.ShowOne):
    """A command that prints the fields of one object."""


class ErrorCell(columns.FormattableColumn):
    """A cell with an error; people see only its shortened reason."""

    def human_readable(self) -> str:
        """Return the shortened reason."""
        return shorten(extract_reason(self._value or ''))


def _exit_with_usage(parser: Any, message: str) -> None:
    """Print the usage and a message, and exit with status 1.

    The parser itself would exit with 2, which is a result of some commands.
    """
    parser.print_usage(sys.stderr)
    parser.exit(
        1,
        _('%(prog)s: error: %(message)s\n')
        % {'prog': parser.prog, 'message': message},
    )


def extract_reason(error: str) -> str:
    """Return the reason in an error, which Ironic writes after other text.

    For example, ``Failed to inspect hardware. Reason: no disk`` becomes ``no
    disk``. An error without ``Reason:`` is unchanged.
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
