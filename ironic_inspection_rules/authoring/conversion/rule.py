# SPDX-License-Identifier: Apache-2.0

"""Rules of ironic-inspector as rules that a person would write today."""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.authoring.checks import secrets
from ironic_inspection_rules.authoring.conversion import field as new_field
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.legacy import field as old_field
from ironic_inspection_rules.legacy import translate

Problem = exceptions.Problem
Inconvertible = new_field.Inconvertible
Written = typing.Mapping[str, typing.Any]
Operation = dict[str, typing.Any]


@dataclasses.dataclass
class Conversion:
    """Result of converting one rule.

    ``rule`` is None where nothing of it is left. ``lost`` is what cannot be
    carried over or comes out differently, by the place in the old rule;
    ``hints`` are about what works only if the operator sees to it.
    """

    rule: dict[str, typing.Any] | None
    lost: list[Problem]
    hints: list[Problem]


class Notes:
    """Collect what gets lost on the way, and what somebody has to know."""

    def __init__(self) -> None:
        self.lost: list[Problem] = []
        self.hints: list[Problem] = []
        self.pointer = ''

    def lose(self, message: str) -> None:
        self.lost.append(Problem(self.pointer, message))

    def hint(self, message: str) -> None:
        self.hints.append(Problem(self.pointer, message))


class _Converter(Notes):
    """Converts one rule."""

    def operations(self, name: str, written: typing.Iterable[Written],
                   convert: typing.Callable[[Written, Operation], Operation]
                   ) -> list[Operation | None]:
        converted: list[Operation | None] = []
        for index, operation in enumerate(written):
            self.pointer = f'/{name}/{index}'
            try:
                converted.append(convert(operation, operation['args']))
            except Inconvertible as exc:
                self.lose(str(exc))
                converted.append(None)
        return converted

    def condition(self, written: Written, args: Operation) -> Operation:
        path = new_field.convert_path(args['field'])
        op = written['op'].removeprefix(translate.PREFIX)
        multiple = args.get('multiple', 'any')
        self._check_made(args['field'])
        if path.loops:
            self._check_loops(op, multiple, path)
        name, arguments = new_field.convert_operator(
            op, path.field, args.get('value'))
        if args.get('invert'):
            name = f'!{name}'.removeprefix('!!')
        converted: Operation = {'op': name, 'args': arguments}
        for loop in reversed(path.loops):
            if 'loop' in converted:
                group = 'all-of' if multiple == 'all' else 'any-of'
                converted = {'op': group, 'conditions': [converted]}
            converted['loop'] = loop
            if multiple != 'any':
                converted['multiple'] = multiple
        return converted

    def _check_made(self, field: str) -> None:
        scheme, _path = old_field.split(field)
        name = old_field.steps(field)[0]
        if scheme == 'data' and name in old_field.NOW:
            self.hint(
                _('Ironic has the "%(name)s" of ironic-inspector in '
                  '{%(now)s}') % {'name': name,
                                  'now': old_field.NOW[name]})

    def _check_loops(self, op: str, multiple: str,
                     path: new_field.Path) -> None:
        if op == 'is-empty':
            self.lose(_('if %s is empty or does not exist, this condition '
                        'does not hold here') % path.loops[0])
        lacking = list(path.loops[1:])
        if path.in_item and op == 'is-empty':
            self.lose(_('an item without %s counts as empty here, and did '
                        'not count before') % path.field)
        elif path.in_item:
            lacking.append(path.field)
        for field in lacking:
            if multiple == 'all':
                self.lose(_('an item without %s makes the condition false '
                            'here, and did not count before') % field)
            elif multiple == 'first':
                self.lose(_('only the first item is asked here, before it '
                            'was the first one that has %s') % field)

    def action(self, written: Written, args: Operation) -> Operation:
        op = written['op'].removeprefix(translate.PREFIX)
        if op in _ACTIONS:
            converted = _ACTIONS[op](self, args)
        else:
            converted = {'op': op, 'args': {'name': args['name']}}
        if written.get('revert'):
            converted['revert'] = True
        return converted

    def set_attribute(self, args: Operation) -> Operation:
        path = _path(args)
        tokens = data_path.parse(path)
        if tokens[-1].isdecimal() and len(tokens) > 2:
            self.lose(_('an item of a list is replaced here; before, one '
                        'was inserted'))
        if tokens == ('driver',) and args.get('reset_interfaces', True):
            self.hint(_('only interfaces that the new driver lacks become '
                        'its defaults here; before, all did'))
        converted = {'path': new_field.escape(path),
                     'value': new_field.convert_value(args['value'])}
        if args.get('cleanup') is not None:
            converted['cleanup'] = new_field.escape(args['cleanup'])
        return {'op': 'set-attribute', 'args': converted}

    def extend_attribute(self, args: Operation) -> Operation:
        path = _path(args)
        if len(data_path.parse(path)) > 2:
            self.lose(_('a list is extended here; before, one this far '
                        'inside an attribute was replaced'))
        converted = {'path': new_field.escape(path),
                     'value': new_field.convert_value(args['value'])}
        if args.get('unique'):
            converted['unique'] = True
        return {'op': 'extend-attribute', 'args': converted}

    def set_capability(self, args: Operation) -> Operation:
        name, value = new_field.escape(args['name']), args.get('value')
        if value is None:
            return {'op': 'unset-capability', 'args': {'name': name}}
        if not isinstance(value, str | int | float):
            raise Inconvertible(_('the value of a capability is text'))
        return {'op': 'set-capability',
                'args': {'name': name,
                         'value': new_field.convert_value(value)}}

    def fail(self, args: Operation) -> Operation:
        message = new_field.escape(str(args['message']))
        if args.get('maintenance'):
            return {'op': 'fail', 'args': {'msg': message,
                                           'maintenance': True}}
        return {'op': 'fail', 'args': {'msg': message}}


_ACTIONS: dict[str, typing.Callable[[_Converter, Operation], Operation]] = {
    'append-attribute': _Converter.extend_attribute,
    'extend-attribute': _Converter.extend_attribute,
    'fail': _Converter.fail,
    'set-attribute': _Converter.set_attribute,
    'set-capability': _Converter.set_capability,
}


def convert(rules: typing.Sequence[model.Rule]) -> list[Conversion]:
    """Convert rules that were translated from the old language.

    They are taken as one set, which is all that inspection runs.
    """
    conversions = []
    for index, rule in enumerate(rules):
        conversion = _convert(rule)
        conversion.lost += _decided_late(rules[:index], rule)
        conversions.append(conversion)
    return conversions


def _convert(rule: model.Rule) -> Conversion:
    converter = _Converter()
    conditions = converter.operations('conditions', rule.conditions,
                                      converter.condition)
    actions = [action for action in converter.operations(
        'actions', rule.actions, converter.action) if action]
    if None in conditions or not actions:
        # Without one of its conditions it would meet other machines.
        return Conversion(None, converter.lost, [])
    fields: dict[str, typing.Any] = {'description': rule.description,
                                     'scope': rule.scope}
    converted = {name: value for name, value in fields.items() if value}
    if any(secrets.is_secret(action['args']) for action in actions):
        converted['sensitive'] = True
    if conditions:
        converted['conditions'] = conditions
    converted['actions'] = actions
    return Conversion(converted, converter.lost, converter.hints)


def _path(args: Operation) -> str:
    path: str = args['path']
    return path if path.startswith('/') else f'/{path}'


def _decided_late(earlier: typing.Sequence[model.Rule],
                  rule: model.Rule) -> typing.Iterator[Problem]:
    """Find conditions on what earlier rules may have changed by then."""
    for index, condition in enumerate(rule.conditions):
        field = condition['args']['field']
        if old_field.split(field)[0] != 'node':
            continue
        looked_at = [str(step) for step in old_field.steps(field)]
        for number, other in enumerate(earlier, 1):
            for changed in map(_changed, other.actions):
                length = min(len(changed), len(looked_at))
                if changed and list(changed[:length]) == looked_at[:length]:
                    yield Problem(
                        f'/conditions/{index}',
                        _('rule %(number)d may have set %(path)s before this '
                          'is checked; before, all conditions were checked '
                          'first') % {'number': number,
                                      'path': data_path.pointer(changed)})


def _changed(action: Written) -> data_path.Path:
    """Return what an action changes of the node."""
    args = action['args']
    if 'path' in args:
        return data_path.parse(_path(args))
    return {'set-capability': ('properties', 'capabilities'),
            'add-trait': ('traits',), 'remove-trait': ('traits',)}.get(
        action['op'].removeprefix(translate.PREFIX), ())
