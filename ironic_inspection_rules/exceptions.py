# SPDX-License-Identifier: Apache-2.0

"""Errors that several packages raise or catch, with their HTTP status.

Modules define the errors that only their callers catch. The borders (HTTP, the
command line, Ironic's inspection) translate errors once and keep the
``__cause__``. ``code`` is the HTTP status of the API's answer.
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
    # Marks and embeddings that change the direction of a text, and the ends
    # of a line and a paragraph of Unicode.
    0x61C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    # Halves of a character, and two that are none.
    *range(0xD800, 0xE000),
    0xFFFE,
    0xFFFF,
)

CONTROL_CHARACTERS = {code: repr(chr(code))[1:-1] for code in _CONTROL_CODES}
"""Escapes of characters that are not text, end a line or reorder it."""

_ALL_CONTROL_CHARACTERS = ''.join(chr(code) for code in _CONTROL_CODES)

CONTROL_CHARACTER = re.compile(f'[{re.escape(_ALL_CONTROL_CHARACTERS)}]')
"""Matches one of them."""

MOST_PROBLEMS = 50
"""Maximum number of problems in one answer."""

_MOST_COUNTED = 1000
"""Maximum number of further problems that are counted."""

_LONGEST = 2000
"""Maximum length of one problem in an answer."""


def listed(
    problems: typing.Sequence[typing.Any],
    describe: typing.Callable[[typing.Any], str] = str,
) -> str:
    """Join problems to one text, such as "a is no name; b is no name".

    A text has at most :data:`MOST_PROBLEMS` problems. If there are more, it
    ends with the number of the others: "and 3 more".

    :param describe: returns the text of a problem.
    """
    texts = []
    for problem in problems[:MOST_PROBLEMS]:
        texts.append(shortened(describe(problem)))
    count_of_others = len(problems) - MOST_PROBLEMS
    if count_of_others > 0:
        texts.append(_('and %d more') % count_of_others)
    return '; '.join(texts)


def shortened(text: str) -> str:
    """Cut a text that is too long for an answer."""
    if len(text) <= _LONGEST:
        return text
    return f'{text[:_LONGEST]}…'


def one_line(text: str) -> str:
    """Escape control characters, so that a text is one line of a log.

    It may hold data of a machine, which must not look like lines of the log.
    """
    return text.rstrip('\n').translate(CONTROL_CHARACTERS)


_UNSTORABLE = re.compile('[\0\ud800-\udfff\U00010000-\U0010ffff]')
"""Characters that some database refuses.

They are NUL, halves of a UTF-16 pair, and characters above U+FFFF, such as an
emoji.
"""

_MOST_BYTES = 65535
"""Length of a column of text in MySQL, in bytes."""

_MARK_OF_CUT = ' … (cut)'


def storable(text: str) -> str:
    """Return a text, such as the message of an error, as databases take it.

    A character that some database refuses becomes U+FFFD. A text of more than
    65,535 bytes in UTF-8 is cut off, and ends in ``… (cut)``.
    """
    storable_text = _UNSTORABLE.sub('\N{REPLACEMENT CHARACTER}', text)
    encoded = storable_text.encode()
    if len(encoded) <= _MOST_BYTES:
        return storable_text
    beginning = encoded[: _MOST_BYTES - len(_MARK_OF_CUT.encode())]
    # The cut may be in the middle of a character, which is then left out.
    return beginning.decode(errors='ignore') + _MARK_OF_CUT


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Add the name of a file to errors of writing it.

    Python names a file that cannot be opened, but not one that cannot be
    written, such as on a full disk: "No space left on device".

    :raises: OSError with the name of the file.
    """
    try:
        yield
    except OSError as exc:
        if exc.errno is None or exc.filename is not None:
            raise
        raise OSError(exc.errno, exc.strerror, path) from exc


class InspectionRulesError(Exception):
    """Base of errors whose message is ready to be shown to a user.

    :param about: the message; for a class with a ``template``, the value that
        fills it in.
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

    The text of an unforeseen error, such as in the code of a plugin, also
    names its class. ``KeyError: 'cpu'`` says more than ``'cpu'`` alone.
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
    """The request collides with the present state."""

    code = http_client.CONFLICT


class UnsupportedIronic(InspectionRulesError):
    """The installed Ironic is too old, or lacks something that is needed."""

    def __init__(self, release: str, problems: typing.Sequence[str]) -> None:
        super().__init__(
            _('Ironic %(release)s cannot be extended: %(problems)s')
            % {'release': release, 'problems': '; '.join(problems)}
        )


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem of a rule, a table, a file or a request, with its place.

    ``pointer`` is the RFC 6901 pointer to it inside the document ('' is the
    document itself), ``detail`` one sentence without a full stop, ``hint``
    what may have been meant, if that is known.
    """

    pointer: str
    detail: str
    hint: str | None = None

    @property
    def sentence(self) -> str:
        """What is wrong, and what may have been meant."""
        if self.hint:
            return f'{self.detail}; {self.hint}'
        return self.detail

    def __str__(self) -> str:
        if not self.pointer:
            return self.sentence
        return f'{self.pointer}: {self.sentence}'

    def below(self, pointer: str) -> 'Problem':
        """Return the problem of a part of a document as one of the document.

        ``/priority`` of a rule is ``/rules/3/priority`` of a list of rules.

        :param pointer: the place of the part in the document: ``/rules/3``.
        """
        return dataclasses.replace(self, pointer=pointer + self.pointer)

    def at(self, pointer: str) -> 'Problem':
        """Return the same problem at another place."""
        return dataclasses.replace(self, pointer=pointer)

    def shortened(self) -> 'Problem':
        """Return the problem without what is too long for an answer."""
        hint = None
        if self.hint is not None:
            hint = shortened(self.hint)
        return Problem(shortened(self.pointer), shortened(self.detail), hint)


def first_of(problems: typing.Iterable[Problem]) -> list[Problem]:
    """Return the first problems, and a last one such as ``and 7 more``.

    Texts that are too long for an answer are shortened.
    """
    remaining = iter(problems)
    first = []
    for problem in itertools.islice(remaining, MOST_PROBLEMS):
        first.append(problem.shortened())
    # The iterator may search a large rule set for its problems while it goes
    # on. To count all of them would take too long.
    count_of_others = len(list(itertools.islice(remaining, _MOST_COUNTED)))
    if count_of_others == _MOST_COUNTED:
        text = _('and %d or more others') % count_of_others
        first.append(Problem('', text))
    elif count_of_others > 0:
        first.append(Problem('', _('and %d more') % count_of_others))
    return first


class InvalidInput(Invalid):
    """The input has problems at known places.

    ``problems`` have pointers into the document that was read or posted, if
    they are in it.
    """

    problems: tuple[Problem, ...] = ()


class InvalidBody(InvalidInput):
    """The body of a request has problems, with their places."""

    def __init__(self, problems: typing.Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        sentences = [problem.sentence for problem in self.problems]
        super().__init__(listed(sentences))


class InvalidQuery(InvalidInput):
    """Several parameters of a URL are refused.

    :param refused: the error of every one, whose text names the parameter.
    """

    def __init__(self, refused: typing.Sequence[Exception]) -> None:
        sentences = [str(error) for error in refused]
        # They are in no document: the pointers are empty.
        self.problems = tuple(Problem('', text) for text in sentences)
        super().__init__(listed(sentences))


class InvalidRule(InvalidInput):
    """A rule has problems.

    :param rule: its name for its author, None if there is only one rule.
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
    """Rules of a list are refused, with the problems of all of them.

    :param refused: the problems by the number of the rule in the list, with
        pointers into the rule.
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
        self.problems = tuple(first_of(problems))
        super().__init__(_('Invalid inspection rule %s') % listed(clauses))


class InvalidTables(InvalidInput):
    """Tables of a rule set are refused.

    :param problems: with pointers such as ``/tables/NAME/rows/12/cpus``.
    """

    def __init__(self, problems: typing.Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            _('Invalid inspection table %s') % listed(self.problems)
        )


class InvalidRuleSet(InvalidInput):
    """Rules, tables and other members of one body are refused.

    :param refused: the errors of each kind.
    """

    def __init__(self, refused: typing.Sequence[InvalidInput]) -> None:
        problems: list[Problem] = []
        for error in refused:
            problems += error.problems
        self.problems = tuple(first_of(problems))
        super().__init__('; '.join(str(error) for error in refused))


class InvalidDocument(Invalid):
    """The content of a file is invalid.

    :param place: line and column, counted from one, if they are known.
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
            # The form of compilers, so that editors find the place.
            full_place = f'{path}:{line}:{column}'
        super().__init__(f'{full_place}: {reason}')


class OperationError(InspectionRulesError):
    """A condition or an action cannot be carried out on this machine's data.

    Plugins raise it; the engine adds which rule and op it was.
    """


class PluginFailed(OperationError):
    """The code of a plugin raised an error that nobody foresaw.

    :param op: the name of the plugin in rules.
    :param code: the class, and the method if it is not the call of the op.
    :param cause: the error, whose text alone may say nothing.
    """

    def __init__(self, op: str, code: str, cause: Exception) -> None:
        self.op = op
        super().__init__(
            _('unexpected error in its code (%(code)s): %(kind)s: %(text)s')
            % {'code': code, 'kind': type(cause).__name__, 'text': cause}
        )


class UnknownOp(InspectionRulesError):
    """A rule that was valid once has an op that is not installed now."""

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
    """A rule could not be carried out; nothing of its phase is kept.

    :param rule_uuid: its UUID.
    :param rule: its UUID and description, only its UUID if it is sensitive.
    :param op: name of the condition or action that failed.
    :param reason: None for a sensitive rule.
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
            self.reason = one_line(reason)
        super().__init__(
            _('Inspection rule %(rule)s, %(op)s: %(reason)s')
            % {'rule': rule, 'op': op, 'reason': self.reason or _('failed')}
        )


class RuleFailed(RuleError):
    """A rule said that inspection fails; what came before it is kept."""

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
    """A condition or action plugin is not usable; services do not start."""


class RuleNotFound(NotFound):
    template = _('Inspection rule %s could not be found.')


class RuleAlreadyExists(Conflict):
    template = _('An inspection rule with UUID %s already exists.')


class RuleSetChanged(Conflict):
    """Somebody else has changed the rule set since it was read."""

    def __init__(self, expected: int, present: int) -> None:
        super().__init__(
            _(
                'The rule set is at revision %(present)d now, not at '
                '%(expected)d; nothing was changed.'
            )
            % {'present': present, 'expected': expected}
        )


class DatabaseNotReady(InspectionRulesError):
    """The plugin's tables are missing or older than the code."""


class RequestNotFound(NotFound):
    template = _('Inspection request %s could not be found.')


class RequestPending(Conflict):
    template = _('Node %s has an inspection request that is not done yet.')


class AnotherSender(RequestPending):
    """Inspection data of the node from another sender wait to be processed.

    :param sender: the address of that sender, None if it is not known.
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
    """The node is locked by somebody else; try again later."""


class NodeGone(NotFound):
    """The node of an inspection request does not exist any more."""


class TemporaryFailure(InspectionRulesError):
    """Something outside failed; the same may work next time."""


class DoubtfulFailure(TemporaryFailure):
    """Something failed while it handled an error of something outside.

    Which of the two is to blame is not known, so the attempt counts.
    """


class Stopping(InspectionRulesError):
    """The service stops, and waiting ends."""
