# SPDX-License-Identifier: Apache-2.0

"""The conditions of ironic-inspector's rules.

They are ops like the others, with the words of ironic-inspector as their
arguments, and with ``Inspector`` in the names of their classes. The values of
a field are tested one by one, each result is inverted before ``multiple``
combines them, and a missing field makes the condition false in any case
(blueprint 000 "Conditions").
"""

import abc
import functools
import ipaddress
import operator
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.legacy import field as json_field

MULTIPLE = ('any', 'all', 'first')

IGNORED = 'ignored'
"""The argument with the parameters that ironic-inspector ignored."""

_PARAMETERS = ('op', 'field', 'value', 'multiple', 'invert')
"""What a condition of ironic-inspector had beside them."""

Test = typing.Callable[[typing.Any, budget.Budget], bool]
"""Takes a value, and the budget that pays for the test."""


class FieldCondition(plugin.Condition):
    """A condition on the values of a field."""

    LITERAL = frozenset({'field', 'value', 'multiple', 'invert', IGNORED})
    NEEDS_VIEW = True
    DECIDES_FIRST = True

    TESTS_MISSING: typing.ClassVar[bool] = False
    """True if a missing field is tested as if its only value were null."""

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield what is true of the field if the condition holds.

        For ``gt`` of ``memory_mb`` and 4096, that field is greater than 4096;
        inverted, it is not. By such facts, checks of rule files find
        contradictions.
        """
        field = json_field.as_replacement(arguments['field'])
        relation, value = self.relation(arguments)
        if not field or not relation:
            return
        unordered = False
        # Either "invert" of ironic-inspector or the "!" of this language
        # inverts the condition; both together do not.
        is_opposite = bool(arguments.get('invert')) is not inverted
        if is_opposite:
            relation = plugin.OPPOSITES[relation]
            # "Not less" also holds for a value without an order, such as a
            # text, which is not greater or equal.
            unordered = relation in ('lt', 'le', 'gt', 'ge')
        yield plugin.Fact(field, relation, value, unordered)

    def relation(self, arguments: plugin.Arguments) -> tuple[str, typing.Any]:
        """Return the relation and the value of a fact, as ``('gt', 4096)``.

        :returns: an empty relation if the condition states no fact.
        """
        return '', None

    @abc.abstractmethod
    def tester(self, wanted: typing.Any) -> Test:
        """Build the test of a field's value against the value in the rule.

        :param wanted: the value in the rule; None if the condition has none.
        :raises: :class:`.exceptions.OperationError` if the value in the rule
            is not usable.
        """

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the problems of the arguments when a rule is validated.

        A field and a value are checked by building what a machine is checked
        with: that raises the error of a wrong one.
        """
        for name, build in (
            ('field', json_field.compile_field),
            ('value', self.tester),
        ):
            try:
                # Some conditions have no value.
                if name in arguments:
                    build(arguments[name])
            except exceptions.OperationError as exc:
                yield name, str(exc)
        if arguments.get('multiple', MULTIPLE[0]) not in MULTIPLE:
            yield 'multiple', _('must be one of %s') % ', '.join(MULTIPLE)

    def of_node(self, arguments: plugin.Arguments) -> typing.Iterator[str]:
        """Yield "field" where the field is of the node: ``node://driver``."""
        scheme, _path = json_field.split(str(arguments.get('field')))
        if scheme == 'node':
            yield 'field'

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., bool]:
        """Build the check of a machine, with the field and the test compiled.

        It tests the values of the field one by one, until one of them decides.
        """
        find = json_field.compile_field(arguments['field'])
        test = self.tester(arguments.get('value'))
        multiple = arguments.get('multiple', 'any')
        invert = arguments.get('invert', False)
        values_if_missing = []
        if self.TESTS_MISSING:
            values_if_missing = [None]
        # "any" is decided by the first value for which the condition holds,
        # and "all" by the first for which it does not.
        decisive_result = multiple == 'any'

        def check(view: budget.View) -> bool:
            """Return whether the condition holds on a machine."""
            # Without any value the condition is false, inverted or not.
            holds = False
            for value in find(view) or values_if_missing:
                # Inverted, it holds if the test does not.
                holds = test(value, view.budget) is not invert
                if multiple == 'first' or holds is decisive_result:
                    break
            return holds

        return check

    def explain(
        self, view: budget.View, arguments: typing.Mapping[str, typing.Any]
    ) -> str:
        """Return what the field is: why the condition holds, or does not.

        Such a reason is "memory_mb is 4096".
        """
        field: str = arguments['field']
        find = json_field.compile_field(field)
        values = find(view)
        if not values:
            return _('field %s does not exist') % field
        return _('%(field)s is %(values)s') % {
            'field': field,
            'values': ', '.join(map(repr, values)),
        }


class ValueCondition(FieldCondition):
    """A condition on a field with a value to test against."""

    def __call__(
        self,
        view: budget.View,
        field: str,
        value: typing.Any,
        multiple: str = 'any',
        invert: bool = False,
    ) -> bool:
        """Return whether the condition holds.

        :param multiple: which values of the field decide, one of
            :data:`MULTIPLE`.
        :param invert: whether every result is inverted before ``multiple``
            combines them.
        """
        return self.bind(
            {
                'field': field,
                'value': value,
                'multiple': multiple,
                'invert': invert,
            }
        )(view)


class TypedComparison(ValueCondition):
    """A comparison of the field with a value.

    If the rule has the number 8, the field is read as a whole number, so that
    "8" equals it; and as a number with a fraction for 8.0. True and false in
    the rule count as 1 and 0. Any other value is compared as it is.
    """

    compare: typing.ClassVar[typing.Callable[[typing.Any, typing.Any], bool]]

    def tester(self, wanted: typing.Any) -> Test:
        """Return the test of a field's value against the value in the rule.

        The test raises :class:`.exceptions.OperationError` for a value that
        cannot be compared with it.
        """
        compare = type(self).compare
        read: typing.Callable[[typing.Any], typing.Any] = _unread
        if isinstance(wanted, float):
            read = float
        elif isinstance(wanted, int):
            # Also for true and false, which are integers to Python.
            read = int
        return functools.partial(_compare, compare, read, wanted)

    def relation(self, arguments: plugin.Arguments) -> tuple[str, typing.Any]:
        """Return the comparison, which is named as a function of Python."""
        return type(self).compare.__name__, arguments['value']


class InspectorEqual(TypedComparison):
    """``inspector-eq``: the field equals the value."""

    compare = operator.eq


class InspectorNotEqual(TypedComparison):
    """``inspector-ne``: the field differs from the value."""

    compare = operator.ne


class InspectorLess(TypedComparison):
    """``inspector-lt``: the field is less than the value."""

    compare = operator.lt


class InspectorLessOrEqual(TypedComparison):
    """``inspector-le``: the field is not greater than the value."""

    compare = operator.le


class InspectorGreater(TypedComparison):
    """``inspector-gt``: the field is greater than the value."""

    compare = operator.gt


class InspectorGreaterOrEqual(TypedComparison):
    """``inspector-ge``: the field is not less than the value."""

    compare = operator.ge


class InspectorIsEmpty(FieldCondition):
    """``inspector-is-empty``: the field does not exist or is empty."""

    TESTS_MISSING = True

    def relation(self, arguments: plugin.Arguments) -> tuple[str, typing.Any]:
        """Return that the field is one of the empty values."""
        return 'one-of', ['', None, [], {}]

    def tester(self, wanted: typing.Any) -> Test:
        """Return the test whether a value is empty; the rule has no value."""
        return _is_empty

    def __call__(
        self,
        view: budget.View,
        field: str,
        multiple: str = 'any',
        invert: bool = False,
    ) -> bool:
        """Return whether the condition holds, see :class:`ValueCondition`."""
        return self.bind(
            {'field': field, 'multiple': multiple, 'invert': invert}
        )(view)


class InspectorInNet(ValueCondition):
    """``inspector-in-net``: the address is in the network of the value.

    A value that is not an IP address is an error.
    """

    def tester(self, wanted: typing.Any) -> Test:
        """Return the test whether a value is an address in the network.

        The test raises :class:`.exceptions.OperationError` for a value that is
        no address.
        """
        try:
            network = ipaddress.ip_network(_text(wanted), strict=False)
        except ValueError as exc:
            raise exceptions.OperationError(
                _('%s is not an IP network') % suggestion.quoted(wanted)
            ) from exc
        return functools.partial(_is_in, network)


class InspectorContains(ValueCondition):
    """``inspector-contains``: the expression matches within the field."""

    def __call__(
        self,
        view: budget.View,
        field: str,
        value: typing.Any,
        multiple: str = 'any',
        invert: bool = False,
        ignored: typing.Any = None,
    ) -> bool:
        """Return whether the condition holds.

        :param ignored: further parameters by name, which do nothing. In a
            condition with a regular expression, ironic-inspector took any
            parameter, and showed it again.
        """
        return super().__call__(view, field, value, multiple, invert)

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the problems of the arguments, also of ``ignored``.

        A parameter of the condition itself cannot be ignored.
        """
        yield from super().problems(arguments)
        ignored = arguments.get(IGNORED)
        if ignored is None:
            return
        if not isinstance(ignored, dict):
            yield IGNORED, _('must be a mapping')
            return
        for name in _PARAMETERS:
            if name in ignored:
                yield (
                    IGNORED,
                    _(
                        '"%s" is a parameter of the condition, and cannot be '
                        'ignored'
                    )
                    % name,
                )

    def tester(self, wanted: typing.Any) -> Test:
        """Return the test whether the expression matches a value as text."""
        if not isinstance(wanted, str):
            raise exceptions.OperationError(_('must be a regular expression'))
        matches = self.matcher(pattern.Pattern(wanted))
        return functools.partial(_matches_text, matches)

    def matcher(self, regex: pattern.Pattern) -> pattern.Matcher:
        """Return the test of a text against the regular expression."""
        return regex.matcher('search')


class InspectorMatches(InspectorContains):
    """``inspector-matches``: the regular expression matches the field.

    It has to match from the beginning, and the part after its last ``|`` to
    the end. An empty one is an error for every field that exists.
    """

    def matcher(self, regex: pattern.Pattern) -> pattern.Matcher:
        """Return the test of a text, as ironic-inspector matched it.

        Of ``a|b`` it holds for "ab" and "b", but not for "bc".
        """
        if not regex.text:
            # The rule is accepted, and fails on machines that have the field.
            return _refuse_to_match
        # ironic-inspector appended "$" to the text. So only the part after the
        # last "|" has to match to the end, and fullmatch() would not do.
        if not regex.text.endswith('$'):
            regex = pattern.Pattern(f'{regex.text}$')
        return regex.matcher('match')


def _refuse_to_match(_allowance: budget.Budget, _value: typing.Any) -> bool:
    """Raise the error of an empty expression.

    ironic-inspector accepted such a rule, which failed on machines that have
    the field, and did no harm on others.
    """
    raise exceptions.OperationError(
        _('an empty regular expression matches nothing; use "is-empty"')
    )


def _text(value: typing.Any) -> str:
    """Return a text as it is.

    :raises: ValueError for any other value. The library would read a number,
        a tuple or bytes as an address, too.
    """
    if not isinstance(value, str):
        raise ValueError
    return value


def _read_address(
    value: typing.Any,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Read an IP address, as ironic-inspector did.

    :param value: a text, or an integer: 1 is ``0.0.0.1``.
    :raises: :class:`.exceptions.OperationError` for a value that is no
        address.
    """
    try:
        if isinstance(value, int):
            # Also true and false, which are integers to Python.
            return ipaddress.ip_address(int(value))
        # ironic-inspector refused an address with a zone, as fe80::1%eth0. The
        # library of today takes it; but it refuses one with a slash.
        return ipaddress.ip_address(_text(value).replace('%', '/'))
    except ValueError as exc:
        raise exceptions.OperationError(
            _('%s is not an IP address') % suggestion.quoted(value)
        ) from exc


def _unread(value: typing.Any) -> typing.Any:
    """Return a value as it is, for a comparison with no number."""
    return value


def _compare(
    relation: typing.Callable[[typing.Any, typing.Any], bool],
    read: typing.Callable[[typing.Any], typing.Any],
    wanted: typing.Any,
    value: typing.Any,
    _allowance: budget.Budget,
) -> bool:
    """Test a value of a field against the value in the rule.

    :param relation: a function of two values, such as ``operator.lt``.
    :param read: converts the value of the field to a number, such as ``int``;
        or returns it as it is.
    :param wanted: the value in the rule.
    :param value: the value of the field.
    :raises: :class:`.exceptions.OperationError` if the two cannot be compared.
    """
    try:
        return bool(relation(read(value), wanted))
    except (TypeError, ValueError, OverflowError) as exc:
        raise exceptions.OperationError(
            _('%(value)s cannot be compared with %(wanted)s: %(reason)s')
            % {
                'value': suggestion.quoted(value),
                'wanted': suggestion.quoted(wanted),
                'reason': exc,
            }
        ) from exc


def _is_empty(value: typing.Any, _allowance: budget.Budget) -> bool:
    """Return whether a value is one that ironic-inspector took for empty."""
    return value in ('', None, [], {})


def _is_in(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network,
    value: typing.Any,
    _allowance: budget.Budget,
) -> bool:
    """Return whether a value is an address in a network.

    :raises: :class:`.exceptions.OperationError` if it is no address.
    """
    return _read_address(value) in network


def _matches_text(
    matches: pattern.Matcher, value: typing.Any, allowance: budget.Budget
) -> bool:
    """Return whether a regular expression matches a value as text."""
    return matches(allowance, str(value))
