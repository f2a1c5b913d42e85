# SPDX-License-Identifier: Apache-2.0

"""The conditions of ironic-inspector's rules.

They are ops like all others. Their arguments have the names that
ironic-inspector used, and the names of their classes begin with
``Inspector``::

    {'op': 'inspector-gt',
     'args': {'field': 'inventory.disks[*].size', 'value': 4096,
              'multiple': 'all', 'invert': False}}

A field may have several values. A test decides on one value, e.g. whether a
size is greater than 4096. The values are tested one by one, and each result is
inverted before ``multiple`` combines the results. If the field is missing, the
condition is false, inverted or not (blueprint 000 "Conditions").

``facts`` says what is known of a field if a condition holds, e.g. that it is
greater than 4096. Tools such as ``lint`` compare the facts of rules.
"""

import abc
import functools
import ipaddress
import operator
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import arguments as op_arguments
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.legacy import field as json_field

MULTIPLE = ('any', 'all', 'first')
_DEFAULT_MULTIPLE = 'any'

IGNORED = 'ignored'
"""The argument that holds the parameters that ironic-inspector ignored."""

_PARAMETERS = ('op', 'field', 'value', 'multiple', 'invert')
"""The parameters of a condition that ironic-inspector did not ignore."""

Test = typing.Callable[[typing.Any, budget.Budget], bool]
"""Takes a value, and the budget that pays for the test."""


class FieldCondition(plugin.Condition):
    """A condition on the values of a field."""

    LITERAL = frozenset({'field', 'value', 'multiple', 'invert', IGNORED})
    NEEDS_VIEW = True
    DECIDES_FIRST = True

    TESTS_MISSING: typing.ClassVar[bool] = False
    """True if a missing field is tested as if its only value was null."""

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield the fact that is true if the condition holds, if it has one.

        ``gt`` of ``memory_mb`` and 4096 yields that this field is greater than
        4096. If it is inverted, it yields that the field is less or equal, or
        cannot be ordered (``unordered``), e.g. a text.

        :param arguments: the arguments as the rule has them.
        :param inverted: whether the op has the ``!`` of this language, which
            inverts the condition like the argument ``invert``.
        """
        # The name of the field may be written as a number, and "invert" may be
        # a text such as "no".
        field = json_field.as_replacement(str(arguments['field']))
        relation, value = self.relation(arguments)
        if not field or not relation:
            # The field may have several values, or there is no fact.
            return
        has_invert = False
        if arguments.get('invert') is not None:
            has_invert = op_arguments.TYPES[bool].read(arguments['invert'])
        unordered = False
        # "!" and "invert" together cancel each other out.
        is_opposite = has_invert is not inverted
        if is_opposite:
            relation = plugin.OPPOSITES[relation]
            unordered = relation in ('lt', 'le', 'gt', 'ge')
        yield plugin.Fact(field, relation, value, unordered)

    def relation(self, arguments: plugin.Arguments) -> tuple[str, typing.Any]:
        """Return the relation and the value of a fact, e.g. ``('gt', 4096)``.

        :returns: an empty relation if the condition states no fact.
        """
        return '', None

    @abc.abstractmethod
    def tester(self, wanted: typing.Any) -> Test:
        """Build the function that tests a value against the rule's value.

        :param wanted: the value in the rule; None if the condition has none.
        :raises: :class:`.exceptions.OperationError` if the value in the rule
            is not usable.
        """

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the problems of the arguments when a rule is validated.

        The field and the value are checked by building the functions that an
        inspection uses: building fails if the argument is wrong. The functions
        are not kept.

        :param arguments: the arguments by name. Some conditions have no value.
        """
        for name, build in (
            ('field', json_field.compile_field),
            ('value', self.tester),
        ):
            if name not in arguments:
                continue
            try:
                build(arguments[name])
            except exceptions.OperationError as exc:
                yield name, str(exc)
        multiple = arguments.get('multiple', _DEFAULT_MULTIPLE)
        if multiple not in MULTIPLE:
            yield 'multiple', _('must be one of %s') % ', '.join(MULTIPLE)

    def of_node(self, arguments: plugin.Arguments) -> typing.Iterator[str]:
        """Yield "field" if the field reads the node: ``node://driver``."""
        scheme, _path = json_field.split(str(arguments.get('field')))
        if scheme == 'node':
            yield 'field'

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., bool]:
        """Build the function that checks a machine.

        The field and the test are compiled here, once. The function tests the
        values of the field one by one, until the result is known:

        * ``any``: at the first value for which the condition holds.
        * ``all``: at the first value for which it does not hold.
        * ``first``: at the first value.

        :param arguments: all arguments by name.
        :returns: a function that takes the data by root name.
        """
        find_values = json_field.compile_field(arguments['field'])
        test = self.tester(arguments.get('value'))
        multiple = arguments.get('multiple', _DEFAULT_MULTIPLE)
        invert = arguments.get('invert', False)
        values_if_missing = []
        if self.TESTS_MISSING:
            values_if_missing = [None]
        # The result of one value after which the others do not matter.
        decisive_result = multiple == 'any'

        def check(view: budget.View) -> bool:
            """Return whether the condition holds on a machine."""
            # Without any value, the condition is false, inverted or not.
            holds = False
            for value in find_values(view) or values_if_missing:
                # An inverted condition holds if the test does not.
                holds = test(value, view.budget) is not invert
                if multiple == 'first' or holds is decisive_result:
                    break
            return holds

        return check

    def explain(
        self, view: budget.View, arguments: typing.Mapping[str, typing.Any]
    ) -> str:
        """Return the value of the field as the reason for the result.

        For example, the reason is "memory_mb is 4096". If the field has
        several values, all of them are listed.

        :param view: the data by root name.
        :param arguments: all arguments by name.
        """
        # The name of the field may be written as a number.
        field = str(arguments['field'])
        find_values = json_field.compile_field(field)
        values = find_values(view)
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
        multiple: str = _DEFAULT_MULTIPLE,
        invert: bool = False,
    ) -> bool:
        """Return whether the condition holds.

        :param multiple: which values of the field decide; one of
            :data:`MULTIPLE`.
        :param invert: whether to invert each result before ``multiple``
            combines the results.
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

    If the rule has a whole number such as 8, the field is read as a whole
    number, so that "8" equals it. If the rule has 8.0, the field is read as a
    float. True and false in the rule count as 1 and 0. Any other value is
    compared as it is.
    """

    compare: typing.ClassVar[typing.Callable[[typing.Any, typing.Any], bool]]

    def tester(self, wanted: typing.Any) -> Test:
        """Build the function that compares a value with the rule's value.

        The value is read as a number of the type that the rule's value has, or
        is compared as it is. The function raises
        :class:`.exceptions.OperationError` if the two cannot be compared.

        :param wanted: the value in the rule.
        """
        compare = type(self).compare
        read: typing.Callable[[typing.Any], typing.Any] = _keep_as_it_is
        if isinstance(wanted, float):
            read = float
        elif isinstance(wanted, int):
            # This includes true and false, which are integers in Python.
            read = int
        return functools.partial(_compare, compare, read, wanted)

    def relation(self, arguments: plugin.Arguments) -> tuple[str, typing.Any]:
        """Return the comparison by the name of its function in Python."""
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
        """Return that the field is equal to one of the empty values."""
        return 'one-of', ['', None, [], {}]

    def tester(self, wanted: typing.Any) -> Test:
        """Return the test for empty values; the rule itself has no value."""
        return _is_empty

    def __call__(
        self,
        view: budget.View,
        field: str,
        multiple: str = _DEFAULT_MULTIPLE,
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
        """Build the function that tests whether an address is in the network.

        The function raises :class:`.exceptions.OperationError` for a value
        that is not an address.
        """
        try:
            network = ipaddress.ip_network(_require_text(wanted), strict=False)
        except ValueError as exc:
            raise exceptions.OperationError(
                _('%s is not an IP network') % suggestion.quote(wanted)
            ) from exc
        return functools.partial(_is_address_in, network)


class InspectorContains(ValueCondition):
    """``inspector-contains``: the expression matches within the field."""

    def __call__(
        self,
        view: budget.View,
        field: str,
        value: typing.Any,
        multiple: str = _DEFAULT_MULTIPLE,
        invert: bool = False,
        ignored: typing.Any = None,
    ) -> bool:
        """Return whether the condition holds.

        :param ignored: further parameters by name, which have no effect. In a
            condition with a regular expression, ironic-inspector accepted any
            parameter, and returned it when the rule was shown.
        """
        return super().__call__(view, field, value, multiple, invert)

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the problems of the arguments, including ``ignored``.

        ``ignored`` must be a mapping, without the parameters of the condition
        itself.
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
        """Build the function that matches the expression against a value."""
        if not isinstance(wanted, str):
            raise exceptions.OperationError(_('must be a regular expression'))
        matches = self.matcher(pattern.Pattern(wanted))
        return functools.partial(_matches_text, matches)

    def matcher(self, regex: pattern.Pattern) -> pattern.Matcher:
        """Build the function that searches a text for the expression."""
        return regex.matcher('search')


class InspectorMatches(InspectorContains):
    """``inspector-matches``: the regular expression matches the field.

    The expression must match from the start, and its part after the last ``|``
    must also match to the end. An empty expression is an error for each field
    that exists.
    """

    def matcher(self, regex: pattern.Pattern) -> pattern.Matcher:
        """Build the function that matches a text as ironic-inspector did.

        For example, ``a|b`` matches "ab" and "b", but not "bc".
        """
        if not regex.text:
            # The rule is accepted, but fails on machines that have the field.
            return _refuse_to_match
        # ironic-inspector appended "$" to the text, so that only the part
        # after the last "|" must match to the end. Do the same: fullmatch()
        # would apply to all parts.
        if not regex.text.endswith('$'):
            regex = pattern.Pattern(f'{regex.text}$')
        return regex.matcher('match')


def _refuse_to_match(_allowance: budget.Budget, _value: typing.Any) -> bool:
    """Raise the error for an empty expression.

    ironic-inspector accepted such a rule. The rule failed on machines that
    have the field, and had no effect on other machines.
    """
    raise exceptions.OperationError(
        _('an empty regular expression matches nothing; use "is-empty"')
    )


def _require_text(value: typing.Any) -> str:
    """Return a text as it is.

    :raises: ValueError for any other value. Without this check, the library
        would also read a number, a tuple or bytes as an address.
    """
    if not isinstance(value, str):
        raise ValueError
    return value


def _read_address(
    value: typing.Any,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Read an IP address, as ironic-inspector did.

    :param value: a text, or an integer: 1 is ``0.0.0.1``.
    :raises: :class:`.exceptions.OperationError` if the value is not an
        address.
    """
    try:
        if isinstance(value, int):
            # This includes true and false, which are integers in Python.
            return ipaddress.ip_address(int(value))
        # ironic-inspector rejected an address with a zone, e.g. fe80::1%eth0.
        # Newer releases of Python accept it. With a slash, they reject it.
        text = _require_text(value).replace('%', '/')
        return ipaddress.ip_address(text)
    except ValueError as exc:
        raise exceptions.OperationError(
            _('%s is not an IP address') % suggestion.quote(value)
        ) from exc


def _keep_as_it_is(value: typing.Any) -> typing.Any:
    """Return a value as it is; used if the rule's value is not a number."""
    return value


def _compare(
    relation: typing.Callable[[typing.Any, typing.Any], bool],
    read: typing.Callable[[typing.Any], typing.Any],
    wanted: typing.Any,
    value: typing.Any,
    _allowance: budget.Budget,
) -> bool:
    """Test a value of a field against the value in the rule.

    :param relation: a function of two values, e.g. ``operator.lt``.
    :param read: converts the value of the field to a number, e.g. ``int``, or
        returns it as it is.
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
                'value': suggestion.quote(value),
                'wanted': suggestion.quote(wanted),
                'reason': exc,
            }
        ) from exc


def _is_empty(value: typing.Any, _allowance: budget.Budget) -> bool:
    """Return whether ironic-inspector considered a value empty."""
    return value in ('', None, [], {})


def _is_address_in(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network,
    value: typing.Any,
    _allowance: budget.Budget,
) -> bool:
    """Return whether a value is an address in a network.

    :raises: :class:`.exceptions.OperationError` if it is not an address.
    """
    return _read_address(value) in network


def _matches_text(
    matches: pattern.Matcher, value: typing.Any, allowance: budget.Budget
) -> bool:
    """Return whether a regular expression matches a value as text."""
    return matches(allowance, str(value))
