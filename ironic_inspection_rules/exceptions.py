# SPDX-License-Identifier: Apache-2.0

"""Errors that several packages raise or catch, with their HTTP status.

Errors that only direct callers catch are defined in the module that raises
them. The outer layers (the HTTP API, the command line and Ironic's inspection)
translate an error once and keep its ``__cause__``. ``code`` is the HTTP status
of the API's response.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
from http import client as http_client
import itertools
import re
import typing

from ironic_inspection_rules.i18n import _

_CONTROL_CODES = (
    # ASCII and Latin-1.
    *range(0x20),
    *range(0x7F, 0xA0),
    # Marks and embeddings that change the direction of text, and the line and
    # paragraph separators of Unicode.
    0x61C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    # Surrogates, which are halves of a character, and two code points that are
    # not characters.
    *range(0xD800, 0xE000),
    0xFFFE,
    0xFFFF,
)

CONTROL_CHARACTERS = {code: repr(chr(code))[1:-1] for code in _CONTROL_CODES}
"""Escapes of characters that are not text, end a line or reorder text."""

_ALL_CONTROL_CHARACTERS = ''.join(chr(code) for code in _CONTROL_CODES)

CONTROL_CHARACTER = re.compile(f'[{re.escape(_ALL_CONTROL_CHARACTERS)}]')
"""Matches one character of :data:`CONTROL_CHARACTERS`."""

MOST_PROBLEMS = 50
"""Maximum number of problems in one response."""

_MOST_COUNTED = 1000
"""Number of further problems after which counting stops."""

_LONGEST = 2000
"""Maximum length of one problem in a response, in characters."""


def join_problems(
    problems: typing.Sequence[typing.Any],
    describe: typing.Callable[[typing.Any], str] = str,
) -> str:
    """Join problems to one text, such as "a is no name; b is no name".

    The text has at most :data:`MOST_PROBLEMS` problems. If there are more, it
    ends with the number of the remaining ones: "and 3 more".

    :param describe: a function that returns the text of a problem.
    """
    texts = []
    for problem in problems[:MOST_PROBLEMS]:
        texts.append(shorten(describe(problem)))
    count_of_others = len(problems) - MOST_PROBLEMS
    if count_of_others > 0:
        texts.append(_('and %d more') % count_of_others)
    return '; '.join(texts)


def shorten(text: str) -> str:
    """Cut a text that is too long for a response."""
    if len(text) <= _LONGEST:
        return text
    return f'{text[:_LONGEST]}…'


def to_one_line(text: str) -> str:
    """Escape control characters, so that a text takes one line of a log.

    The text may contain data of a machine, which must not be able to imitate
    other lines of the log.
    """
    return text.rstrip('\n').translate(CONTROL_CHARACTERS)


_UNSTORABLE = re.compile('[\0\ud800-\udfff\U00010000-\U0010ffff]')
"""Characters that some databases refuse.

They are NUL, halves of a UTF-16 pair, and characters above U+FFFF, such as
emoji.
"""

_MOST_BYTES = 65535
"""Maximum length of a TEXT column in MySQL, in bytes."""

_MARK_OF_CUT = ' … (cut)'


def make_storable(text: str) -> str:
    """Return a text, e.g. an error message, in a form that databases accept.

    Characters that some databases refuse become U+FFFD. A text of more than
    65,535 bytes in UTF-8 is cut, and then ends with ``… (cut)``.
    """
    storable_text = _UNSTORABLE.sub('\N{REPLACEMENT CHARACTER}', text)
    encoded = storable_text.encode()
    if len(encoded) <= _MOST_BYTES:
        return storable_text
    beginning = encoded[: _MOST_BYTES - len(_MARK_OF_CUT.encode())]
    # If the cut splits a character, the incomplete character is dropped.
    return beginning.decode(errors='ignore') + _MARK_OF_CUT


@contextlib.contextmanager
def name_file_in_errors(path: str) -> Iterator[None]:
    """Add the name of a file to errors that occur while it is written.

    Python names a file that cannot be opened. It does not name a file that
    cannot be written, e.g. because the disk is full: "No space left on
    device".

    :raises: OSError with the name of the file.
    """
    try:
        yield
    except OSError as exc:
        if exc.errno is None or exc.filename is not None:
            raise
        raise OSError(exc.errno, exc.strerror, path) from exc


class InspectionRulesError(Exception):
    """Base class of errors whose message can be shown to a user.

    :param about: the message. If the class has a ``template``, the value that
        is inserted into the template.
    """

    code = http_client.INTERNAL_SERVER_ERROR
    template: str | None = None

    def __init__(self, about: object = '') -> None:
        message = about
        if self.template:
            message = self.template % about
        super().__init__(message)


def reason_of(exc: Exception) -> str:
    """Return the text of an error for users.

    The text of an unforeseen error, e.g. in the code of a plugin, also names
    the class of the error, because ``KeyError: 'cpu'`` says more than
    ``'cpu'``.
    """
    if isinstance(exc, InspectionRulesError):
        return str(exc)
    return _('unexpected error in its code: %(kind)s: %(text)s') % {
        'kind': type(exc).__name__,
        'text': exc,
    }


class Invalid(InspectionRulesError):
    """The input cannot be accepted as it is."""

    code = http_client.BAD_REQUEST


class NotFound(InspectionRulesError):
    """The thing asked for does not exist."""

    code = http_client.NOT_FOUND


class Conflict(InspectionRulesError):
    """The request conflicts with the present state."""

    code = http_client.CONFLICT


class UnsupportedIronic(InspectionRulesError):
    """The installed Ironic is too old, or lacks a required feature."""

    def __init__(self, release: str, problems: typing.Sequence[str]) -> None:
        super().__init__(
            _('Ironic %(release)s cannot be extended: %(problems)s')
            % {'release': release, 'problems': '; '.join(problems)}
        )


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem of a rule, a table, a file or a request, with its place.

    ``pointer`` is the RFC 6901 pointer to the place in the document; '' is the
    document itself. ``detail`` is one sentence without a full stop. ``hint``
    says what the author may have meant; it is None if that is unknown.
    """

    pointer: str
    detail: str
    hint: str | None = None

    @property
    def sentence(self) -> str:
        """The detail, followed by the hint if there is one."""
        if self.hint:
            return f'{self.detail}; {self.hint}'
        return self.detail

    def __str__(self) -> str:
        if not self.pointer:
            return self.sentence
        return f'{self.pointer}: {self.sentence}'

    def below(self, pointer: str) -> 'Problem':
        """Return a problem of a part as a problem of the whole document.

        For example, ``/priority`` in a rule becomes ``/rules/3/priority`` in a
        list of rules.

        :param pointer: the place of the part in the document, e.g.
            ``/rules/3``.
        """
        return dataclasses.replace(self, pointer=pointer + self.pointer)

    def at(self, pointer: str) -> 'Problem':
        """Return the same problem, with another place."""
        return dataclasses.replace(self, pointer=pointer)

    def shortened(self) -> 'Problem':
        """Return the problem with texts short enough for a response."""
        hint = None
        if self.hint is not None:
            hint = shorten(self.hint)
        return Problem(shorten(self.pointer), shorten(self.detail), hint)


def limit_problems(problems: typing.Iterable[Problem]) -> list[Problem]:
    """Return the first problems, and a last one such as ``and 7 more``.

    Texts that are too long for a response are shortened.
    """
    remaining = iter(problems)
    first = []
    for problem in itertools.islice(remaining, MOST_PROBLEMS):
        first.append(problem.shortened())
    # The iterator may search a large rule set while it is consumed, so
    # counting all problems would take too long.
    count_of_others = len(list(itertools.islice(remaining, _MOST_COUNTED)))
    if count_of_others == _MOST_COUNTED:
        text = _('and %d or more others') % count_of_others
        first.append(Problem('', text))
    elif count_of_others > 0:
        first.append(Problem('', _('and %d more') % count_of_others))
    return first


class InvalidInput(Invalid):
    """The input has problems at known places.

    ``problems`` have pointers into the document that was read or posted. The
    pointer is empty if the problem is not in a document.
    """

    problems: tuple[Problem, ...] = ()


class InvalidBody(InvalidInput):
    """The body of a request has problems, with their places."""

    def __init__(self, problems: typing.Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        sentences = [problem.sentence for problem in self.problems]
        super().__init__(join_problems(sentences))


class InvalidQuery(InvalidInput):
    """Two or more parameters of a URL are refused.

    :param refused: one error per refused parameter; its text names the
        parameter.
    """

    def __init__(self, refused: typing.Sequence[Exception]) -> None:
        sentences = [str(error) for error in refused]
        # The parameters are not part of a document, so the pointers are empty.
        self.problems = tuple(Problem('', text) for text in sentences)
        super().__init__(join_problems(sentences))


class InvalidRule(InvalidInput):
    """A rule has problems.

    :param rule: the name of the rule in the message; None if there is only one
        rule.
    """

    def __init__(
        self, problems: typing.Sequence[Problem], rule: str | None = None
    ) -> None:
        self.problems = tuple(problems)
        text = '; '.join(str(problem) for problem in self.problems)
        if rule is None:
            message = _('Invalid inspection rule: %s') % text
        else:
            message = _('Invalid inspection rule %(rule)s: %(problems)s') % {
                'rule': rule,
                'problems': text,
            }
        super().__init__(message)

    @classmethod
    def of(cls, detail: str) -> typing.Self:
        """Return the error of a rule that is refused as a whole."""
        return cls([Problem('', detail)])


class InvalidRules(InvalidInput):
    """Rules of a list are refused. The error has the problems of all of them.

    :param refused: the problems, by index of the rule in the list; their
        pointers start at the rule.
    """

    def __init__(
        self, refused: typing.Mapping[int, typing.Sequence[Problem]]
    ) -> None:
        problems: list[Problem] = []
        clauses: list[str] = []
        for index, problems_of_rule in refused.items():
            pointer = f'/rules/{index}'
            for problem in problems_of_rule:
                problems.append(problem.below(pointer))
            first, *others = problems_of_rule
            # In the message, the rule is named only before its first problem:
            # "/rules/3: /priority: must be …; /scope: must be …".
            clauses.append(f'{pointer}: {first}')
            clauses += [str(problem) for problem in others]
        self.problems = tuple(limit_problems(problems))
        super().__init__(
            _('Invalid inspection rule %s') % join_problems(clauses)
        )


class InvalidTables(InvalidInput):
    """Tables of a rule set are refused.

    :param problems: the problems, with pointers such as
        ``/tables/NAME/rows/12/cpus``.
    """

    def __init__(self, problems: typing.Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            _('Invalid inspection table %s') % join_problems(self.problems)
        )


class InvalidRuleSet(InvalidInput):
    """Members of one body are refused, e.g. rules and tables.

    :param refused: the errors, one per kind of member.
    """

    def __init__(self, refused: typing.Sequence[InvalidInput]) -> None:
        problems: list[Problem] = []
        for error in refused:
            problems += error.problems
        self.problems = tuple(limit_problems(problems))
        super().__init__('; '.join(str(error) for error in refused))


class InvalidDocument(Invalid):
    """The content of a file is invalid.

    :param place: line and column, counted from one; None if they are unknown.
    """

    def __init__(
        self, path: str, reason: str, place: tuple[int, int] | None = None
    ) -> None:
        self.path = path
        self.reason = reason
        self.place = place
        full_place = path
        if place is not None:
            line, column = place
            # Editors recognize this form, which compilers use, and can jump to
            # the place.
            full_place = f'{path}:{line}:{column}'
        super().__init__(f'{full_place}: {reason}')


class OperationError(InspectionRulesError):
    """A condition or an action cannot be applied to the data of this machine.

    Plugins raise it. The engine adds the rule and the op.
    """


class PluginFailed(OperationError):
    """The code of a plugin raised an unforeseen error.

    :param op: the name of the plugin in rules.
    :param code: the class of the plugin, and the method unless the op itself
        was called.
    :param cause: the error. Its class is reported too, because its text alone
        may say nothing.
    """

    def __init__(self, op: str, code: str, cause: Exception) -> None:
        self.op = op
        super().__init__(
            _('unexpected error in its code (%(code)s): %(kind)s: %(text)s')
            % {'code': code, 'kind': type(cause).__name__, 'text': cause}
        )


class UnknownOp(InspectionRulesError):
    """A stored rule uses an op that is no longer installed."""

    template = _('op "%s" is no longer installed')


class MissingField(OperationError):
    template = _('field {%s} does not exist')


class MaskedField(OperationError):
    template = _('field {%s} is or has a secret, which the rule does not see')


class BudgetExceeded(OperationError):
    """A phase exceeds a limit: time, operations, or the size of values."""


class FailRequested(OperationError):
    """The ``fail`` action asks for the inspection to fail."""

    def __init__(self, message: str, maintenance: bool = False) -> None:
        self.maintenance = maintenance
        super().__init__(message)


class RuleError(InspectionRulesError):
    """A rule could not be applied; all changes of its phase are discarded.

    :param rule_uuid: the UUID of the rule.
    :param rule: the UUID and the description of the rule; only the UUID if the
        rule is sensitive.
    :param op: the name of the condition or action that failed.
    :param reason: the reason; None for a sensitive rule.
    """

    code = http_client.BAD_REQUEST

    def __init__(
        self, rule_uuid: str, rule: str, op: str, reason: str | None
    ) -> None:
        self.rule_uuid = rule_uuid
        self.rule = rule
        self.op = op
        self.reason = reason
        if reason is not None:
            self.reason = to_one_line(reason)
        super().__init__(
            _('Inspection rule %(rule)s, %(op)s: %(reason)s')
            % {'rule': rule, 'op': op, 'reason': self.reason or _('failed')}
        )


class RuleFailed(RuleError):
    """A rule failed the inspection; earlier changes of the phase are kept."""

    def __init__(
        self,
        rule_uuid: str,
        rule: str,
        op: str,
        reason: str | None,
        maintenance: bool = False,
    ) -> None:
        super().__init__(rule_uuid, rule, op, reason)
        self.maintenance = maintenance


class PluginError(InspectionRulesError):
    """A condition or action plugin is unusable, so services do not start."""


class RuleNotFound(NotFound):
    template = _('Inspection rule %s could not be found.')


class RuleAlreadyExists(Conflict):
    template = _('An inspection rule with UUID %s already exists.')


class RuleSetChanged(Conflict):
    """The rule set was changed by another user since it was read."""

    def __init__(self, expected: int, present: int) -> None:
        super().__init__(
            _(
                'The rule set is at revision %(present)d now, not at '
                '%(expected)d; nothing was changed.'
            )
            % {'present': present, 'expected': expected}
        )


class DatabaseNotReady(InspectionRulesError):
    """The plugin's tables are missing, or older than the code."""


class RequestNotFound(NotFound):
    template = _('Inspection request %s could not be found.')


class RequestPending(Conflict):
    template = _('Node %s has an inspection request that is not done yet.')


class AnotherSender(RequestPending):
    """Inspection data of the node from another sender are waiting.

    :param sender: the address of that sender; None if it is unknown.
    """

    def __init__(self, node: str, sender: str | None) -> None:
        self.sender = sender
        super().__init__(node)


class KeptInventoryNotFound(NotFound):
    template = _('Inventory %s could not be found in the history of the node.')


class RequestNotWaiting(Conflict):
    template = _('Inspection request %s is being processed or done already.')


class LeaseLost(Conflict):
    template = _('Inspection request %s is not held by this worker any more.')


class NodeBusy(Conflict):
    """The node is locked by another process; the operation may be retried."""


class NodeGone(NotFound):
    """The node of an inspection request no longer exists."""


class TemporaryFailure(InspectionRulesError):
    """Something outside of this service failed; a retry may succeed."""


class DoubtfulFailure(TemporaryFailure):
    """Another error occurred while an error from outside was handled.

    Nobody knows which of the two is to blame, so the attempt is counted.
    """


class Stopping(InspectionRulesError):
    """The service is stopping, so waiting ends."""
