# SPDX-License-Identifier: Apache-2.0

"""Find names in fields that the data of no machine have, for ``lint``.

An example is ``nmae`` in ``{node.nmae}``. The names after the dots are the
steps of a field: ``node``, ``nmae``. The first step is the root, e.g.
``node``, ``inventory``, ``vars`` (the variables of the rule) or, in a loop,
``item``.

A use is one place at which a rule reads a field; see
:class:`.field_use.FieldUse`. The functions ``_why_…`` return a message if they
find a mistake, and None if there is none. A check yields mistakes: pairs of
the place in the rule, e.g. ``/conditions/0/args/values``, and a message.
"""

from collections.abc import Collection
import re
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.machine import node_names
from ironic_inspection_rules.plugins.legacy import field as legacy_field
from ironic_inspection_rules.plugins.legacy import text as legacy_text
from ironic_inspection_rules.rule_file import file_rule

# The attributes of Ironic's nodes that rules can read. A test compares this
# list with Ironic.
NODE = frozenset(
    """
    allocation_id auto_discovered automated_clean bios_interface
    boot_interface boot_mode chassis_id clean_step conductor_affinity
    conductor_group console_enabled console_interface created_at
    deploy_interface deploy_step description disable_power_off driver
    driver_info driver_internal_info extra fault firmware_interface health id
    inspect_interface inspection_finished_at inspection_started_at
    instance_info instance_name instance_uuid last_error lessee maintenance
    maintenance_reason management_interface name network_data
    network_interface owner parent_node power_interface power_state properties
    protected protected_reason provision_state provision_updated_at
    raid_config raid_interface rescue_interface reservation resource_class
    retired retired_reason secure_boot service_step shard storage_interface
    target_power_state target_provision_state target_raid_config traits
    updated_at uuid vendor_interface""".split()
)

# Likewise, the attributes of Ironic's ports.
PORT = frozenset(
    """
    address available_for_dynamic_portgroup category created_at description
    extra id internal_info is_smartnic local_link_connection name node_id
    node_uuid physical_network portgroup_id pxe_enabled updated_at uuid
    vendor""".split()
)

# A MAC address after a dot, which must be in brackets: the address, the rest.
_PORT_AFTER_DOT = re.compile(
    r'ports\.((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2})(.*)'
)
# The beginning of "{data.inventory.cpu}" and "{data[inventory][cpu]}".
_FIELD_OVER_DATA = re.compile(
    r'data(?:\.(inventory|plugin_data)|'
    r'\[(inventory|plugin_data)\])(?=[.\[])'
)
_NEGATIVE_NUMBER = re.compile(r'-[0-9]+')

# A literal key of a table before a filter, which would be parsed as a path.
_KEY_IN_TABLE = re.compile(r'[^|]*\| *lookup\( *tables\..*')

# Names and expressions that a template engine should replace.
_JINJA = re.compile(
    r'\{\{-? +[/A-Za-z_][\w./]*(?:\[[^{}]*\]|\([^{}]*\))* *'
    r'(?:[|+~-][^{}]*)?\}\}|\{%'
)


_OF_NODE = 'node'
_OF_PORT = 'port'
_OF_ITEM = 'item'


class UnknownName(typing.NamedTuple):
    """A name in a field that the data do not have on any machine.

    An example is ``nmae`` in ``{node.nmae}``.

    :ivar name: the unknown name.
    :ivar owner: what lacks the name: ``node``, ``port``, or ``item`` for
        literal items of a loop.
    :ivar known: the names that exist instead, e.g. :data:`NODE`.
    """

    name: str
    owner: str
    known: Collection[str]


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find fields of a rule that have a value on no machine.

    Yield the place of the field in the rule, and a message with the reason.
    """
    # Text in braces that is not a field: {ports.aa:bb:cc:dd:ee:ff}, or
    # {tables.racks['R1']}.
    for pointer, field, _item in field_use.list_fields(rule):
        message = _why_no_field(field)
        if message is not None:
            yield pointer, message
    # Errors in the ops of ironic-inspector: {data[cpus}, which lacks a
    # bracket, and node://nmae.
    for operation in rule.operations:
        yield from _check_inspector_fields(operation)
    # Fields with a name that does not exist, e.g. {node.nmae}. In a loop over
    # {inventory.disks}, the use of {item.sise} has the steps "item", "sise".
    for use in field_use.list_uses(rule):
        if use.steps[0] == model.VARS:
            # An example is {vars.rack} if the rule computes no variable
            # "rack".
            problem = _why_not_in_vars(use, rule)
        else:
            problem = _why_never_there(use)
        if problem is not None:
            yield use.pointer, problem


def check_vars(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find variables of a rule that nothing in the rule uses.

    A variable is a value in the ``vars`` of the rule. Its field is
    ``{vars.name}``.
    """
    # {vars} has only one step and uses all variables; {vars.name} has two.
    beginnings = {use.steps[:2] for use in field_use.list_uses(rule)}
    if (model.VARS,) in beginnings:
        return
    for name in rule.rule.vars:
        if (model.VARS, name) not in beginnings:
            yield f'/{model.VARS}/{name}', _('nothing uses {vars.%s}') % name


def _why_not_in_vars(
    use: field_use.FieldUse, rule: checked_rule.CheckedRule
) -> str | None:
    """Return why a variable does not exist; None if it exists.

    Either the rule has no such variable, or it computes it later.

    :param use: a field anywhere in the rule, e.g. ``{vars.rack}``.
    """
    if len(use.steps) == 1:
        # {vars}, which has all variables, always exists.
        return None
    computed = list(rule.rule.vars)
    tokens = use.pointer.split('/')
    if tokens[1] == model.VARS:
        # A variable sees only earlier variables.
        computed = computed[: computed.index(tokens[2])]
    name = use.steps[1]
    if name in computed:
        return None
    if name in rule.rule.vars:
        return _(
            '{%(field)s}: "%(name)s" comes later, and vars are computed '
            'in their order; a program that sorts the names of a file '
            'changes it'
        ) % {'field': use.text, 'name': name}
    hint = suggestion.make_hint(name, computed) or _('it has none')
    return _(
        '{%(field)s}: the rule has no "%(name)s" in its vars; %(hint)s'
    ) % {'field': use.text, 'name': name, 'hint': hint}


def check_jinja(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find text that a template engine should have replaced.

    An example is ``{{ rack }}``.
    """
    for pointer, text in templates(rule.written.entry):
        yield (
            pointer,
            _('"%s" looks like a variable of Jinja2 that was not replaced')
            % text,
        )


def templates(
    entry: typing.Mapping[str, typing.Any],
) -> checked_rule.PlacedTexts:
    """Yield the texts of a rule that contain a template of Jinja2.

    Each comes with the pointer to its place in the rule.

    :param entry: the rule as its author wrote it.
    """
    for name in ('description', 'scope', *model.CONTENT):
        for pointer, text in checked_rule.texts(entry.get(name), f'/{name}'):
            if _JINJA.search(text):
                yield pointer, text


def _why_no_field(field: interpolation.Field) -> str | None:
    """Return why a text in braces is not a field; None if it is a field.

    The message depends on the mistake: the MAC address of a port after a dot,
    a literal key of a table before a filter, or any other text.
    """
    field_of_port = port_meant(field.text)
    if field_of_port is not None:
        # The address of a port has colons.
        return _(
            '{%(field)s}: what follows a colon is a format; write {%(meant)s}'
        ) % {'field': field.text, 'meant': field_of_port}
    if field.root is not None:
        return None
    if _KEY_IN_TABLE.fullmatch(field.text):
        return (
            _(
                '{%s} is not a field: a key that is written out is given '
                "as in {tables.NAME | row('KEY')}"
            )
            % field.text
        )
    return (
        _(
            '{%s} is not a field: write {name[key]} or {name.key}; '
            'literal braces are doubled'
        )
        % field.text
    )


def port_meant(field: str) -> str | None:
    """Return the intended field if a MAC address follows a dot.

    ``ports.52:54:00:12:34:56.name`` means ``ports[52:54:00:12:34:56].name``.

    :returns: None for other fields.
    """
    match = _PORT_AFTER_DOT.fullmatch(field)
    if match is None:
        return None
    address, rest = match.groups()
    return f'ports[{address}]{rest}'


def data_meant(field: str) -> str | None:
    """Return the intended field of a field over ``data``, if it is clear.

    ``data.inventory.cpu``, as in the manual of Ironic 2025.1, means
    ``inventory.cpu``.
    """
    match = _FIELD_OVER_DATA.match(field)
    if match is None:
        return None
    root = match[1] or match[2]
    return root + field[match.end() :]


def _why_negative_index(use: field_use.FieldUse) -> str | None:
    """Return the problem of a step such as ``-1``; None if there is none.

    ``{inventory.disks[-1]}`` never exists: a negative number may be a name in
    a mapping, but it is not an index of a list.
    """
    steps = use.from_roots or use.steps
    for place, step in enumerate(steps):
        above = field_value.type_at(steps[:place])
        if _NEGATIVE_NUMBER.fullmatch(step) and above != field_value.MAPPING:
            return _(
                '{%(field)s}: a list has no item "%(step)s"; write '
                "{… | last}, or {… | last | get('…')}"
            ) % {'field': use.text, 'step': step}
    return None


def _hint_at_root(use: field_use.FieldUse) -> str:
    """Return a hint at the intended root of a field with an unknown root.

    The hint is "did you mean {inventory.cpu}?" for ``{data.inventory.cpu}``,
    and "did you mean "node"?" for ``{nod.name}``.
    """
    root = use.steps[0]
    meant = data_meant(use.text)
    if meant:
        return _('did you mean {%s}?') % meant
    near = suggestion.find_nearest(root, interpolation.ROOTS)
    if near:
        return _('did you mean "%s"?') % near
    if root == 'data':
        return _(
            'what ironic-inspector called data is in inventory and plugin_data'
        )
    return _('did you mean {plugin_data[%s]}?') % root


def _why_never_there(use: field_use.FieldUse) -> str | None:
    """Return why a field can never exist; None if it can exist.

    The reasons are checked in this order: a negative index, an item outside of
    a loop, an unknown root, and a name that nodes, ports or items do not have.

    :param use: a field over any root except ``vars``.
    """
    problem_of_index = _why_negative_index(use)
    if problem_of_index:
        return problem_of_index
    root = use.steps[0]
    if root == interpolation.ITEM and use.item is None:
        return _('{%s} does not exist outside of a loop') % use.text
    if root not in (*interpolation.ROOTS, interpolation.ITEM):
        return _('{%(field)s} is over an unknown name; %(hint)s') % {
            'field': use.text,
            'hint': _hint_at_root(use),
        }
    unknown = find_unknown_name(use)
    if unknown is None:
        return None
    # The message depends on what lacks the name. The message about nodes is
    # also used by another check, so it has its own function.
    if unknown.owner == _OF_NODE:
        return _message_without_attribute(f'{{{use.text}}}', unknown.name)
    if unknown.owner == _OF_PORT:
        text = _('{%(field)s}: a port has no "%(name)s"; %(hint)s')
        hint = suggestion.make_hint(unknown.name, unknown.known)
    else:
        text = _(
            '{%(field)s}: the items of the loop have no "%(name)s"; %(hint)s'
        )
        hint = _hint_in_items(use)
    return text % {'field': use.text, 'name': unknown.name, 'hint': hint}


def _hint_in_items(use: field_use.FieldUse) -> str:
    """Return a hint for a field whose last name no item of the loop has.

    It is a similar name, or all names. If there is no name to suggest, the
    hint is the reason why: for ``{item.rack.room}``, ``"rack" is no mapping``.

    :param use: a field over literal items that lack one of its steps.
    """
    missing = field_use.find_missing_step(use)
    assert missing is not None
    if missing.names:
        hint = suggestion.make_hint(missing.step, missing.names)
        if hint:
            return hint
    # The items themselves lack the name, or a value in them does.
    value_in_item = '.'.join(missing.above)
    if missing.names is None:
        if value_in_item:
            return _('"%s" is no mapping') % value_in_item
        return _('they are no mappings')
    # A mapping with too many names to list, or with none.
    count = len(missing.names)
    if value_in_item:
        return _('"%(value)s" has %(count)d other names') % {
            'value': value_in_item,
            'count': count,
        }
    return _('they have %d other names') % count


def find_unknown_name(use: field_use.FieldUse) -> UnknownName | None:
    """Find the name in a field that a node, a port or a loop item lacks.

    For ``{node.nmae}`` this is ``nmae``, which is not in :data:`NODE`.

    :returns: None if the field may exist, as far as it is known here.
    """
    steps = use.from_roots or ()
    if use.steps[0] == 'node' and len(steps) > 1:
        attribute = steps[1]
        if attribute in NODE:
            return None
        return UnknownName(attribute, _OF_NODE, known=NODE)
    if steps[:1] == ('ports',) and len(steps) > 2:
        # The second step selects the port: ports, 0, address.
        attribute = steps[2]
        if attribute in PORT:
            return None
        return UnknownName(attribute, _OF_PORT, known=PORT)
    missing = field_use.find_missing_step(use)
    if missing is None:
        return None
    return UnknownName(missing.step, _OF_ITEM, known=missing.names or ())


def _message_without_attribute(field: str, name: str) -> str:
    """Return the message that a node does not have an attribute.

    It is used for fields, e.g. ``{node.nmae}``, and for the fields of
    ironic-inspector, which are written as paths.

    :param field: the field as its author wrote it.
    """
    hint = suggestion.make_hint(name, NODE) or _(
        "see the attributes of nodes in Ironic's API"
    )
    return _('%(shown)s: a node has no "%(name)s"; %(hint)s') % {
        'shown': field,
        'name': name,
        'hint': hint,
    }


def _check_inspector_fields(
    operation: file_rule.Operation,
) -> checked_rule.Mistakes:
    """Find ``{data[…]}`` and ``node://…`` that can never have a value.

    Only ops of ironic-inspector have such fields. A text of their actions is
    checked for the syntax of ``{data[…]}``, and a path of their conditions,
    e.g. ``node://nmae``, for the attribute of the node.
    """
    # FORMATTED names the arguments whose text may have {data[…]}.
    for name in getattr(operation.op.plugin, 'FORMATTED', ()):
        for problem in legacy_text.problems(operation.arguments.get(name)):
            yield operation.pointer_to(name), problem
    path = operation.arguments.get('field')
    # Only conditions of ironic-inspector have an argument "field" in which
    # braces are not fields.
    is_of_inspector = 'field' in operation.op.plugin.LITERAL
    if not is_of_inspector or not isinstance(path, str):
        return
    scheme, _path = legacy_field.split(path)
    if scheme != 'node':
        return
    steps = legacy_field.steps(path)
    if not steps:
        return
    attribute = str(steps[0])
    if attribute not in NODE:
        yield (
            operation.pointer_to('field'),
            _message_without_attribute(path, attribute),
        )


_SHORTEST_NAME = 5
"""Minimum length of a name that is compared. A shorter name is similar to many
right names."""


def check_node(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find names below a node's attributes that are probably misspelled.

    These are names in ``driver_info`` and ``properties`` that differ from a
    name of Ironic only by a typing error: one letter, or case and punctuation;
    see :func:`.suggestion.find_intended`. All other names, and all short
    names, are assumed to belong to the site.
    """
    for use in field_use.list_uses(rule):
        if use.steps[0] == 'node':
            yield from _check_spelling(
                use.pointer, f'{{{use.text}}}', use.steps[1:]
            )
    for action in rule.actions:
        for write, steps in effects.writes_at_paths(action):
            if write.kind == 'node':
                yield from _check_spelling(
                    action.pointer_to(write.argument), f'"{write.name}"', steps
                )


def _check_spelling(
    pointer: str, text: str, steps: tuple[str, ...]
) -> checked_rule.Mistakes:
    """Find a misspelled name in a path, e.g. ``impi_address``.

    :param pointer: the place of the path in the rule.
    :param text: the path as its author wrote it, for the message.
    :param steps: the path, starting after the node.
    """
    if len(steps) < 2:
        return
    field, name = steps[:2]
    known = node_names.names_below(field)
    if not known or name in known or len(name) < _SHORTEST_NAME:
        return
    near = suggestion.find_intended(name, known)
    if near is not None:
        yield (
            pointer,
            _(
                '%(shown)s: Ironic has no "%(name)s" in %(field)s; did you '
                'mean "%(near)s"?'
            )
            % {'shown': text, 'name': name, 'field': field, 'near': near},
        )
