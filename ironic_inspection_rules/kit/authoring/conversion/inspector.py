# SPDX-License-Identifier: Apache-2.0

"""Rules of ironic-inspector as rules that a person would write today."""

import re
import string
import typing

from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import schema
from ironic_inspection_rules.engine.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.plugins.legacy import field as old_field
from ironic_inspection_rules.plugins.legacy import text as old_text
from ironic_inspection_rules.plugins.legacy import translate

Inconvertible = rule.Inconvertible
Operation = rule.Operation
Written = typing.Mapping[str, typing.Any]
Steps = tuple[old_field.Step, ...]

_GIB = 2 ** 30  # Bytes.
_IN_ARGUMENT = re.compile(r'[\w.:-]+')  # Names of interfaces.

_CHANGED: dict[str, data_path.Path] = {
    'set-capability': ('properties', 'capabilities'),
    'add-trait': ('traits',), 'remove-trait': ('traits',)}
"""The attribute of the node that an action without a path changes."""


def convert_path(field: str) -> tuple[str, tuple[str, ...], bool]:
    """Convert the field of a condition, which may go through lists.

    :returns: the field, over the item of the last list if there is one; the
        lists, each after the first over the item of the one before; and
        whether the field goes on from that item.
    :raises: :class:`Inconvertible`.
    """
    scheme, _path = old_field.split(field)
    steps = old_field.steps(field)
    if not steps:
        raise Inconvertible(
            _('the JSON path "%s" has more than names, indices and [*]')
            % field)
    if scheme != 'node' and old_field.ANY not in steps:
        return _write_field(steps), (), False
    steps = ('node', *steps) if scheme == 'node' else document.in_ironic(steps)
    if old_field.ANY not in steps:
        return rule.write_field(steps), (), False
    # The steps before, between and after those through items.
    parts: list[Steps] = [()]
    for step in steps:
        if step is old_field.ANY:
            parts.append(())
        else:
            parts[-1] = (*parts[-1], step)
    if len(parts[0]) < 2 and parts[0] != ('inventory',):
        raise Inconvertible(
            _('the JSON path "%s" goes through everything') % field)
    first, *others = map(rule.write_field, (
        parts[0], *[(interpolation.ITEM, *part) for part in parts[1:]]))
    loops = (first, *others[:-1])
    if len(loops) > schema.DEEPEST_GROUP:
        raise Inconvertible(
            _('the JSON path "%(field)s" has more than %(most)d loops')
            % {'field': field, 'most': schema.DEEPEST_GROUP})
    return others[-1], loops, bool(parts[-1])


def _write_field(steps: Steps, suffix: str = '') -> str:
    """Write the field for what ironic-inspector had in one document.

    :param suffix: what stands before the closing brace.
    :raises: :class:`Inconvertible`.
    """
    now = document.in_ironic(steps)
    match steps:
        case ('local_gb',):
            # A machine without a root disk has none, ironic-inspector said.
            now = ('plugin_data', 'root_disk', 'size')
            suffix = (f' | default({_GIB}) | divide({_GIB}) | int '
                      f'| subtract(1){suffix}')
        case ('interfaces' | 'all_interfaces', name, 'ip'):
            other = rule.write_field((*now[:-1], 'ipv6_address'))[1:-1]
            if not _IN_ARGUMENT.fullmatch(str(name)):
                raise Inconvertible(
                    _('a field cannot step into "%s"') % (name,))
            suffix = f' | default({other}, true){suffix}'
    return rule.write_field(now, suffix)


def convert_text(text: str) -> str:
    """Convert a text with ``{data[…]}``, whose result stays text.

    :raises: :class:`Inconvertible`.
    """
    for problem in old_text.problems(text):
        raise Inconvertible(
            _('ironic-inspector failed here on every machine: %s') % problem)
    converted = ''
    for literal, name, spec, conversion in string.Formatter().parse(text):
        converted += rule.escape(literal)
        if name is None:
            continue
        keys = old_text.steps(name)
        if not keys:
            raise Inconvertible(
                _('no field has all data of the machine: {%s}') % name)
        if conversion == 'a' or not rule.SPEC.fullmatch(spec or ''):
            raise Inconvertible(
                _('the format of {%s} is not known here') % name)
        converted += _write_field(keys, rule.suffix(spec, conversion))
    match interpolation.parse(converted):
        case [interpolation.Field(conversion=None, spec=None)]:
            # Alone, a field would keep the type that its value has.
            return f'{converted[:-1]}!s}}'
    return converted


def convert_operator(op: str, where: str, value: typing.Any
                     ) -> tuple[str, dict[str, typing.Any]]:
    """Find the op that tests the same, and its arguments by name.

    :param op: the old name, without the prefix; ``net`` in blueprint 000.
    :param value: what the old op had beside the field.
    """
    if op in ('in-net', 'net'):
        return 'in-net', {'address': where, 'subnet': value}
    if op == 'is-empty':
        return op, {'value': where}
    if op == 'matches' and rule.is_partial(value):
        return 'contains', {'value': where, 'regex': rule.anchored(value)}
    if op in ('contains', 'matches'):
        return op, {'value': where, 'regex': value}
    if op in ('eq', 'ne') and isinstance(value, str) and (
            comparison.as_number(value) is not None):
        # Text was never equal to a number: with its quotes it is not.
        return op, {'values': [f'{where[:-1]}!r}}', repr(value)]}
    return op, {'values': [where, rule.escape(value)]}


class _Converter(rule.Conversion):
    def operations(self, name: str, written: typing.Sequence[Written],
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
        field, loops, in_item = convert_path(args['field'])
        op = written['op'].removeprefix(translate.PREFIX)
        multiple = args.get('multiple', 'any')
        scheme, _path = old_field.split(args['field'])
        nothing = None
        if scheme == 'data':
            name = str(old_field.steps(args['field'])[0])
            nothing = document.NO_ADDRESS.get(name)
            self.hint_at(name)
        if loops and op == 'is-empty':
            self.lose(_('if %s is empty or does not exist, this condition '
                        'does not hold here') % loops[0])
        if in_item and op == 'is-empty':
            self.lose(_('an item without %s counts as empty here, and did '
                        'not count before') % field)
        for lacking in (*loops[1:], *([field] if in_item and (
                op != 'is-empty') else [])):
            if multiple == 'all':
                self.lose(_('an item without %s makes the condition false '
                            'here, and did not count before') % lacking)
            elif multiple == 'first':
                self.lose(_('only the first item is asked here, before it '
                            'was the first one that has %s') % lacking)
        name, arguments = convert_operator(op, field, args.get('value'))
        if op == 'is-empty' and nothing:
            # The ramdisk says so where ironic-inspector had null.
            name, arguments = 'one-of', {
                'value': f"{field[:-1]} | default('')}}",
                'values': ['', None, nothing]}
        if args.get('invert'):
            name = f'!{name}'.removeprefix('!!')
        converted: Operation = {'op': name, 'args': arguments}
        for loop in reversed(loops):
            if 'loop' in converted:
                group = 'all-of' if multiple == 'all' else 'any-of'
                converted = {'op': group, 'conditions': [converted]}
            converted['loop'] = loop
            if multiple != 'any':
                converted['multiple'] = multiple
        return converted

    def hint_at(self, name: str) -> None:
        """Note where Ironic has what a hook of ironic-inspector added."""
        if name in document.NOW:
            self.hint(
                _('Ironic has the "%(name)s" of ironic-inspector in '
                  '{%(now)s}') % {'name': name, 'now': document.NOW[name]})
        elif name == 'local_gb':
            self.hint(_('the root disk that root device hints choose is '
                        'known only if the hook root-device is enabled'))

    def action(self, written: Written, args: Operation) -> Operation:
        op = written['op'].removeprefix(translate.PREFIX)
        if op in ('set-attribute', 'extend-attribute', 'append-attribute'):
            converted = self.attribute(op.replace('append', 'extend'), args)
        elif op == 'set-capability':
            value = args.get('value')
            if not isinstance(value, str | int | float | None):
                raise Inconvertible(_('the value of a capability is text'))
            converted = {'op': op, 'args': {
                'name': rule.escape(args['name']),
                'value': data_path.replace_texts(value, convert_text,
                                                 keys=True)}}
            if interpolation.fields(converted['args']['value']):
                self.hint(_('where the value is empty or has a comma, '
                            'inspection fails here'))
            if value is None:
                converted = {'op': 'unset-capability', 'args': {
                    'name': rule.escape(args['name'])}}
        elif op == 'fail':
            converted = {'op': op, 'args': {
                'msg': rule.escape(str(args['message'])),
                **({'maintenance': True} if args.get('maintenance') else {})}}
        else:
            converted = {'op': op, 'args': {'name': args['name']}}
        if written.get('revert'):
            converted['revert'] = True
        return converted

    def attribute(self, op: str, args: Operation) -> Operation:
        path = '/' + str(args['path']).removeprefix('/')
        tokens = data_path.parse(path)
        if op == 'set-attribute' and len(tokens) > 2 and (
                tokens[-1].isdecimal()):
            self.lose(_('an item of a list is replaced here; before, one '
                        'was inserted'))
        elif op == 'extend-attribute' and len(tokens) > 2:
            self.lose(_('a list is extended here; before, one this far '
                        'inside an attribute was replaced'))
        if op == 'set-attribute' and tokens == ('driver',) and args.get(
                'reset_interfaces', True):
            self.hint(_('only interfaces that the new driver lacks become '
                        'its defaults here; before, all did'))
        converted = {
            'path': rule.escape(path),
            'value': data_path.replace_texts(args['value'], convert_text,
                                             keys=True)}
        if op == 'set-attribute' and args.get('cleanup') is not None:
            converted['cleanup'] = rule.escape(args['cleanup'])
        if args.get('unique'):
            converted['unique'] = True
        return {'op': op, 'args': converted}


def convert(rules: typing.Sequence[model.Rule]) -> list[rule.Conversion]:
    """Convert rules that were translated from the old language.

    They are taken as one set, which is all that inspection runs.
    """
    conversions: list[rule.Conversion] = []
    for index, old in enumerate(rules):
        made = _Converter()
        conditions = made.operations('conditions', old.conditions,
                                     made.condition)
        actions = [action for action in made.operations(
            'actions', old.actions, made.action) if action]
        # Without one of its conditions it would meet other machines.
        if actions and None not in conditions:
            fields = {
                'description': old.description, 'scope': old.scope,
                'sensitive': any(map(disclosure.has_secrets, actions)),
                'conditions': conditions, 'actions': actions}
            made.rule = {name: value for name, value in fields.items()
                         if value}
        else:
            made.hints.clear()
        made.lost += _decided_late(rules[:index], old)
        conversions.append(made)
    return conversions


def _decided_late(earlier: typing.Sequence[model.Rule],
                  later: model.Rule) -> typing.Iterator[rule.Problem]:
    """Find conditions on what earlier rules may have changed by then."""
    for index, condition in enumerate(later.conditions):
        field = condition['args']['field']
        if old_field.split(field)[0] != 'node':
            continue
        looked_at = [str(step) for step in old_field.steps(field)]
        for number, other in enumerate(earlier, 1):
            for action in other.actions:
                changed = _CHANGED.get(
                    action['op'].removeprefix(translate.PREFIX), ())
                if 'path' in action['args']:
                    changed = data_path.parse(
                        '/' + str(action['args']['path']).removeprefix('/'))
                length = min(len(changed), len(looked_at))
                if changed and list(changed[:length]) == looked_at[:length]:
                    yield rule.Problem(
                        f'/conditions/{index}',
                        _('rule %(number)d may have set %(path)s before this '
                          'is checked; before, all conditions were checked '
                          'first') % {'number': number,
                                      'path': data_path.pointer(changed)})
