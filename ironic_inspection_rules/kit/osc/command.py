# SPDX-License-Identifier: Apache-2.0

"""Base classes of the commands of this package for ``openstack``.

They do three things for all commands. They escape control characters in
output and errors, because names and messages may come from machines. They
replace errors of libraries with messages for users. And they say so if the API
that answers is not Ironic's, or lacks this plugin.
"""

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

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.command import arguments

_PACKAGE = 'ironic_inspection_rules'


class _Application:
    """The application of a command, with escaped output streams.

    Text that is written to :attr:`stdout` and :attr:`stderr` gets its control
    characters escaped. All other attributes are those of the application.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self.stdout = escapes.EscapingStream(app.stdout)
        self.stderr = escapes.EscapingStream(app.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


class CommandBase:
    """The base of all commands: escapes the output, and replaces errors.

    It is combined with a class of osc-lib, e.g. :class:`Lister`, which parses
    arguments and calls ``take_action``.
    """

    app: Any
    example = ''
    """The words of a call, which its help shows."""

    def get_parser(self, prog_name: str) -> Any:
        """Return the parser for the arguments of the command.

        It differs from a parser of argparse in two ways: options may stand
        between positional arguments, and invalid arguments end the command
        with status 1 instead of 2. Some commands return 2 as a result, e.g. if
        a plan has changes.
        """
        parser = super().get_parser(prog_name)  # type: ignore[misc]
        self.add_arguments(parser)
        arguments.show_example(parser, self.example)
        # By default, argparse would refuse "plan a.yaml --prune b.yaml".
        parser.parse_args = parser.parse_intermixed_args
        # argparse calls this function for invalid arguments.
        parser.error = functools.partial(_exit_with_usage, parser)
        return parser

    def add_arguments(self, parser: Any) -> None:
        """Add the arguments of the command."""

    @property
    def baremetal(self) -> Any:
        """The bare metal proxy of openstacksdk, for requests to Ironic.

        Its default API version is set to 1, without a microversion. Otherwise
        openstacksdk would use the version of the ``openstack`` command, which
        is the newest that python-ironicclient knows, and would refuse an older
        Ironic.
        """
        manager = self.app.client_manager
        if not hasattr(manager, 'sdk_connection'):
            # The application is "baremetal" of python-ironicclient. It runs
            # the same commands, but does not open a connection itself.
            manager.sdk_connection = connection.Connection(
                config=manager.cloud_region
            )
        cloud = manager.sdk_connection
        # Every call of this package requests the microversion that it needs.
        cloud.config.config['baremetal_api_version'] = '1'
        return cloud.baremetal

    def run(self, parsed_args: Any) -> Any:
        """Run the command with escaped output, and replace its errors.

        The output is escaped, because names and messages may come from
        machines, and may contain control characters for the terminal.

        :returns: the exit status of the command.
        :raises: CommandError with a message for the user, instead of any error
            of the command. If the error already has this message as its text,
            the error itself is raised.
        """
        app = self.app
        # While the command runs, it sees an application whose streams escape.
        self.app = _Application(app)
        try:
            return super().run(parsed_args)  # type: ignore[misc]
        # Catch everything, because the text of any error may come from a
        # machine, and must be escaped.
        except Exception as exc:
            # Keep the order of output and error if both go to one file.
            self.app.stdout.flush()
            # If the API has no plugin, or belongs to another service, its own
            # error, e.g. "Not found", would mislead the user.
            why_missing = self._why_call_is_missing(exc)
            message = why_missing or _message_for_user(exc)
            if message == str(exc):
                raise
            raise osc_exceptions.CommandError(message) from exc
        finally:
            self.app = app

    def _why_call_is_missing(self, exc: Exception) -> str | None:
        """Find out whether a call failed because the API does not know it.

        The API does not know the calls of this package if Ironic runs without
        the plugin, or if the endpoint belongs to another service.

        :param exc: the error of the command.
        :returns: a sentence for the user. None if Ironic has the plugin, if
            the API does not answer, and for an error that is not about an
            answer; the message of the error itself is shown then.
        """
        if not isinstance(exc, sdk_exceptions.HttpException):
            return None
        if exc.response is None:
            # The API did not answer.
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
            # The API does not answer these requests. The error of the command
            # is more important to the user.
            return None
        # Another service has answered.
        return (
            _(
                'No API of Ironic is at %s: check the endpoint of the bare '
                'metal service'
            )
            % exc.response.url
        )


def _message_for_user(error: Exception) -> str:
    """Return the message of an error for users, without control characters.

    Commands read answers of the API without checking them first. If an answer
    has an unexpected form, they fail with one of three errors, for which the
    message says that the answer may be the reason:

    * ``KeyError``: a member of the answer is missing.
    * ``TypeError`` or ``AttributeError``: a member is null, or has another
      type.

    A defect of a command may raise the same errors, so the message names this
    reason, too.

    For all other errors, the message is the text of the error.
    """
    reason = escapes.escape_text(str(error))
    # Only this package looks up members of answers, so a KeyError of a library
    # is about something else.
    if isinstance(error, KeyError) and _is_raised_here(error):
        return (
            _(
                'There is no member %s: an answer may be of another service '
                'or release, or this command has a defect; --debug shows '
                'where'
            )
            % reason
        )
    # A library raises these errors too, if a value of an answer with the wrong
    # type is passed to it.
    if isinstance(error, TypeError | AttributeError):
        return (
            _(
                'A value is not of the expected type (%s): an answer may be '
                'of another service or release, or this command has a defect; '
                '--debug shows where'
            )
            % reason
        )
    # Errors of the SDK have Ironic's message in "details". Their str() would
    # start with the class, the status and the URL.
    details = getattr(error, 'details', None)
    return escapes.escape_text(details or str(error))


def _is_raised_here(error: Exception) -> bool:
    """Return whether an error was raised by code of this package.

    Other code, e.g. a library, may have raised it after this package called
    the code.
    """
    raising_module = ''
    # The frames go from the outermost call to the code that raised the error,
    # so the last frame decides.
    for frame, _line in traceback.walk_tb(error.__traceback__):
        raising_module = frame.f_globals.get('__name__', '')
    return raising_module.startswith(f'{_PACKAGE}.')


class BaremetalCommand(CommandBase, command.Command):
    """A command that prints its own output."""


class Lister(CommandBase, command.Lister):
    """A command that prints a table of rows."""


class ShowOne(CommandBase, command.ShowOne):
    """A command that prints the fields of one object."""


class ErrorCell(columns.FormattableColumn):
    """A table cell with an error.

    A table shows only the reason, shortened. JSON has the whole error.
    """

    def human_readable(self) -> str:
        """Return the shortened reason."""
        return shorten(extract_reason(self._value or ''))


def _exit_with_usage(parser: Any, message: str) -> None:
    """Print the usage of a command and a message, and exit with status 1.

    argparse itself would exit with 2, which some commands return as a result.
    """
    parser.print_usage(sys.stderr)
    parser.exit(
        1,
        _('%(prog)s: error: %(message)s\n')
        % {'prog': parser.prog, 'message': message},
    )


def extract_reason(error: str) -> str:
    """Return the part of an error of Ironic that follows ``Reason:``.

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
