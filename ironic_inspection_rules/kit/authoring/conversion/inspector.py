# SPDX-License-Identifier: Apache-2.0

"""Convert rules of ironic-inspector to rules as a person would write them.

ironic-inspector is the service that inspected machines before Ironic did. Its
conditions read a field with a JSON path, e.g. ``data://memory_mb`` or
``node://name``. Its actions have text with fields, e.g. ``{data[memory_mb]}``.
In this language both become ``{inventory.memory.physical_mb}``. "Here" means
this language. What cannot be converted is recorded as lost; see
:class:`.rule.Conversion`.
"""

import dataclasses
import re
import string
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.plugins.legacy import field as inspector_field
from ironic_inspection_rules.plugins.legacy import text as inspector_text
from ironic_inspection_rules.plugins.legacy import translate

Inconvertible = rule.Inconvertible
Operation = rule.Operation
InspectorOperation = typing.Mapping[str, typing.Any]
Steps = tuple[inspector_field.Step, ...]

_GIB = 2**30  # Bytes.
_IN_ARGUMENT = re.compile(r'[\w.:-]+')  # Names of interfaces.

_ORDERS = frozenset({'lt', 'le', 'gt', 'ge'})

_CHANGED_WITHOUT_PATH: dict[str, data_path.Path] = {
    'set-capability': ('properties', 'capabilities'),
    'add-trait': ('traits',),
    'remove-trait': ('traits',),
}
"""The attribute of the node that is changed by an action without a path."""


@dataclasses.dataclass(frozen=True)
class ConvertedPath:
    """The converted field of a condition of ironic-inspector.

    For example, ``ports[*].address`` has the field ``{item.address}`` and the
    loop ``{plugin_data.ports}``.

    :param loops: the lists to loop over. Every list after the first one is
        inside the item of the previous list.
    :param is_in_item: whether the field is a value inside the last item, not
        the item itself.
    """

    field: str
    loops: tuple[str, ...] = ()
    is_in_item: bool = False


def convert_path(field: str) -> ConvertedPath:
    """Convert the field of a condition, which is a path that may have ``[*]``.

    Each ``[*]`` becomes a loop, see :class:`ConvertedPath`.

    :param field: a JSON path that may start with ``data://`` or ``node://``.
    :raises: :class:`Inconvertible` if the path cannot be expressed with fields
        and loops.
    """
    scheme, _path = inspector_field.split(field)
    steps = inspector_field.steps(field)
    if not steps:
        raise Inconvertible(
            _('the JSON path "%s" has more than names, indices and [*]')
            % field
        )
    has_loops = inspector_field.ANY in steps
    if scheme == 'node' and has_loops:
        return _convert_looped_path(('node', *steps), field)
    if scheme == 'node':
        return ConvertedPath(rule.write_field(('node', *steps)))
    if has_loops:
        return _convert_looped_path(document.place_in_ironic(steps), field)
    return ConvertedPath(_write_data_field(steps))


def _convert_looped_path(steps: Steps, field: str) -> ConvertedPath:
    """Convert a path with ``[*]``; each ``[*]`` becomes a loop.

    :param steps: the path in Ironic, which begins with a root.
    :param field: the path as it is written, for errors.
    :raises: :class:`Inconvertible` if the path cannot be expressed with fields
        and loops.
    """
    steps_of_list, *steps_in_items = _split_at_items(steps)
    # The inventory was one mapping in ironic-inspector as well. But plugin
    # data are only a part of its data, and its node had other fields.
    is_root = len(steps_of_list) < 2
    if is_root and steps_of_list != ('inventory',):
        raise Inconvertible(
            _('the JSON path "%s" goes through everything') % field
        )
    fields = [rule.write_field(steps_of_list)]
    for steps_in_item in steps_in_items:
        fields.append(rule.write_field((interpolation.ITEM, *steps_in_item)))
    # All fields but the last are lists.
    *loops, last_field = fields
    if len(loops) > schema.DEEPEST_GROUP:
        raise Inconvertible(
            _('the JSON path "%(field)s" has more than %(most)d loops')
            % {'field': field, 'most': schema.DEEPEST_GROUP}
        )
    steps_in_last_item = steps_in_items[-1]
    return ConvertedPath(
        last_field, tuple(loops), is_in_item=bool(steps_in_last_item)
    )


def _split_at_items(steps: Steps) -> list[Steps]:
    """Split the steps of a path at ``[*]``, which stands for all items.

    ``ports[*].address`` gives ``('ports',)`` and ``('address',)``.
    """
    parts: list[Steps] = [()]
    for step in steps:
        if step is inspector_field.ANY:
            parts.append(())
        else:
            parts[-1] = (*parts[-1], step)
    return parts


def _write_data_field(steps: Steps, ending: str = '') -> str:
    """Write a field that reads the data of ironic-inspector in Ironic.

    Most values only have another path in Ironic. Filters compute two values
    that ironic-inspector computed: ``local_gb``, and ``ip`` of an interface.

    :param steps: the path in the data of ironic-inspector.
    :param ending: a conversion and a format, e.g. ``!r:>5``.
    :returns: the field, with its braces.
    :raises: :class:`Inconvertible` if this language cannot express the field.
    """
    match steps:
        case ('local_gb',):
            return _write_size_of_root_disk(ending)
        case ('interfaces' | 'all_interfaces', name, 'ip'):
            return _write_address_of_interface(str(name), steps, ending)
    return rule.write_field(document.place_in_ironic(steps), ending)


def _write_size_of_root_disk(ending: str) -> str:
    """Write the field for ``local_gb``, the size of the root disk in GiB.

    ironic-inspector subtracted one GiB for partitions, and reported 0 if there
    was no root disk. Therefore the default size is one GiB.
    """
    filters = f' | default({_GIB}) | divide({_GIB}) | int | subtract(1)'
    return rule.write_field(
        ('plugin_data', 'root_disk', 'size'), filters + ending
    )


def _write_address_of_interface(name: str, steps: Steps, ending: str) -> str:
    """Write the field for ``ip`` of an interface.

    It is the IPv4 address, or the IPv6 address if there is no IPv4 address.

    :param name: the name of the interface.
    :param steps: the path in the data of ironic-inspector.
    :raises: :class:`Inconvertible` if the name cannot be used in the argument
        of a filter.
    """
    if not _IN_ARGUMENT.fullmatch(name):
        raise Inconvertible(_('a field cannot step into "%s"') % name)
    ipv4_steps = document.place_in_ironic(steps)
    ipv6_field = rule.write_field((*ipv4_steps[:-1], 'ipv6_address'))
    # The argument of a filter is a path without braces. "true" makes the
    # filter also replace null and an empty address.
    ipv6_path = ipv6_field[1:-1]
    return rule.write_field(
        ipv4_steps, f' | default({ipv6_path}, true){ending}'
    )


def convert_text(text: str) -> str:
    """Convert the ``{data[…]}`` in a text to fields of this language.

    ``BMC {data[ipmi_address]}`` becomes ``BMC {inventory.bmc_address}``. A
    text that is a single field gets ``!s``, because the result was always text
    in ironic-inspector: ``{data[memory_mb]}`` becomes
    ``{inventory.memory.physical_mb!s}``.

    :raises: :class:`Inconvertible` if ironic-inspector always failed on the
        text, if a format is unknown in this language, or if a field has no
        counterpart in Ironic.
    """
    problem = next(inspector_text.problems(text), None)
    if problem is not None:
        raise Inconvertible(
            _('ironic-inspector failed here on every machine: %s') % problem
        )
    converted = ''
    for literal, name, spec, conversion in string.Formatter().parse(text):
        converted += rule.escape(literal)
        # The last literal may have no field after it.
        if name is not None:
            converted += _convert_field(name, spec, conversion)
    match interpolation.parse(converted):
        case [interpolation.Field(conversion=None, spec=None)]:
            # Without "!s" the value of a single field would keep its type.
            return rule.extend_field(converted, '!s')
    return converted


def _convert_field(name: str, spec: str | None, conversion: str | None) -> str:
    """Convert one field of a text, ``{name!conversion:spec}``.

    :param name: the name of the field, e.g. ``data[inventory][cpu]``.
    :returns: the field in braces, with the same conversion and format.
    :raises: :class:`Inconvertible` if no field of this language is equivalent.
    """
    keys = inspector_text.steps(name)
    if not keys:
        raise Inconvertible(
            _('no field has all data of the machine: {%s}') % name
        )
    if conversion == 'a' or not rule.SPEC.fullmatch(spec or ''):
        raise Inconvertible(_('the format of {%s} is not known here') % name)
    return _write_data_field(keys, rule.write_ending(spec, conversion))


def convert_operator(
    op: str, field: str, value: typing.Any
) -> tuple[str, Operation]:
    """Return the op that performs the same test, and its arguments by name.

    :param op: the op of ironic-inspector without the prefix, e.g. ``eq``.
    :param field: the converted field, with its braces.
    :param value: the value with which the field is compared.
    """
    if op in ('in-net', 'net'):
        return 'in-net', {'address': field, 'subnet': value}
    if op == 'is-empty':
        return op, {'value': field}
    if op == 'matches' and rule.may_match_part(value):
        # ironic-inspector only matched the beginning of the text.
        return 'contains', {'value': field, 'regex': rule.anchor_regex(value)}
    if op in ('contains', 'matches'):
        return op, {'value': field, 'regex': value}
    if op in ('eq', 'ne') and _is_text_of_number(value):
        # In ironic-inspector, text was never equal to a number. "!r" adds
        # quotes only to text, and repr() does the same to the value.
        return op, {'values': [rule.extend_field(field, '!r'), repr(value)]}
    if op in _ORDERS and isinstance(value, bool):
        # ironic-inspector treated true as 1, and cut off the fraction of the
        # field. In this language true has no order.
        whole_number = rule.extend_field(field, ' | int')
        return op, {'values': [whole_number, int(value)]}
    return op, {'values': [field, rule.escape(value)]}


def _is_text_of_number(value: typing.Any) -> bool:
    """Return whether a value is a text that reads as a number, e.g. "8"."""
    return isinstance(value, str) and comparison.as_number(value) is not None


def _may_fraction_decide(op: str, value: typing.Any) -> bool:
    """Return whether the fraction of a field may change a comparison.

    ironic-inspector cut off fractions: 2.5 became 2, and -0.5 became 0. Here
    they are kept. For example, "gt 2" holds for 2.5 only here, while "ge 2"
    holds both there and here.

    :param op: the op of ironic-inspector without the prefix.
    :param value: the value with which the field is compared. ironic-inspector
        cut off the fraction only if it is a whole number.
    """
    # A field that is compared with true or false became a boolean. An order
    # with them is converted with the filter int, which also cuts off
    # fractions.
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    if op in ('ge', 'lt'):
        return value <= 0
    if op in ('gt', 'le'):
        return value >= 0
    return op in ('eq', 'ne')


def _may_have_fraction(steps: Steps) -> bool:
    """Return whether machines may report a number with a fraction in a field.

    Only then does it matter that ironic-inspector cut fractions off.

    :param steps: the path in the data of ironic-inspector.
    """
    names = []
    for step in document.place_in_ironic(steps):
        if step is inspector_field.ANY:
            names.append(inventory_fields.MEMBER)
        else:
            names.append(str(step))
    field = inventory_fields.find_field(inventory_fields.known_fields(), names)
    if isinstance(field, inventory_fields.UnknownStep):
        return True
    # A field of a known type is no number, or a whole number, e.g. a size, a
    # count or a speed.
    has_known_type = field.type in inventory_fields.PLAIN
    return not has_known_type


def _find_placeholder_address(field: str) -> str | None:
    """Return the text that the ramdisk sends if a BMC has no address.

    :param field: a JSON path that may start with ``data://`` or ``node://``.
    :returns: e.g. ``0.0.0.0``; None if the field is not the address of a BMC.
    """
    scheme, _path = inspector_field.split(field)
    if scheme != 'data':
        return None
    name = str(inspector_field.steps(field)[0])
    return document.NO_ADDRESS.get(name)


def _wrap_in_loops(
    condition: Operation, loops: typing.Sequence[str], multiple: str
) -> Operation:
    """Wrap a condition in loops; the last loop becomes the innermost.

    :param multiple: for how many items the condition must hold.
    """
    if not loops:
        return condition
    outer_loop, *inner_loops = loops
    converted = dict(condition)
    if inner_loops:
        # A condition can have only one loop, so an outer loop needs a group.
        group = 'any-of'
        if multiple == 'all':
            group = 'all-of'
        inner = _wrap_in_loops(condition, inner_loops, multiple)
        converted = {'op': group, 'conditions': [inner]}
    converted['loop'] = outer_loop
    if multiple != 'any':
        converted['multiple'] = multiple
    return converted


class _InspectorConverter(rule.Conversion):
    """Convert one rule of ironic-inspector, and record what is lost.

    In the messages and docstrings, "here" is this language, and "before" is
    ironic-inspector.
    """

    def convert_conditions(
        self, conditions: typing.Sequence[InspectorOperation]
    ) -> list[Operation | None]:
        """Convert all conditions; a condition that is lost becomes None."""
        return self._convert_operations(
            'conditions', conditions, self._convert_condition
        )

    def convert_actions(
        self, actions: typing.Sequence[InspectorOperation]
    ) -> list[Operation]:
        """Convert the actions, without those that cannot be converted."""
        converted = self._convert_operations(
            'actions', actions, self._convert_action
        )
        return [action for action in converted if action is not None]

    def _convert_operations(
        self,
        name: str,
        operations: typing.Sequence[InspectorOperation],
        convert_one: typing.Callable[[InspectorOperation], Operation],
    ) -> list[Operation | None]:
        """Convert operations one by one.

        An operation that cannot be converted is recorded as lost.

        :param name: ``conditions`` or ``actions``.
        :returns: the new operations in their order, with None for lost
            operations.
        """
        converted: list[Operation | None] = []
        for index, operation in enumerate(operations):
            self.pointer = f'/{name}/{index}'
            try:
                converted.append(convert_one(operation))
            except Inconvertible as exc:
                self.record_loss(str(exc))
                converted.append(None)
        return converted

    def _convert_condition(self, condition: InspectorOperation) -> Operation:
        """Convert one condition; its path becomes loops and a field.

        Differences from the behavior of ironic-inspector are recorded.

        :raises: :class:`Inconvertible` if the condition cannot be converted.
        """
        args = condition['args']
        path = convert_path(args['field'])
        op = condition['op'].removeprefix(translate.PREFIX)
        multiple = args.get('multiple', 'any')
        self._note_differences_of_field(op, args['field'], args.get('value'))
        self._note_differences_of_loops(op, path, multiple)
        if op == 'matches' and not args['value']:
            raise Inconvertible(
                _(
                    'ironic-inspector failed here on every machine that has '
                    'the field: the expression is empty'
                )
            )
        if args.get(translate.IGNORED):
            self.record_hint(
                _('ironic-inspector ignored: %s')
                % ', '.join(map(str, args[translate.IGNORED]))
            )
        placeholder = _find_placeholder_address(args['field'])
        if op == 'is-empty' and placeholder:
            # ironic-inspector replaced such an address by null.
            new_op = 'one-of'
            arguments = {
                'value': rule.extend_field(path.field, " | default('')"),
                'values': ['', None, placeholder],
            }
        else:
            new_op, arguments = convert_operator(
                op, path.field, args.get('value')
            )
        if args.get('invert'):
            new_op = f'!{new_op}'
        return _wrap_in_loops(
            {'op': new_op, 'args': arguments}, path.loops, multiple
        )

    def _note_differences_of_field(
        self, op: str, field: str, value: typing.Any
    ) -> None:
        """Record if a field is another field here, or compares differently.

        :param field: a JSON path that may start with ``data://`` or
            ``node://``.
        :param value: the value with which the field is compared.
        """
        scheme, _path = inspector_field.split(field)
        if scheme == 'data':
            steps = inspector_field.steps(field)
            self._note_place_in_ironic(str(steps[0]))
            if not _may_have_fraction(steps):
                return
        if _may_fraction_decide(op, value):
            self.record_hint(
                _(
                    'a number with a fraction is compared as it is here; '
                    'before, its fraction was cut off, as the filter int does'
                )
            )

    def _note_differences_of_loops(
        self, op: str, path: ConvertedPath, multiple: str
    ) -> None:
        """Record how a condition on items of a list behaves differently here.

        For ``disks[*].size``, ironic-inspector only used the sizes that exist.
        A loop goes over all disks, including disks without a size.

        :param path: the converted path; without loops nothing is recorded.
        :param multiple: for which items the condition must hold: ``any``,
            ``all`` or ``first``.
        """
        if path.loops and op == 'is-empty':
            self.record_loss(
                _(
                    'if %s is empty or does not exist, this condition '
                    'does not hold here'
                )
                % path.loops[0]
            )
        if path.is_in_item and op == 'is-empty':
            self.record_loss(
                _(
                    'an item without %s counts as empty here, and did '
                    'not count before'
                )
                % path.field
            )
        # Every loop after the first one, and perhaps the field, is a value in
        # an item, which the item may lack.
        fields_of_items = list(path.loops[1:])
        if path.is_in_item and op != 'is-empty':
            fields_of_items.append(path.field)
        for field in fields_of_items:
            if multiple == 'all':
                self.record_loss(
                    _(
                        'an item without %s makes the condition false '
                        'here, and did not count before'
                    )
                    % field
                )
            elif multiple == 'first':
                self.record_loss(
                    _(
                        'only the first item is asked here, before it '
                        'was the first one that has %s'
                    )
                    % field
                )

    def _note_place_in_ironic(self, name: str) -> None:
        """Record where Ironic stores data that ironic-inspector's hooks added.

        :param name: the first name of a path in the data, e.g. ``local_gb``.
        """
        if name in document.IN_IRONIC:
            self.record_hint(
                _('Ironic has the "%(name)s" of ironic-inspector in {%(now)s}')
                % {'name': name, 'now': document.IN_IRONIC[name]}
            )
        elif name == 'local_gb':
            self.record_hint(
                _(
                    'the root disk that root device hints choose is '
                    'known only if the hook root-device is enabled'
                )
            )

    def _convert_action(self, action: InspectorOperation) -> Operation:
        """Convert one action to the action that does the same here.

        :raises: :class:`Inconvertible` if the action cannot be converted.
        """
        op = action['op'].removeprefix(translate.PREFIX)
        converted = self._convert_op_of_action(op, action['args'])
        if action.get('revert'):
            converted['revert'] = True
        return converted

    def _convert_op_of_action(self, op: str, args: Operation) -> Operation:
        """Convert an action without ``revert``.

        :param op: the op of ironic-inspector without the prefix.
        """
        if op == 'set-attribute':
            return self._convert_attribute('set-attribute', args)
        if op in ('extend-attribute', 'append-attribute'):
            return self._convert_attribute('extend-attribute', args)
        if op == 'set-capability':
            return self._convert_capability(args)
        if op == 'fail':
            new_args = {'msg': rule.escape(str(args['message']))}
            if args.get('maintenance'):
                new_args['maintenance'] = True
            return {'op': op, 'args': new_args}
        # The remaining ops add or remove a trait.
        return {'op': op, 'args': {'name': args['name']}}

    def _convert_capability(self, args: Operation) -> Operation:
        """Convert the action that sets a capability.

        In ironic-inspector a value of null removed the capability, which is a
        separate action here. A hint is recorded if the value has a field,
        because this action may refuse the resulting value.
        """
        value = args.get('value')
        name = rule.escape(args['name'])
        if not isinstance(value, str | int | float | None):
            raise Inconvertible(_('the value of a capability is text'))
        if value is None:
            return {'op': 'unset-capability', 'args': {'name': name}}
        converted = data_path.replace_texts(value, convert_text, keys=True)
        if interpolation.fields(converted):
            self.record_hint(
                _(
                    'where the value is empty or has a comma, '
                    'inspection fails here'
                )
            )
        return {
            'op': 'set-capability',
            'args': {'name': name, 'value': converted},
        }

    def _convert_attribute(self, op: str, args: Operation) -> Operation:
        """Convert the action that sets or extends an attribute.

        Literal text of the rule is escaped, and ``{data[…]}`` in the value
        becomes a field. Differences in how this path is changed are recorded.
        """
        path = '/' + str(args['path']).removeprefix('/')
        tokens = data_path.parse(path)
        self._note_differences_of_attribute(op, tokens, args)
        converted = {
            'path': rule.escape(path),
            'value': data_path.replace_texts(
                args['value'], convert_text, keys=True
            ),
        }
        if op == 'set-attribute' and args.get('cleanup') is not None:
            converted['cleanup'] = rule.escape(args['cleanup'])
        if args.get('unique'):
            converted['unique'] = True
        return {'op': op, 'args': converted}

    def _note_differences_of_attribute(
        self, op: str, tokens: data_path.Path, args: Operation
    ) -> None:
        """Record how setting or extending this path behaves differently.

        :param tokens: the path, e.g. ``('extra', 'disks', '0')``.
        """
        is_deep = len(tokens) > 2
        if op == 'extend-attribute':
            if is_deep:
                self.record_loss(
                    _(
                        'a list is extended here; before, one this far '
                        'inside an attribute was replaced'
                    )
                )
            return
        if is_deep and tokens[-1].isdecimal():
            self.record_loss(
                _(
                    'an item of a list is replaced here; before, one '
                    'was inserted'
                )
            )
        if tokens == ('driver',) and args.get('reset_interfaces', True):
            self.record_hint(
                _(
                    'only interfaces that the new driver lacks become '
                    'its defaults here; before, all did'
                )
            )


def convert(rules: typing.Sequence[model.Rule]) -> list[rule.Conversion]:
    """Convert rules of ironic-inspector to rules as a person would write them.

    The rules are treated as one set that inspection runs completely, because
    the changes of earlier rules matter to later rules.

    :param rules: the rules as :mod:`.legacy.translate` returns them, with the
        ops of ironic-inspector.
    :returns: one conversion per rule, with what is lost and what to review. A
        conversion has no new rule if any condition or all actions cannot be
        converted. Otherwise the new rule omits the actions that cannot be
        converted.
    """
    conversions: list[rule.Conversion] = []
    for index, inspector_rule in enumerate(rules):
        converter = _InspectorConverter()
        conditions = converter.convert_conditions(inspector_rule.conditions)
        actions = converter.convert_actions(inspector_rule.actions)
        # Without one of its conditions, the rule would run on more machines.
        if actions and None not in conditions:
            is_sensitive = any(map(disclosure.has_secrets, actions))
            fields = {
                'description': inspector_rule.description,
                'scope': inspector_rule.scope,
                'sensitive': is_sensitive,
                'conditions': conditions,
                'actions': actions,
            }
            converter.rule = {
                name: value for name, value in fields.items() if value
            }
        else:
            # Hints are about the new rule, which does not exist.
            converter.hints.clear()
        # The new rule is kept, but these conditions may have another result.
        converter.lost += _find_conditions_on_changed_attributes(
            rules[:index], inspector_rule
        )
        conversions.append(converter)
    return conversions


def _find_conditions_on_changed_attributes(
    earlier: typing.Sequence[model.Rule], later: model.Rule
) -> typing.Iterator[rule.Problem]:
    """Yield the conditions on attributes that an earlier rule may change.

    ironic-inspector checked the conditions of all rules before any action. In
    this language the actions of an earlier rule run first.
    """
    # The numbers of earlier rules, which start at 1, with the paths that they
    # change.
    changes: list[tuple[int, data_path.Path]] = []
    for number, earlier_rule in enumerate(earlier, start=1):
        for action in earlier_rule.actions:
            changes.append((number, _find_changed_path(action)))
    for index, condition in enumerate(later.conditions):
        field = condition['args']['field']
        if inspector_field.split(field)[0] != 'node':
            continue
        steps = tuple(str(step) for step in inspector_field.steps(field))
        for number, changed in changes:
            if _do_overlap(changed, steps):
                message = _(
                    'rule %(number)d may have set %(path)s before '
                    'this is checked; before, all conditions were '
                    'checked first'
                ) % {'number': number, 'path': data_path.pointer(changed)}
                yield rule.Problem(f'/conditions/{index}', message)


def _find_changed_path(action: InspectorOperation) -> data_path.Path:
    """Return the path in the node that an action changes.

    The path is empty if the action changes nothing, e.g. ``fail``.
    """
    path = action['args'].get('path')
    if path is not None:
        return data_path.parse('/' + str(path).removeprefix('/'))
    return _CHANGED_WITHOUT_PATH.get(
        action['op'].removeprefix(translate.PREFIX), ()
    )


def _do_overlap(changed: data_path.Path, read: data_path.Path) -> bool:
    """Return whether two paths are equal, or one is inside the other.

    ``('extra',)`` and ``('extra', 'rack')`` overlap.

    :param changed: the changed path; an empty path overlaps nothing.
    """
    if not changed:
        return False
    length = min(len(changed), len(read))
    return changed[:length] == read[:length]
