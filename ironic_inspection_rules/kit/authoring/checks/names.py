# SPDX-License-Identifier: Apache-2.0

"""Checks of lint: names in fields and paths that nothing has."""

from collections.abc import Collection
import re
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.machine import node_names
from ironic_inspection_rules.plugins.legacy import field as legacy_field
from ironic_inspection_rules.plugins.legacy import text as legacy_text
from ironic_inspection_rules.rule_file import file_rule

# The attributes of Ironic's nodes that rules see; a test compares this list
# with Ironic.
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

# Likewise the attributes of its ports.
PORT = frozenset(
    """
    address available_for_dynamic_portgroup category created_at description
    extra id internal_info is_smartnic local_link_connection name node_id
    node_uuid physical_network portgroup_id pxe_enabled updated_at uuid
    vendor""".split()
)

# A MAC address after a dot, which belongs in brackets: the address, the rest.
_PORT = re.compile(r'ports\.((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2})(.*)')
# The beginning of "{data.inventory.cpu}" and "{data[inventory][cpu]}".
_DATA = re.compile(
    r'data(?:\.(inventory|plugin_data)|'
    r'\[(inventory|plugin_data)\])(?=[.\[])'
)
_NEGATIVE = re.compile(r'-[0-9]+')

# The value before a filter is a path; a key of a table may not look so.
_KEY_IN_TABLE = re.compile(r'[^|]*\| *lookup\( *tables\..*')

# As people write names and expressions for a template engine to replace.
_JINJA = re.compile(
    r'\{\{-? +[/A-Za-z_][\w./]*(?:\[[^{}]*\]|\([^{}]*\))* *'
    r'(?:[|+~-][^{}]*)?\}\}|\{%'
)


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find fields, and paths of ironic-inspector, that no machine can have.

    These are:

    * text in braces that is no field, such as ``{ports.aa:bb:cc:dd:ee:ff}``
      or ``{tables.racks['R1']}``;
    * of ironic-inspector's ops, ``{data[…]}`` and ``node://…``;
    * names in ``{vars.…}`` that the rule does not have;
    * names that Ironic does not report there.
    """
    for pointer, field, _item in reach.fields(rule):
        message = _why_no_field(field)
        if message is not None:
            yield pointer, message
    for operation in rule.operations:
        yield from _check_inspector_fields(operation)
    for use in reach.uses(rule):
        if use.steps[0] == model.VARS:
            problem = _problem_of_vars(use, rule)
        else:
            problem = _problem(use)
        if problem is not None:
            yield use.pointer, problem


def check_vars(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find values of a rule that nothing in it uses."""
    # {vars} alone has one step and uses all values, {vars.name} has two.
    beginnings = {use.steps[:2] for use in reach.uses(rule)}
    if (model.VARS,) in beginnings:
        return
    for name in rule.rule.vars:
        if (model.VARS, name) not in beginnings:
            yield f'/{model.VARS}/{name}', _('nothing uses {vars.%s}') % name


def _problem_of_vars(
    use: reach.Use, rule: checked_rule.CheckedRule
) -> str | None:
    """Return why one of the ``vars`` is not there, None where it is.

    The rule has no such name, or computes it later than it is used.

    :param use: a field over ``vars``, anywhere in the rule.
    """
    if len(use.steps) == 1:
        # All values together are always there.
        return None
    computed = list(rule.rule.vars)
    tokens = use.pointer.split('/')
    if tokens[1] == model.VARS:
        # One of the vars sees only those before it.
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
    hint = suggestion.hint(name, computed) or _('it has none')
    return _(
        '{%(field)s}: the rule has no "%(name)s" in its vars; %(hint)s'
    ) % {'field': use.text, 'name': name, 'hint': hint}


def check_jinja(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find what a template engine should have replaced."""
    for pointer, text in templates(rule.written.entry):
        yield (
            pointer,
            _('"%s" looks like a variable of Jinja2 that was not replaced')
            % text,
        )


def templates(
    entry: typing.Mapping[str, typing.Any],
) -> checked_rule.PlacedTexts:
    """Yield the texts of a rule that have a template of Jinja2 in them."""
    for name in ('description', 'scope', *model.CONTENT):
        for pointer, text in checked_rule.texts(entry.get(name), f'/{name}'):
            if _JINJA.search(text):
                yield pointer, text


def _why_no_field(field: interpolation.Field) -> str | None:
    """Return why a text in braces is no field, None if it is one."""
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
    """Return the field that is meant by a MAC address after a dot.

    :returns: None for other fields.
    """
    match = _PORT.fullmatch(field)
    if match is None:
        return None
    address, rest = match.groups()
    return f'ports[{address}]{rest}'


def data_meant(field: str) -> str | None:
    """Return the field that is meant by one over ``data``, if it is clear.

    By ``data.inventory.cpu``, as the manual of Ironic 2025.1 has it,
    ``inventory.cpu`` is meant.
    """
    match = _DATA.match(field)
    if match is None:
        return None
    root = match[1] or match[2]
    return root + field[match.end() :]


def _negative_index(use: reach.Use) -> str | None:
    """Return the problem of a step that counts from the end of a list.

    A number below zero may be a name in a mapping, but is no index.
    """
    steps = use.from_roots or use.steps
    for place, step in enumerate(steps):
        above = field_value.type_at(steps[:place])
        if _NEGATIVE.fullmatch(step) and above != field_value.MAPPING:
            return _(
                '{%(field)s}: a list has no item "%(step)s"; write '
                "{… | last}, or {… | last | get('…')}"
            ) % {'field': use.text, 'step': step}
    return None


def _root_meant(use: reach.Use) -> str:
    """Return the hint for a field over an unknown root: what may be meant."""
    root = use.steps[0]
    meant = data_meant(use.text)
    if meant:
        return _('did you mean {%s}?') % meant
    near = suggestion.nearest(root, interpolation.ROOTS)
    if near:
        return _('did you mean "%s"?') % near
    if root == 'data':
        return _(
            'what ironic-inspector called data is in inventory and plugin_data'
        )
    return _('did you mean {plugin_data[%s]}?') % root


def _problem(use: reach.Use) -> str | None:
    """Return why a field can never exist, None where it can.

    Reasons are an index below zero, an item outside of a loop, an unknown
    root, and a name that nodes, ports or items do not have.

    :param use: a field over any name but ``vars``.
    """
    root = use.steps[0]
    negative_index = _negative_index(use)
    if negative_index:
        return negative_index
    if root == interpolation.ITEM and use.item is None:
        return _('{%s} does not exist outside of a loop') % use.text
    if root not in (*interpolation.ROOTS, interpolation.ITEM):
        return _('{%(field)s} is over an unknown name; %(hint)s') % {
            'field': use.text,
            'hint': _root_meant(use),
        }
    unknown_step = unknown(use)
    if unknown_step is None:
        return None
    name, valid_names = unknown_step
    if valid_names is NODE:
        return _no_attribute(f'{{{use.text}}}', name)
    if valid_names is PORT:
        text = _('{%(field)s}: a port has no "%(name)s"; %(hint)s')
    else:
        text = _(
            '{%(field)s}: the items of the loop have no "%(name)s"; %(hint)s'
        )
    hint = suggestion.hint(name, valid_names) or _('they are no mappings')
    return text % {'field': use.text, 'name': name, 'hint': hint}


def unknown(use: reach.Use) -> tuple[str, Collection[str]] | None:
    """Return the name in a field that a node, port or loop item lacks.

    :returns: the name, and all names that are there: :data:`NODE`,
        :data:`PORT` or those of the items. None where no name is unknown, or
        where nothing is known of what is there.
    """
    steps = use.from_roots or ()
    if use.steps[0] == 'node' and len(steps) > 1:
        if steps[1] in NODE:
            return None
        return steps[1], NODE
    # The second step says which port.
    if steps[:1] == ('ports',) and len(steps) > 2:
        if steps[2] in PORT:
            return None
        return steps[2], PORT
    return reach.lacking(use)


def _no_attribute(field: str, name: str) -> str:
    """Return that a node has no attribute of this name.

    :param field: as its author wrote it.
    """
    hint = suggestion.hint(name, NODE) or _(
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
    """Find ``{data[…]}`` and ``node://…`` that lead to nothing.

    Only ops of ironic-inspector read them; other operations are passed over.
    """
    for name in getattr(operation.op.plugin, 'FORMATTED', ()):
        for problem in legacy_text.problems(operation.arguments.get(name)):
            yield operation.pointer_to(name), problem
    path = operation.arguments.get('field')
    if not isinstance(path, str) or (
        'field' not in operation.op.plugin.LITERAL
    ):
        return
    scheme, _path = legacy_field.split(path)
    if scheme != 'node':
        return
    steps = legacy_field.steps(path)
    if not steps:
        return
    attribute = str(steps[0])
    if attribute not in NODE:
        yield operation.pointer_to('field'), _no_attribute(path, attribute)


_SHORTEST = 5
"""Length from which on a name is compared; a shorter name is near to many that
are right."""


def check_node(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find names of a node that are most likely misspelt.

    These are names in ``driver_info`` and ``properties`` that are a typing
    error away from one of Ironic's, see :func:`.suggestion.slip`. Any other
    name, or a short one, may be a site's own.
    """
    for use in reach.uses(rule):
        if use.steps[0] == 'node':
            yield from _slip(use.pointer, f'{{{use.text}}}', use.steps[1:])
    for action in rule.actions:
        for write, steps in effects.writes_at_paths(action):
            if write.kind == 'node':
                yield from _slip(
                    action.pointer_to(write.argument), f'"{write.name}"', steps
                )


def _slip(
    pointer: str, text: str, steps: tuple[str, ...]
) -> checked_rule.Mistakes:
    """Find the misspelt name of a field of a node.

    It is no name of Ironic's, but a typing error away from one. Names of fewer
    than five letters are not compared.

    :param pointer: where the rule has the path.
    :param text: the path as its author wrote it, for the message.
    :param steps: the path from the node on.
    """
    if len(steps) < 2:
        return
    field, name = steps[:2]
    valid_names = node_names.below(field)
    if not valid_names or name in valid_names or len(name) < _SHORTEST:
        return
    near = suggestion.slip(name, valid_names)
    if near is not None:
        yield (
            pointer,
            _(
                '%(shown)s: Ironic has no "%(name)s" in %(field)s; did you '
                'mean "%(near)s"?'
            )
            % {'shown': text, 'name': name, 'field': field, 'near': near},
        )
