# SPDX-License-Identifier: Apache-2.0

"""Convert rules of stock Ironic to equivalent rules of this language.

Stock Ironic is Ironic without this project. "Here" means this language. An
operation is a condition or an action. Stock Ironic formats some arguments of
operations as text with fields; this is called filling in. What is lost or
differs is recorded in a :class:`.rule.Conversion`, which the operator sees.
"""

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
"""Differences from stock Ironic that apply to every rule."""

_KNOWN_FIELDS = frozenset(
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
_KNOWN_KEYS = {
    'conditions': frozenset({'op', 'args', 'loop', 'multiple'}),
    'actions': frozenset({'op', 'args', 'loop'}),
}

_COMPARISONS = ('eq', 'lt', 'gt')

_FILLED_ARGUMENT_OF_ACTION = {'log': 'msg', 'api-call': 'url'}
"""The argument in which stock Ironic fills in fields, by the action. It is
``value`` for all other actions."""


class _Malformed(Exception):
    """Stock Ironic refuses the rule; the message says why."""


class _StockConverter(rule.Conversion):
    """Convert a rule of stock Ironic, and record what is lost or differs.

    A rule that never worked as written is switched off instead of skipped, so
    that the operator sees the rule and the reason.

    :ivar reasons_for_off: why the rule never worked as written; empty if the
        rule is not switched off.
    :ivar earlier_failures: the failures recorded before the first of these
        reasons.
    :param ops: the ops that the new rule may use.
    :param fills_values: whether stock Ironic fills in fields in the values of
        comparisons such as ``eq``, outside of loops.
    """

    def __init__(self, ops: registry.Registry, fills_values: bool) -> None:
        super().__init__()
        self._ops = ops
        self._fills_values = fills_values
        self.reasons_for_off: list[rule.Problem] = []
        self.earlier_failures: list[rule.Problem] = []

    def switch_off(self, message: str) -> None:
        """Record why the rule never worked as written, and is switched off."""
        if not self.reasons_for_off:
            self.earlier_failures = list(self.failures)
        self.reasons_for_off.append(rule.Problem(self.pointer, message))

    def switch_off_without_actions(self) -> None:
        """Switch the rule off because no action is left.

        Either some actions could not be converted, or none does anything.
        """
        if any(map(_is_about_action, self.lost)):
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

    def forget_losses_of_actions(self) -> None:
        """Drop what is lost of actions, which are kept as they are written."""
        self.lost = [
            problem for problem in self.lost if not _is_about_action(problem)
        ]

    def forget_operations(self, hints_on_fields: list[rule.Problem]) -> None:
        """Drop the notes about operations of a rule that is switched off.

        The operations are kept as they are written. Earlier failures are kept,
        because stock Ironic still checks the conditions before a condition
        that never holds.

        :param hints_on_fields: the hints that are not about operations.
        """
        self.hints = [
            *hints_on_fields,
            *self.earlier_failures,
            *self.reasons_for_off,
        ]
        self.differences = list(self.earlier_failures)
        self.failures = list(self.earlier_failures)

    def refuse(self, message: str) -> rule.Conversion:
        """Give up on the rule, and record the message as lost.

        :returns: this converter, without a new rule and without hints.
        """
        self.hints.clear()
        self.differences.clear()
        self.failures.clear()
        self.record_loss(message)
        return self

    def finish(self, fields: Operation) -> None:
        """Set the new rule, or record why its fields are invalid here.

        :param fields: the fields of the new rule, by name.
        """
        problems = validation.validate(fields, self._ops)
        if not problems:
            self.rule = {
                name: value for name, value in fields.items() if value
            }
            return
        for problem in problems:
            self.pointer = problem.pointer
            self.record_loss(problem.sentence)
        # There is no new rule that could be switched off.
        self.hints = [
            hint for hint in self.hints if hint not in self.reasons_for_off
        ]

    def convert_conditions(
        self, conditions: Iterable[typing.Any]
    ) -> Iterator[Operation]:
        """Convert conditions, and yield those that depend on the machine.

        A condition that always holds is dropped with a hint. A condition that
        never holds, or that fails every inspection, switches the rule off.

        :raises: :class:`.rule.Inconvertible` if this language cannot express a
            condition.
        """
        for index, condition in enumerate(conditions):
            self.pointer = f'/conditions/{index}'
            try:
                converted = self._convert_condition(condition)
            except stock_condition.Fails as exc:
                self.record_loss(
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
                self.record_hint(
                    _('this always holds in stock Ironic and is left out')
                )
            else:
                yield converted

    def _convert_condition(self, condition: Operation) -> Operation | bool:
        """Convert one condition, which may have a loop.

        In stock Ironic, the loop decides in which arguments fields are filled
        in: in all of them inside a loop, and only in some of them outside.

        :returns: the new condition; a boolean if the old condition has this
            result on every machine.
        """
        _check_form(condition)
        # A condition may be inverted, e.g. "!eq".
        op, inverted = model.split_op(condition['op'])
        _check_op(op, stock_form.CONDITIONS)
        args = stock_form.arguments_by_name(
            condition['args'], stock_form.CONDITIONS[op]
        )
        loop = condition.get('loop')
        if not loop:
            new_args = _read_texts(
                _force_strings(op, args), self._list_filled_arguments(op)
            )
            return stock_condition.convert(op, inverted, new_args, self)
        items = _list_items(loop)
        # "last" only checks the last item. "first" means "any" in stock
        # Ironic.
        if condition.get('multiple') == 'last':
            items = items[-1:]
        convert_for_item = functools.partial(
            self._convert_condition_for_item, op, inverted, args
        )
        needs_all = condition.get('multiple') == 'all'
        return stock_operation.convert_looped_condition(
            items, convert_for_item, needs_all=needs_all
        )

    def _list_filled_arguments(self, op: str) -> list[str]:
        """Return the arguments of a condition that stock Ironic formats.

        This only holds outside of loops.
        """
        if op not in _COMPARISONS:
            return ['value', 'address', 'subnet']
        if self._fills_values:
            return ['values']
        return []

    def _convert_condition_for_item(
        self, op: str, inverted: bool, args: Operation, item: typing.Any
    ) -> Operation | bool:
        """Convert a condition with a loop for one item of the loop."""
        # In a loop, stock Ironic fills in fields in all arguments, and
        # converts them to text.
        filled_args = _read_texts_for_item(args, item)
        new_args = _force_strings(op, filled_args, always=True)
        return stock_condition.convert(op, inverted, new_args, self)

    def convert_actions(
        self, actions: Iterable[typing.Any], existing: set[str]
    ) -> Iterator[Operation]:
        """Convert actions, and yield those that do something.

        An action that cannot be converted is recorded as lost.

        :param existing: fields that exist if the conditions hold.
        """
        for index, action in enumerate(actions):
            self.pointer = f'/actions/{index}'
            try:
                yield from self._convert_action(action, existing)
            except rule.Inconvertible as exc:
                self.record_loss(str(exc))
            except stock_condition.Fails as exc:
                self.record_loss(
                    _(
                        'stock Ironic fails the inspection here: %s; '
                        'the action is left out'
                    )
                    % exc
                )

    def _convert_action(
        self, action: Operation, existing: set[str]
    ) -> list[Operation]:
        """Convert an action; a loop may become several actions.

        :param existing: fields that exist if the conditions hold.
        :returns: the new actions; none if stock Ironic does nothing.
        """
        _check_form(action)
        op = action['op']
        _check_op(op, stock_form.ACTIONS)
        args = stock_form.arguments_by_name(
            action['args'], stock_form.ACTIONS[op]
        )
        # Stock Ironic adds this argument to the rules that it stores.
        args.pop('plugin_data', None)
        loop = action.get('loop')
        if loop:
            convert_for_item = functools.partial(
                self._convert_action_for_item, op, args, existing
            )
            return stock_operation.convert_looped_action(
                _list_items(loop), convert_for_item
            )
        # Outside of loops, stock Ironic fills in fields in only one argument,
        # e.g. the message of "log".
        filled = _FILLED_ARGUMENT_OF_ACTION.get(op, 'value')
        converted = self._convert_checked_action(
            op, _read_texts(args, [filled]), existing
        )
        if converted is None:
            return []
        return [converted]

    def _convert_action_for_item(
        self, op: str, args: Operation, existing: set[str], item: typing.Any
    ) -> Operation | None:
        """Convert an action with a loop for one item of the loop."""
        return self._convert_checked_action(
            op, _read_texts_for_item(args, item), existing
        )

    def _convert_checked_action(
        self, op: str, args: Operation, existing: set[str]
    ) -> Operation | None:
        """Convert an action without a loop; None if it does nothing.

        The new action is checked in the same way as by validation.

        :raises: :class:`.rule.Inconvertible` if no rule of this language may
            have the action.
        :raises: :class:`.stock_condition.Fails` if stock Ironic fails every
            inspection.
        """
        converted = stock_operation.convert(op, args, existing, self)
        if converted is None:
            return None
        # Stock Ironic never runs the early phase.
        for problem in operation_check.check_action(
            converted, self._ops, early=False
        ):
            raise rule.Inconvertible(problem.sentence)
        return converted


def convert(
    fields: Fields, ops: registry.Registry, fills_values: bool = True
) -> rule.Conversion:
    """Convert a rule of stock Ironic to an equivalent rule of this language.

    The new rule is switched off if the rule never did anything, e.g. because a
    condition never holds, or if none of its actions can be converted. It then
    keeps its operations as they are written, except for keys without effect.

    There is no new rule if stock Ironic refuses the rule, if this language
    cannot express one of its conditions, or if its fields are invalid here.

    :param fields: the fields of the rule, as stock Ironic stores or reads it.
    :param fills_values: whether the Ironic that runs the rule fills in fields
        in the values of ``eq``, ``lt`` and ``gt``, as the newest release does.
    :returns: the new rule or None, with hints, differences and what is lost.
    """
    converter = _StockConverter(ops, fills_values)
    converted = _convert_fields(fields, converter)
    hints_on_fields = list(converter.hints)
    try:
        # The conditions and actions, without keys that stock Ironic ignores.
        written = {
            name: _list_written_operations(fields, name, converter)
            for name in _KNOWN_KEYS
        }
        conditions = list(converter.convert_conditions(written['conditions']))
        # The fields that exist on all machines on which the rule acts.
        existing: set[str] = set()
        for condition in conditions:
            existing.update(stock_condition.list_fields_needed(condition))
        actions = list(converter.convert_actions(written['actions'], existing))
    except rule.Inconvertible as exc:
        # An action that cannot be converted is dropped, but without one of its
        # conditions the rule would run on more machines.
        return converter.refuse(str(exc))
    except _Malformed as exc:
        return converter.refuse(
            _('stock Ironic does not take this rule: %s') % exc
        )
    except (KeyError, TypeError, AttributeError):
        # The arguments have not been checked, and are read in many places.
        return converter.refuse(
            _(
                'stock Ironic does not take this rule: an argument '
                'is missing, or is no value that it takes'
            )
        )
    converter.pointer = ''
    if converter.reasons_for_off:
        # The actions are never carried out.
        converter.forget_losses_of_actions()
    elif not actions:
        converter.switch_off_without_actions()
    if converter.reasons_for_off:
        converter.forget_operations(hints_on_fields)
        converted['mode'] = model.OFF
        converted.update(written)
    else:
        converted.update(conditions=conditions, actions=actions)
    converter.finish(converted)
    return converter


def _is_about_action(problem: rule.Problem) -> bool:
    """Return whether a problem is at an action, e.g. at ``/actions/0``."""
    return problem.pointer.startswith('/actions/')


def _list_items(loop: typing.Any) -> list[typing.Any]:
    """Return the items of a loop; a mapping is a single item."""
    if isinstance(loop, dict):
        return [loop]
    items: list[typing.Any] = loop
    return items


def _check_form(operation: typing.Any) -> None:
    """Check that stock Ironic accepts the form of an operation.

    It must have an op, and a list or mapping of arguments.

    :raises: :class:`_Malformed` if stock Ironic refuses the operation.
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


def _check_op(op: str, known: typing.Container[str]) -> None:
    """Check that stock Ironic has an op.

    :param known: the ops that are allowed: those of conditions or of actions.
    :raises: :class:`_Malformed` if the op is not one of them.
    """
    if op not in known:
        raise _Malformed(
            suggestion.unknown_message(
                _('op'), op, [*stock_form.ACTIONS, *stock_form.CONDITIONS]
            )
        )


def _convert_fields(fields: Fields, converter: _StockConverter) -> Operation:
    """Convert the fields of a rule except its conditions and actions.

    A field without effect in stock Ironic, e.g. a scope, is dropped with a
    hint. A phase that stock Ironic never runs switches the rule off.

    :param converter: the converter of the rule, to which the hints are added.
    :returns: the fields of the new rule.
    """
    converted = {
        name: fields.get(name)
        for name in ('uuid', 'description', 'priority', 'phase')
    }
    converted['sensitive'] = strutils.bool_from_string(fields.get('sensitive'))
    unknown = sorted(str(name) for name in set(fields) - _KNOWN_FIELDS)
    if unknown:
        converter.record_hint(
            _('%s had no effect and is dropped') % ', '.join(unknown)
        )
    uuid_or_name = fields.get('uuid')
    if uuid_or_name is not None:
        converted['uuid'] = stock_form.uuid_of(uuid_or_name)
        if converted['uuid'] != uuid_or_name:
            converter.record_hint(_('"%s" becomes its UUID') % uuid_or_name)
    if fields.get('scope'):
        converter.record_hint(
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
        # A rule with an unknown phase could not be stored.
        converted['phase'] = model.MAIN
    return converted


def _list_written_operations(
    fields: Fields, name: str, converter: _StockConverter
) -> list[typing.Any]:
    """Return the conditions or the actions of a rule as they are written.

    Keys that stock Ironic ignores are dropped with hints.

    :param name: ``conditions`` or ``actions``.
    :raises: :class:`_Malformed` if they are not a list.
    """
    operations = fields.get(name) or []
    if not isinstance(operations, list):
        raise _Malformed(_('%s must be a list') % name)
    return [
        _drop_unknown_keys(operation, name, converter)
        for operation in operations
    ]


def _drop_unknown_keys(
    operation: typing.Any, where: str, converter: _StockConverter
) -> typing.Any:
    """Return an operation without the keys that stock Ironic ignores.

    :param where: ``conditions`` or ``actions``.
    :param converter: the converter to which a hint with the keys is added.
    """
    if not isinstance(operation, dict):
        return operation
    unknown = sorted(set(operation) - _KNOWN_KEYS[where])
    if unknown:
        converter.record_hint(
            _(
                '%(keys)s beside the arguments of "%(op)s" had no '
                'effect and is dropped'
            )
            % {'keys': ', '.join(unknown), 'op': operation.get('op')}
        )
    kept = {
        key: value
        for key, value in operation.items()
        if key in _KNOWN_KEYS[where] and value is not None
    }
    if isinstance(kept.get('args'), dict):
        # Stock Ironic itself adds "plugin_data" to the rules that it stores.
        kept['args'] = {
            name: value
            for name, value in kept['args'].items()
            if name != 'plugin_data'
        }
    return kept


def _read_texts(args: Operation, filled: Iterable[str]) -> Operation:
    """Convert texts in arguments to :class:`.stock_text.StockText`.

    :param filled: the names of the arguments in which stock Ironic fills in
        fields; other arguments are unchanged.
    """
    converted = dict(args)
    for name in args.keys() & set(filled):
        converted[name] = data_path.replace_texts(
            args[name], stock_text.read, keys=True
        )
    return converted


def _read_texts_for_item(args: Operation, item: typing.Any) -> Operation:
    """Convert the texts in arguments for an item of a loop.

    For the item ``a``, ``{'path': '/extra/{item}'}`` has the path
    ``/extra/a``, as a :class:`.stock_text.StockText`.
    """
    return {
        name: stock_text.read_for_item(value, item)
        for name, value in args.items()
    }


def _force_strings(
    op: str, args: Operation, always: bool = False
) -> Operation:
    """Convert compared values to text, as ``force_strings`` does: 8 to "8".

    Stock Ironic also does this in loops.

    :param always: whether to convert even without ``force_strings``.
    :returns: the arguments without ``force_strings``.
    :raises: :class:`.rule.Inconvertible` if a list or a mapping with fields
        would become text.
    """
    if op not in _COMPARISONS:
        return args
    converted = dict(args)
    is_forced = converted.pop('force_strings', False)
    values = converted['values']
    become_text = always or is_forced
    if become_text and isinstance(values, list):
        converted['values'] = [_make_text(value) for value in values]
    return converted


def _make_text(value: typing.Any) -> str | stock_text.StockText:
    """Convert a compared value to text, as ``str`` does.

    :raises: :class:`.rule.Inconvertible` for a list or a mapping with fields.
    """
    if isinstance(value, str | stock_text.StockText):
        return value
    if not isinstance(value, list | dict):
        return str(value)
    if _may_have_fields(value):
        raise rule.Inconvertible(
            _('a list or mapping with fields cannot be compared as text')
        )
    # The braces of a mapping do not begin a field, so the text has none.
    text = str(stock_text.make_plain(value))
    return stock_text.StockText(rule.escape(text), literal=text)


def _may_have_fields(value: typing.Any) -> bool:
    """Return whether any text in a value may have a field.

    :param value: a value with :class:`.stock_text.StockText` for texts that
        have been read. In any other text, every brace counts as the start of a
        field.
    """
    if isinstance(value, list):
        return any(map(_may_have_fields, value))
    if isinstance(value, dict):
        return any(map(_may_have_fields, [*value.keys(), *value.values()]))
    if isinstance(value, stock_text.StockText):
        return bool(value.fields)
    return isinstance(value, str) and '{' in value
