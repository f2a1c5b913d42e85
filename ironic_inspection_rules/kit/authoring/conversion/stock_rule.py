# SPDX-License-Identifier: Apache-2.0

"""Rules of stock Ironic as rules that do the same here."""

from collections.abc import Iterable, Iterator
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
    """Converts one rule.

    :ivar reasons: why the rule never did what it says.
    :ivar earlier_failures: the failures before the first of the reasons.
    """

    def __init__(self, ops: registry.Registry, fills_values: bool) -> None:
        super().__init__()
        self._ops = ops
        self._fills_values = fills_values
        self.reasons: list[rule.Problem] = []
        self.earlier_failures: list[rule.Problem] = []

    def never(self, message: str) -> None:
        """Note that the rule never did what it says."""
        if not self.reasons:
            self.earlier_failures = list(self.failures)
        self.reasons.append(rule.Problem(self.pointer, message))

    def refuse(self, message: str) -> rule.Conversion:
        """Return the conversion of a rule of which nothing is left."""
        self.hints.clear()
        self.differences.clear()
        self.lose(message)
        return self

    def conditions(
        self, conditions: Iterable[typing.Any]
    ) -> Iterator[Operation]:
        """Convert conditions; those that always hold are left out."""
        for index, condition in enumerate(conditions):
            self.pointer = f'/conditions/{index}'
            try:
                converted = self._condition(condition)
            except stock_condition.Fails as exc:
                self.lose(
                    _('stock Ironic fails each inspection here: %s') % exc
                )
                self.never(
                    _('the rule is switched off and left as it is written')
                )
                continue
            if converted is False:
                self.never(
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
        """Convert one condition.

        :returns: a truth value where it has always the same result.
        """
        _check(condition, stock_form.CONDITIONS)
        op, inverted = model.split_op(condition['op'])
        args = stock_form.by_name(condition['args'], stock_form.CONDITIONS[op])
        loop = condition.get('loop')
        if not loop:
            read = _read(_forced(op, args), self._filled_arguments(op))
            return stock_condition.convert(op, inverted, read, self)
        items = _items(loop)
        # "first" is "any" there: the first item for which it holds decides.
        if condition.get('multiple') == 'last':
            items = items[-1:]

        def convert_turn(item: typing.Any) -> Operation | bool:
            # In loops stock Ironic fills in, and makes text of, all of them.
            read = _forced(op, _read_turn(args, item), always=True)
            return stock_condition.convert(op, inverted, read, self)

        return stock_operation.conditions(
            items, convert_turn, condition.get('multiple') == 'all'
        )

    def _filled_arguments(self, op: str) -> tuple[str, ...]:
        """Return the arguments that stock Ironic fills in outside of loops."""
        if op not in _COMPARISONS:
            return 'value', 'address', 'subnet'
        if self._fills_values:
            return ('values',)
        return ()

    def actions(
        self, actions: Iterable[typing.Any], there: set[str]
    ) -> Iterator[Operation]:
        """Convert actions.

        :param there: fields that exist where the conditions hold.
        """
        for index, action in enumerate(actions):
            self.pointer = f'/actions/{index}'
            try:
                yield from self._action(action, there)
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

    def _action(self, action: Operation, there: set[str]) -> list[Operation]:
        """Convert one action; a loop may become several."""
        _check(action, stock_form.ACTIONS)
        op = action['op']
        args = stock_form.by_name(action['args'], stock_form.ACTIONS[op])
        args.pop('plugin_data', None)

        def convert_turn(item: typing.Any) -> Operation | None:
            return self._checked_action(op, _read_turn(args, item), there)

        loop = action.get('loop')
        if loop:
            return stock_operation.actions(_items(loop), convert_turn)
        # Outside of loops stock Ironic fills in one argument.
        filled = _FILLED_ARGUMENT.get(op, 'value')
        converted = self._checked_action(op, _read(args, [filled]), there)
        if converted is None:
            return []
        return [converted]

    def _checked_action(
        self, op: str, args: Operation, there: set[str]
    ) -> Operation | None:
        """Convert an action without a loop, None if it does nothing.

        :raises: :class:`.rule.Inconvertible` for what no rule here may have.
        """
        converted = stock_operation.convert(op, args, there, self)
        if converted is None:
            return None
        for problem in operation_check.check_action(
            converted, self._ops, False
        ):
            raise rule.Inconvertible(problem.sentence)
        return converted


def convert(
    fields: Fields, ops: registry.Registry, fills_values: bool = True
) -> rule.Conversion:
    """Convert a rule.

    :param fields: of the rule, as stock Ironic stores or reads it.
    :param fills_values: whether the Ironic that runs it fills in fields in
        the values of ``eq``, ``lt`` and ``gt``, as the newest one does.
    :returns: with the rule, if it can be one here, and what differs.
    """
    converter = _StockConverter(ops, fills_values)
    converted = _convert_fields(fields, converter)
    hints_on_fields = list(converter.hints)
    for name in _KEYS:
        if not isinstance(fields.get(name) or [], list):
            return converter.refuse(
                _('stock Ironic does not take this rule: %s must be a list')
                % name
            )
    written = {
        name: [
            _without_unknown(operation, name, converter)
            for operation in fields.get(name) or ()
        ]
        for name in _KEYS
    }
    try:
        conditions = list(converter.conditions(written['conditions']))
        existing = {
            field
            for condition in conditions
            for field in stock_condition.needed(condition)
        }
        lost_before_actions = len(converter.lost)
        actions = list(converter.actions(written['actions'], existing))
    except rule.Inconvertible as exc:
        # Without one of its conditions it would run on more machines.
        return converter.refuse(str(exc))
    except _Malformed as exc:
        return converter.refuse(
            _('stock Ironic does not take this rule: %s') % exc
        )
    except (KeyError, TypeError, AttributeError):
        # The arguments are those of a stranger, and read in many places.
        return converter.refuse(
            _(
                'stock Ironic does not take this rule: an argument '
                'is missing, or is no value that it takes'
            )
        )
    converter.pointer = ''
    if converter.reasons:
        # The actions stay as they are written, and nobody carries them out.
        del converter.lost[lost_before_actions:]
    elif not actions and len(converter.lost) > lost_before_actions:
        converter.never(
            _(
                'none of its actions can be kept, so it is switched off and '
                'left as it is written'
            )
        )
    elif not actions:
        converter.never(
            _(
                'nothing of it does anything in stock Ironic, so it is '
                'switched off and left as it is written'
            )
        )
    if converter.reasons:
        # Stock Ironic checks the conditions up to the one that never holds.
        failures = converter.earlier_failures
        converter.hints = [*hints_on_fields, *failures, *converter.reasons]
        converter.differences = failures
        converted['mode'] = model.OFF
        converted.update(written)
    else:
        converted.update(conditions=conditions, actions=actions)
    problems = validation.validate(converted, ops)
    for problem in problems:
        converter.pointer = problem.pointer
        converter.lose(problem.sentence)
    if problems:
        # Nor can it be a rule that is switched off.
        converter.hints = [
            hint for hint in converter.hints if hint not in converter.reasons
        ]
    else:
        converter.rule = {
            name: value for name, value in converted.items() if value
        }
    return converter


def _items(loop: typing.Any) -> list[typing.Any]:
    """Return the items of a loop; a mapping is a single one."""
    if isinstance(loop, dict):
        return [loop]
    items: list[typing.Any] = loop
    return items


def _check(operation: typing.Any, known: typing.Container[str]) -> None:
    """Check that an operation is one that stock Ironic takes.

    Its arguments are not looked at.

    :param known: the ops that may be there.
    :raises: :class:`_Malformed` if it is not.
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
    if known is stock_form.CONDITIONS:
        name, _inverted = model.split_op(name)
    if name not in known:
        raise _Malformed(
            suggestion.unknown(
                _('op'), name, [*stock_form.ACTIONS, *stock_form.CONDITIONS]
            )
        )


def _convert_fields(fields: Fields, converter: _StockConverter) -> Operation:
    """Convert the fields of a rule but its conditions and actions."""
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
    name = fields.get('uuid')
    if name is not None:
        converted['uuid'] = stock_form.uuid_of(name)
        if converted['uuid'] != name:
            converter.hint(_('"%s" becomes its UUID') % name)
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
        converter.never(
            _(
                'stock Ironic never runs the phase "%s", so the '
                'rule is switched off'
            )
            % phase
        )
        converted['phase'] = model.MAIN
        if phase in model.PHASES:
            converted['phase'] = phase
    return converted


def _without_unknown(
    operation: typing.Any, where: str, converter: _StockConverter
) -> typing.Any:
    """Leave out the keys that stock Ironic stores and never looks at.

    :param where: ``conditions`` or ``actions``.
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
    known = {
        key: value
        for key, value in operation.items()
        if key in _KEYS[where] and value is not None
    }
    if isinstance(known.get('args'), dict):
        # Stock Ironic writes it into the rules that it stores.
        known['args'] = {
            name: value
            for name, value in known['args'].items()
            if name != 'plugin_data'
        }
    return known


def _read(args: Operation, filled: Iterable[str]) -> Operation:
    """Read the arguments of an operation without a loop.

    :param filled: names of the arguments that stock Ironic formats.
    """
    read = dict(args)
    for name in args.keys() & set(filled):
        read[name] = data_path.replace_texts(
            args[name], stock_text.read, keys=True
        )
    return read


def _read_turn(args: Operation, item: typing.Any) -> Operation:
    """Read the arguments of an operation for one item of its loop."""
    return {
        name: stock_text.read_turn(value, item) for name, value in args.items()
    }


def _forced(op: str, args: Operation, always: bool = False) -> Operation:
    """Make text of compared values where stock Ironic does.

    :param args: of which ``force_strings`` is taken out: its work is done.
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
    texts = []
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
            # Read here already: braces of a mapping begin no field.
            value = stock_text.StockText(rule.escape(text), text)
        elif not isinstance(value, str | stock_text.StockText):
            value = str(value)
        texts.append(value)
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
