# SPDX-License-Identifier: Apache-2.0

"""Conversion of rules of stock Ironic to rules that do the same here."""

from collections.abc import Iterable, Iterator
import functools
import typing

from oslo_utils import strutils

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import operation_check
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.authoring.conversion import stock_condition
from ironic_inspection_rules.kit.authoring.conversion import stock_operation
from ironic_inspection_rules.kit.authoring.conversion import stock_text
from ironic_inspection_rules.rule_file import stock_form

Fields = typing.Mapping[str, typing.Any]
Operation = dict[str, typing.Any]

IN_GENERAL = (
    _(
        'Other than in stock Ironic, an error in a rule leaves nothing of '
        'what the rules of its phase have changed.'
    ),
    _(
        'Fields become text there, and a missing one stays as it is written: '
        '!s and default(…) keep that.'
    ),
    _(
        'A secret in data that become text, such as a password in a mapping, '
        'is *** there, that of a node as it is; here it is ******, and such '
        'text cannot be written, unless mask_secrets says otherwise.'
    ),
)
"""What differs from stock Ironic in any rule."""

_FIELDS = frozenset(
    {
        'uuid',
        'description',
        'priority',
        'scope',
        'sensitive',
        'phase',
        'conditions',
        'actions',
    }
)
_KEYS = {
    'conditions': frozenset({'op', 'args', 'loop', 'multiple'}),
    'actions': frozenset({'op', 'args', 'loop'}),
}

_COMPARISONS = ('eq', 'lt', 'gt')

_FILLED_ARGUMENT = {'log': 'msg', 'api-call': 'url'}
"""The argument of an action that is filled in, ``value`` of all others."""


class _Malformed(Exception):
    """Stock Ironic does not take a rule; the message says why."""


class _StockConverter(rule.Conversion):
    """Converts a rule of stock Ironic, and notes what is lost or differs.

    A rule that never did what it says is switched off, not left out: so the
    operator sees it, and why.

    :ivar reasons_for_off: why the rule never did what it says; empty for a
        rule that is not switched off.
    :ivar earlier_failures: the failures before the first of these reasons.
    """

    def __init__(self, ops: registry.Registry, fills_values: bool) -> None:
        super().__init__()
        self._ops = ops
        self._fills_values = fills_values
        self.reasons_for_off: list[rule.Problem] = []
        self.earlier_failures: list[rule.Problem] = []

    def switch_off(self, message: str) -> None:
        """Note a reason to switch the rule off: it never did what it says."""
        if not self.reasons_for_off:
            self.earlier_failures = list(self.failures)
        self.reasons_for_off.append(rule.Problem(self.pointer, message))

    def switch_off_without_actions(self, are_lost: bool) -> None:
        """Note that the rule is switched off, as no action of it is left.

        :param are_lost: whether some of its actions could not be converted;
            else none of them does anything.
        """
        if are_lost:
            self.switch_off(
                _(
                    'none of its actions can be kept, so it is switched off '
                    'and left as it is written'
                )
            )
        else:
            self.switch_off(
                _(
                    'nothing of it does anything in stock Ironic, so it is '
                    'switched off and left as it is written'
                )
            )

    def forget_operations(self, hints_on_fields: list[rule.Problem]) -> None:
        """Forget what was noted of the operations of a rule switched off.

        They stay as they are written. Only failures are kept: stock Ironic
        still checks the conditions up to the one that never holds.

        :param hints_on_fields: hints on anything but the operations.
        """
        self.hints = [
            *hints_on_fields,
            *self.earlier_failures,
            *self.reasons_for_off,
        ]
        self.differences = list(self.earlier_failures)
        self.failures = list(self.earlier_failures)

    def refuse(self, message: str) -> rule.Conversion:
        """Give the rule up: there is no new one.

        Its hints would be of no use; the message is noted as lost.

        :returns: this converter, which is the conversion.
        """
        self.hints.clear()
        self.differences.clear()
        self.failures.clear()
        self.lose(message)
        return self

    def finish(self, fields: Operation) -> None:
        """Set the new rule, unless its fields are invalid in this language.

        Then there is none, and the problems are noted as lost.
        """
        problems = validation.validate(fields, self._ops)
        if not problems:
            self.rule = {
                name: value for name, value in fields.items() if value
            }
            return
        for problem in problems:
            self.pointer = problem.pointer
            self.lose(problem.sentence)
        # No rule is there that could be switched off.
        self.hints = [
            hint for hint in self.hints if hint not in self.reasons_for_off
        ]

    def conditions(
        self, conditions: Iterable[typing.Any]
    ) -> Iterator[Operation]:
        """Convert conditions, and yield those that decide about a machine.

        One that always holds is left out, with a hint. One that never holds,
        or that fails every inspection, is a reason to switch the rule off.

        :raises: :class:`.rule.Inconvertible` for a condition that this
            language cannot say. An action of that kind is only noted.
        """
        for index, condition in enumerate(conditions):
            self.pointer = f'/conditions/{index}'
            try:
                converted = self._condition(condition)
            except stock_condition.Fails as exc:
                self.lose(
                    _('stock Ironic fails each inspection here: %s') % exc
                )
                self.switch_off(
                    _('the rule is switched off and left as it is written')
                )
                continue
            if converted is False:
                self.switch_off(
                    _(
                        'this never holds in stock Ironic, so the rule '
                        'is switched off and left as it is written'
                    )
                )
            elif converted is True:
                self.hint(
                    _('this always holds in stock Ironic and is left out')
                )
            else:
                yield converted

    def _condition(self, condition: Operation) -> Operation | bool:
        """Convert one condition, which may have a loop.

        :returns: the new condition, or a truth value where it has always the
            same result.
        """
        _check(condition, stock_form.CONDITIONS)
        op, inverted = model.split_op(condition['op'])
        args = stock_form.by_name(condition['args'], stock_form.CONDITIONS[op])
        loop = condition.get('loop')
        if not loop:
            new_args = _convert_texts(
                _with_texts(op, args), self._filled_arguments(op)
            )
            return stock_condition.convert(op, inverted, new_args, self)
        items = _items(loop)
        # "first" is "any" there: the first item for which it holds decides.
        if condition.get('multiple') == 'last':
            items = items[-1:]
        convert_turn = functools.partial(
            self._turn_of_condition, op, inverted, args
        )
        return stock_operation.convert_looped(
            items, convert_turn, condition.get('multiple') == 'all'
        )

    def _turn_of_condition(
        self, op: str, inverted: bool, args: Operation, item: typing.Any
    ) -> Operation | bool:
        """Convert a condition with a loop for one item of it."""
        # In a loop stock Ironic fills in all arguments, and makes text of
        # them.
        read = _with_texts(op, _read_turn(args, item), always=True)
        return stock_condition.convert(op, inverted, read, self)

    def _filled_arguments(self, op: str) -> tuple[str, ...]:
        """Return the arguments that stock Ironic fills in outside of loops."""
        if op not in _COMPARISONS:
            return 'value', 'address', 'subnet'
        if self._fills_values:
            return ('values',)
        return ()

    def actions(
        self, actions: Iterable[typing.Any], existing: set[str]
    ) -> Iterator[Operation]:
        """Convert actions, and yield those that do something.

        One that cannot be converted is left out, and noted as lost.

        :param existing: fields that exist where the conditions hold.
        """
        for index, action in enumerate(actions):
            self.pointer = f'/actions/{index}'
            try:
                yield from self._action(action, existing)
            except rule.Inconvertible as exc:
                self.lose(str(exc))
            except stock_condition.Fails as exc:
                self.lose(
                    _(
                        'stock Ironic fails the inspection here: %s; '
                        'the action is left out'
                    )
                    % exc
                )

    def _action(
        self, action: Operation, existing: set[str]
    ) -> list[Operation]:
        """Convert one action; of a loop there may be several.

        :param existing: fields that exist where the conditions hold.
        :returns: the new actions; none where it does nothing.
        """
        _check(action, stock_form.ACTIONS)
        op = action['op']
        args = stock_form.by_name(action['args'], stock_form.ACTIONS[op])
        # Stock Ironic writes it into the rules that it stores.
        args.pop('plugin_data', None)
        loop = action.get('loop')
        if loop:
            convert_turn = functools.partial(
                self._turn_of_action, op, args, existing
            )
            return stock_operation.actions(_items(loop), convert_turn)
        # Outside of loops stock Ironic fills in one argument.
        filled = _FILLED_ARGUMENT.get(op, 'value')
        converted = self._checked_action(
            op, _convert_texts(args, [filled]), existing
        )
        if converted is None:
            return []
        return [converted]

    def _turn_of_action(
        self, op: str, args: Operation, existing: set[str], item: typing.Any
    ) -> Operation | None:
        """Convert an action with a loop for one item of it."""
        return self._checked_action(op, _read_turn(args, item), existing)

    def _checked_action(
        self, op: str, args: Operation, existing: set[str]
    ) -> Operation | None:
        """Convert an action without a loop, None if it does nothing.

        What is converted is checked as an action of a new rule would be, but
        not of an early one: stock Ironic never runs that phase.

        :raises: :class:`.rule.Inconvertible` for what no rule here may have,
            :class:`.stock_condition.Fails` where stock Ironic fails every
            inspection.
        """
        converted = stock_operation.convert(op, args, existing, self)
        if converted is None:
            return None
        for problem in operation_check.check_action(
            converted, self._ops, early=False
        ):
            raise rule.Inconvertible(problem.sentence)
        return converted


def convert(
    fields: Fields, ops: registry.Registry, fills_values: bool = True
) -> rule.Conversion:
    """Convert a rule of stock Ironic to one that does the same here.

    A rule that never did anything there, such as one with a condition that
    never holds, is switched off and keeps its operations as they are.

    :param fields: of the rule, as stock Ironic stores or reads it.
    :param fills_values: whether the Ironic that runs it fills in fields in
        the values of ``eq``, ``lt`` and ``gt``, as the newest one does.
    :returns: the new rule with hints, differences and what is lost. There is
        no new rule where stock Ironic does not take the rule, or this language
        cannot say one of its conditions.
    """
    converter = _StockConverter(ops, fills_values)
    converted = _convert_fields(fields, converter)
    hints_on_fields = list(converter.hints)
    try:
        operations = {
            name: _written_operations(fields, name, converter)
            for name in _KEYS
        }
        conditions = list(converter.conditions(operations['conditions']))
        existing = {
            field
            for condition in conditions
            for field in stock_condition.needed(condition)
        }
        lost_before_actions = len(converter.lost)
        actions = list(converter.actions(operations['actions'], existing))
    except rule.Inconvertible as exc:
        # An action that cannot be converted is left out. Without one of its
        # conditions the rule would run on more machines.
        return converter.refuse(str(exc))
    except _Malformed as exc:
        return converter.refuse(
            _('stock Ironic does not take this rule: %s') % exc
        )
    except (KeyError, TypeError, AttributeError):
        # Nothing has checked the arguments, which are read in many places.
        return converter.refuse(
            _(
                'stock Ironic does not take this rule: an argument '
                'is missing, or is no value that it takes'
            )
        )
    converter.pointer = ''
    are_actions_lost = len(converter.lost) > lost_before_actions
    if converter.reasons_for_off:
        # The actions stay as they are written, and nobody carries them out.
        del converter.lost[lost_before_actions:]
    elif not actions:
        converter.switch_off_without_actions(are_actions_lost)
    if converter.reasons_for_off:
        converter.forget_operations(hints_on_fields)
        converted['mode'] = model.OFF
        converted.update(operations)
    else:
        converted.update(conditions=conditions, actions=actions)
    converter.finish(converted)
    return converter


def _items(loop: typing.Any) -> list[typing.Any]:
    """Return the items of a loop; a mapping is a single item."""
    if isinstance(loop, dict):
        return [loop]
    items: list[typing.Any] = loop
    return items


def _check(operation: typing.Any, ops: typing.Container[str]) -> None:
    """Check that an operation has the form and an op of stock Ironic.

    Its arguments are not looked at.

    :param ops: the ops that may be there: those of conditions or actions.
    :raises: :class:`_Malformed` if stock Ironic does not take the operation.
    """
    if not isinstance(operation, dict):
        raise _Malformed(_('an operation is a mapping with "op" and "args"'))
    for key, kinds in (('op', str), ('args', dict | list)):
        if key not in operation:
            raise _Malformed(_('"%s" is missing') % key)
        if not isinstance(operation[key], kinds):
            raise _Malformed(
                _('an operation is a mapping with "op" and "args"')
            )
    name = operation['op']
    if ops is stock_form.CONDITIONS:
        # A condition may be inverted, as "!eq".
        name, _inverted = model.split_op(name)
    if name not in ops:
        raise _Malformed(
            suggestion.unknown(
                _('op'), name, [*stock_form.ACTIONS, *stock_form.CONDITIONS]
            )
        )


def _convert_fields(fields: Fields, converter: _StockConverter) -> Operation:
    """Convert the fields of a rule except for its conditions and actions.

    What has no effect in stock Ironic, such as a scope, is dropped with a
    hint. A phase that it never runs is a reason to switch the rule off.

    :param converter: of the rule, which gets the hints and that reason.
    :returns: the fields of the new rule.
    """
    converted = {
        name: fields.get(name)
        for name in ('uuid', 'description', 'priority', 'phase')
    }
    converted['sensitive'] = strutils.bool_from_string(fields.get('sensitive'))
    unknown = sorted(str(name) for name in set(fields) - _FIELDS)
    if unknown:
        converter.hint(
            _('%s had no effect and is dropped') % ', '.join(unknown)
        )
    uuid_or_name = fields.get('uuid')
    if uuid_or_name is not None:
        converted['uuid'] = stock_form.uuid_of(uuid_or_name)
        if converted['uuid'] != uuid_or_name:
            converter.hint(_('"%s" becomes its UUID') % uuid_or_name)
    if fields.get('scope'):
        converter.hint(
            _(
                'the scope "%s" had no effect and is dropped: the '
                'rule runs on all nodes'
            )
            % fields['scope']
        )
    phase = fields.get('phase') or model.MAIN
    if phase != model.MAIN:
        converter.switch_off(
            _(
                'stock Ironic never runs the phase "%s", so the '
                'rule is switched off'
            )
            % phase
        )
        if phase not in model.PHASES:
            # A rule of an unknown phase could not be stored.
            phase = model.MAIN
        converted['phase'] = phase
    return converted


def _written_operations(
    fields: Fields, name: str, converter: _StockConverter
) -> list[typing.Any]:
    """Return the conditions or the actions of a rule as they are written.

    Keys that stock Ironic does not look at are left out, with hints.

    :param name: ``conditions`` or ``actions``.
    :raises: :class:`_Malformed` if they are no list.
    """
    operations = fields.get(name) or []
    if not isinstance(operations, list):
        raise _Malformed(_('%s must be a list') % name)
    return [
        _without_unknown(operation, name, converter)
        for operation in operations
    ]


def _without_unknown(
    operation: typing.Any, where: str, converter: _StockConverter
) -> typing.Any:
    """Return an operation without the keys that stock Ironic ignores.

    :param where: ``conditions`` or ``actions``.
    :param converter: gets a hint that names the keys.
    """
    if not isinstance(operation, dict):
        return operation
    unknown = sorted(set(operation) - _KEYS[where])
    if unknown:
        converter.hint(
            _(
                '%(keys)s beside the arguments of "%(op)s" had no '
                'effect and is dropped'
            )
            % {'keys': ', '.join(unknown), 'op': operation.get('op')}
        )
    kept = {
        key: value
        for key, value in operation.items()
        if key in _KEYS[where] and value is not None
    }
    if isinstance(kept.get('args'), dict):
        # Stock Ironic itself adds "plugin_data" to rules that it stores.
        kept['args'] = {
            name: value
            for name, value in kept['args'].items()
            if name != 'plugin_data'
        }
    return kept


def _convert_texts(args: Operation, filled: Iterable[str]) -> Operation:
    """Return arguments with their texts read as stock Ironic reads them.

    :param filled: names of the arguments in which stock Ironic fills in
        fields; the others stay as they are.
    """
    converted = dict(args)
    for name in args.keys() & set(filled):
        converted[name] = data_path.replace_texts(
            args[name], stock_text.read, keys=True
        )
    return converted


def _read_turn(args: Operation, item: typing.Any) -> Operation:
    """Return the arguments as stock Ironic has them for an item of a loop."""
    return {
        name: stock_text.read_turn(value, item) for name, value in args.items()
    }


def _with_texts(op: str, args: Operation, always: bool = False) -> Operation:
    """Return the arguments of a condition with compared values made text.

    Stock Ironic makes text of them where ``force_strings`` is set, and in
    loops. This language has no such argument: it is taken out of ``args``.

    :param always: whether stock Ironic does it without ``force_strings``.
    :raises: :class:`.rule.Inconvertible` if it would make text of a list or a
        mapping with fields.
    """
    if op not in _COMPARISONS:
        return args
    force = args.pop('force_strings', False) or always
    values = args['values']
    if not force or not isinstance(values, list):
        return args
    texts: list[str | stock_text.StockText] = []
    for value in values:
        if isinstance(value, list | dict):
            if _may_have_fields(value):
                raise rule.Inconvertible(
                    _(
                        'a list or mapping with fields cannot be compared as '
                        'text'
                    )
                )
            text = str(stock_text.plain(value))
            # Marked as text without fields: the braces of a mapping, which
            # is text now, begin none.
            texts.append(stock_text.StockText(rule.escape(text), text))
        elif isinstance(value, str | stock_text.StockText):
            texts.append(value)
        else:
            texts.append(str(value))
    return {**args, 'values': texts}


def _may_have_fields(value: typing.Any) -> bool:
    """Return whether any text in a value has a field.

    :param value: with :class:`.stock_text.StockText` for texts that are read;
        in other text any brace counts as the beginning of a field.
    """
    if isinstance(value, list):
        return any(map(_may_have_fields, value))
    if isinstance(value, dict):
        return any(map(_may_have_fields, [*value.keys(), *value.values()]))
    if isinstance(value, stock_text.StockText):
        return bool(value.fields)
    return isinstance(value, str) and '{' in value
