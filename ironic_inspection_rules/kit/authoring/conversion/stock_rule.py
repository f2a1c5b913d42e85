# SPDX-License-Identifier: Apache-2.0

"""Rules of stock Ironic as rules that do the same here."""

from collections.abc import Iterable, Iterator
import json
import typing
import uuid

from oslo_utils import strutils
from oslo_utils import uuidutils

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import operation_check
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.authoring.conversion import stock_condition
from ironic_inspection_rules.kit.authoring.conversion import stock_operation
from ironic_inspection_rules.kit.authoring.conversion import stock_text
from ironic_inspection_rules.rule_file import stock_form

Fields = typing.Mapping[str, typing.Any]
Operation = dict[str, typing.Any]

IN_GENERAL = (
    _('Other than in stock Ironic, an error in a rule leaves nothing of what '
      'the rules of its phase have changed.'),
    _('Fields become text there, and a missing one stays as it is written: '
      '!s and default(…) keep that.'),
    _('A secret in data that become text, such as a password in a mapping, '
      'is *** there, that of a node as it is; here it is ******, and such '
      'text cannot be written, unless mask_secrets says otherwise.'),
)
"""What differs from stock Ironic in any rule."""

_FIELDS = frozenset({'uuid', 'description', 'priority', 'scope', 'sensitive',
                     'phase', 'conditions', 'actions'})
_KEYS = {'conditions': frozenset({'op', 'args', 'loop', 'multiple'}),
         'actions': frozenset({'op', 'args', 'loop'})}

_COMPARISONS = ('eq', 'lt', 'gt')


def uuid_of(name: typing.Any) -> str:
    """Return the UUID of a rule that may have any text for one."""
    if uuidutils.is_uuid_like(name):
        return str(name)
    return str(uuid.uuid5(stock_form.NAMESPACE, str(name)))


class _Malformed(Exception):
    """Stock Ironic does not take a rule; the message says why."""


class _Converter(rule.Conversion):
    def __init__(self, ops: registry.Registry, fills_values: bool) -> None:
        super().__init__()
        self._ops = ops
        self._fills_values = fills_values
        # Why the rule never did what it says.
        self.reasons: list[rule.Problem] = []

    def never(self, message: str) -> None:
        """Note that the rule never did what it says."""
        self.reasons.append(rule.Problem(self.pointer, message))

    def conditions(self, written: Iterable[typing.Any]) -> Iterator[Operation]:
        """Convert conditions; those that always hold are left out."""
        for index, condition in enumerate(written):
            self.pointer = f'/conditions/{index}'
            try:
                converted = self._condition(condition)
            except stock_condition.Fails as exc:
                self.lose(_('stock Ironic fails each inspection here: %s')
                          % exc)
                self.never(_('the rule is switched off and left as it is '
                             'written'))
                continue
            if converted is False:
                self.never(_('this never holds in stock Ironic, so the rule '
                             'is switched off and left as it is written'))
            elif converted is True:
                self.hint(_('this always holds in stock Ironic and is left '
                            'out'))
            else:
                yield converted

    def _condition(self, written: Operation) -> Operation | bool:
        _check(written, stock_form.CONDITIONS)
        op, inverted = model.split_op(written['op'])
        args = stock_form.by_name(written['args'], stock_form.CONDITIONS[op])
        loop = written.get('loop')
        if not loop:
            filled: tuple[str, ...] = ('value', 'address', 'subnet')
            if op in _COMPARISONS:
                filled = ('values',) if self._fills_values else ()
            return stock_condition.convert(
                op, inverted, _read(_forced(op, args), filled), self)
        turns = [loop] if isinstance(loop, dict) else loop
        if written.get('multiple') == 'last':
            turns = turns[-1:]

        def turn(item: typing.Any) -> Operation | bool:
            return stock_condition.convert(op, inverted, _forced(op, {
                name: stock_text.read_turn(value, item)
                for name, value in args.items()}, True), self)

        return stock_operation.conditions(
            turns, turn, written.get('multiple') == 'all')

    def actions(self, written: Iterable[typing.Any], there: set[str]
                ) -> Iterator[Operation]:
        """Convert actions.

        :param there: fields that exist where the conditions hold.
        """
        for index, action in enumerate(written):
            self.pointer = f'/actions/{index}'
            try:
                yield from self._action(action, there)
            except rule.Inconvertible as exc:
                self.lose(str(exc))
            except stock_condition.Fails as exc:
                self.lose(_('stock Ironic fails the inspection here: %s; '
                            'the action is left out') % exc)

    def _action(self, written: Operation, there: set[str]) -> list[Operation]:
        _check(written, stock_form.ACTIONS)
        op, loop = written['op'], written.get('loop')
        given = stock_form.by_name(written['args'], stock_form.ACTIONS[op])
        given.pop('plugin_data', None)

        def checked(args: Operation) -> Operation | None:
            converted = stock_operation.convert(op, args, there, self)
            problems = list(operation_check.check_action(
                converted, self._ops, False)) if converted else []
            if problems:
                raise rule.Inconvertible(problems[0].sentence)
            return converted

        def turn(item: typing.Any) -> Operation | None:
            return checked({name: stock_text.read_turn(value, item)
                            for name, value in given.items()})

        if loop:
            return stock_operation.actions(
                [loop] if isinstance(loop, dict) else loop, turn)
        # Outside of loops stock Ironic fills in one argument.
        converted = checked(_read(given, [
            {'log': 'msg', 'api-call': 'url'}.get(op, 'value')]))
        return [converted] if converted else []


def convert(fields: Fields, ops: registry.Registry,
            fills_values: bool = True) -> rule.Conversion:
    """Convert a rule.

    :param fields: of the rule, as stock Ironic stores or reads it.
    :param fills_values: whether the Ironic that runs it fills in fields in
        the values of ``eq``, ``lt`` and ``gt``, as the newest one does.
    :returns: the rule, None where it cannot be one here, and what differs.
    """
    converter = _Converter(ops, fills_values)
    ours = _outside(fields, converter)
    outside = list(converter.hints)
    written = {name: [_without_unknown(each, name, converter)
                      for each in fields.get(name) or ()]
               for name in _KEYS}
    try:
        conditions = list(converter.conditions(written['conditions']))
        existing = {each for condition in conditions
                    for each in stock_condition.needed(condition)}
        lost = len(converter.lost)
        actions = list(converter.actions(written['actions'], existing))
    except rule.Inconvertible as exc:
        # Without one of its conditions it would meet other machines.
        return _refused(converter, str(exc))
    except _Malformed as exc:
        return _refused(
            converter, _('stock Ironic does not take this rule: %s') % exc)
    except (KeyError, TypeError, AttributeError):
        # The arguments are those of a stranger, and read in many places.
        return _refused(
            converter, _('stock Ironic does not take this rule: an argument '
                         'is missing, or is no value that it takes'))
    converter.pointer = ''
    if converter.reasons:
        # They stay as they are written, and nobody carries them out.
        del converter.lost[lost:]
    elif not actions:
        converter.never(
            _('none of its actions can be kept, so it is switched off and '
              'left as it is written') if len(converter.lost) > lost else
            _('nothing of it does anything in stock Ironic, so it is '
              'switched off and left as it is written'))
    if not converter.reasons:
        ours.update({'conditions': conditions, 'actions': actions})
    else:
        converter.hints = [*outside, *converter.reasons]
        converter.differences.clear()
        ours.update(mode=model.OFF, conditions=written['conditions'],
                    actions=written['actions'])
    problems = validation.validate(ours, ops)
    for problem in problems:
        converter.pointer = problem.pointer
        converter.lose(problem.sentence)
    if problems:
        # Nor can it be one that is switched off.
        converter.hints = [each for each in converter.hints
                           if each not in converter.reasons]
    else:
        converter.rule = {name: value for name, value in ours.items() if value}
    return converter


def _refused(converter: _Converter, message: str) -> rule.Conversion:
    """Return the conversion of a rule of which nothing is left."""
    converter.hints.clear()
    converter.differences.clear()
    converter.lose(message)
    return converter


def _check(operation: typing.Any, known: typing.Container[str]) -> None:
    """Check that an operation can be read.

    :param known: the ops that may be there.
    :raises: :class:`_Malformed` if it cannot.
    """
    if not isinstance(operation, dict):
        raise _Malformed(_('an operation is a mapping with "op" and "args"'))
    for key, kinds in (('op', str), ('args', dict | list)):
        if key not in operation:
            raise _Malformed(_('"%s" is missing') % key)
        if not isinstance(operation[key], kinds):
            raise _Malformed(
                _('an operation is a mapping with "op" and "args"'))
    name = operation['op']
    if known is stock_form.CONDITIONS:
        name, _inverted = model.split_op(name)
    if name not in known:
        raise _Malformed(suggestion.unknown(
            _('op'), name, [*stock_form.ACTIONS, *stock_form.CONDITIONS]))


def _outside(fields: Fields, converter: _Converter) -> Operation:
    ours = {name: fields.get(name) for name in
            ('uuid', 'description', 'priority', 'phase')}
    ours['sensitive'] = strutils.bool_from_string(fields.get('sensitive'))
    if unknown := sorted(map(str, set(fields) - _FIELDS)):
        converter.hint(_('%s had no effect and is dropped')
                       % ', '.join(unknown))
    name = fields.get('uuid')
    if name is not None:
        ours['uuid'] = uuid_of(name)
        if ours['uuid'] != name:
            converter.hint(_('"%s" becomes its UUID') % name)
    if fields.get('scope'):
        converter.hint(_('the scope "%s" had no effect and is dropped: the '
                         'rule runs on all nodes') % fields['scope'])
    phase = fields.get('phase') or model.MAIN
    if phase != model.MAIN:
        converter.never(_('stock Ironic never runs the phase "%s", so the '
                          'rule is switched off') % phase)
        ours['phase'] = phase if phase in model.PHASES else model.MAIN
    return ours


def _without_unknown(operation: typing.Any, where: str,
                     converter: _Converter) -> typing.Any:
    """Leave out keys that stock Ironic stores and never looks at."""
    if not isinstance(operation, dict):
        return operation
    if unknown := sorted(set(operation) - _KEYS[where]):
        converter.hint(_('%(keys)s beside the arguments of "%(op)s" had no '
                         'effect and is dropped') % {
                             'keys': ', '.join(unknown),
                             'op': operation.get('op')})
    kept = {key: value for key, value in operation.items()
            if key in _KEYS[where] and value is not None}
    if isinstance(kept.get('args'), dict):
        # Stock Ironic writes it into the rules that it stores.
        kept['args'] = {name: value for name, value in kept['args'].items()
                        if name != 'plugin_data'}
    return kept


def _read(args: Operation, names: Iterable[str]) -> Operation:
    """Read the texts that stock Ironic formats, of the arguments named."""
    return {name: data_path.replace_texts(value, stock_text.read, keys=True)
            if name in names else value for name, value in args.items()}


def _forced(op: str, args: Operation, always: bool = False) -> Operation:
    """Make text of the values where stock Ironic does."""
    if op not in _COMPARISONS:
        return args
    force = args.pop('force_strings', False) or always
    values = args['values']
    if not force or not isinstance(values, list):
        return args
    if any(isinstance(value, list | dict) and '{' in json.dumps(
            value[:1] if isinstance(value, list) else list(value),
            default=lambda _text: '{') for value in values):
        raise rule.Inconvertible(
            _('a list or mapping with fields cannot be compared as text'))
    return {**args, 'values': [
        value if isinstance(value, str | stock_text.Text) else str(value)
        for value in values]}
