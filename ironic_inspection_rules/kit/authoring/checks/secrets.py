# SPDX-License-Identifier: Apache-2.0

"""Checks of lint: secrets in what rules write, own and of machines.

A sensitive rule is not shown, but what it writes is: whoever may read the
node reads it there. Ironic masks some names, in two mappings of a node. A
secret of a machine reads as ``******`` to a rule, which does not write it.
"""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.language.secrecy import masked_field
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.authoring.checks import secret_columns
from ironic_inspection_rules.kit.machine import node_names
from ironic_inspection_rules.plugins.legacy import text
from ironic_inspection_rules.rule_file import file_rule

_FEWEST_CHARACTERS = 4
"""Fewest letters and digits of a text or number that may be a secret."""

# Words that rules often write, and that are no secrets.
_COMMON_WORDS = frozenset(
    (
        'bios',
        'default',
        'disabled',
        'enabled',
        'false',
        'local',
        'netboot',
        'none',
        'null',
        'true',
        'uefi',
    )
)
_SCHEME = re.compile(r'^https?://')

_FREE_ATTRIBUTES = frozenset(
    (
        'description',
        'extra',
        'network_data',
        'protected_reason',
        'retired_reason',
    )
)
"""Attributes that may have anything. What Ironic gives a meaning is meant to
be read: a driver, a resource class, an owner."""

_SHOWS_ARGUMENTS = frozenset(
    ('default', 'get', 'join', 'lookup', 'regex_replace', 'replace', 'tier')
)
"""Filters whose arguments may be part of what they return."""

_PLACES = {
    'node': _('anybody who may read the node reads it there'),
    'capability': _('anybody who may read the node reads it there'),
    'port': _('anybody who may read the port reads it there'),
    'plugin_data': _('anybody who may read the inventory reads it there'),
}


_ENDINGS_OF_OPEN_NAMES = ('username', 'address')
"""Endings of names in ``driver_info`` that are no secrets, such as
``ipmi_username``, also of drivers that this Ironic does not have."""

_GET = 'get'
_SECRETS_OF_NODES = (('node', 'driver_info', masking.MASK),)
"""Paths of secrets that nearly every node has. The mask stands for their
names, which depend on the driver."""

_VALUE = ('value',)
"""The path to a value in an item of ``dict2items``."""


def see_same_values(
    first: model.Rule,
    second: model.Rule,
    fields: typing.Iterable[interpolation.Field],
) -> bool:
    """Return whether two rules surely see the same values in some fields.

    Only a sensitive rule sees secrets, and secret columns of tables: of
    ``{node.driver_info.ipmi_password}`` other rules see ``******``.
    """
    if first.sensitive == second.sensitive:
        return True
    for field in fields:
        if disclosure.is_secret(field.steps) or effects.reads_table(field):
            return False
    return True


def check_written(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find secrets that are written out in a rule not marked sensitive.

    Such as ``value: hunter2`` for the path ``/driver_info/ipmi_password``.
    """
    if rule.rule.sensitive:
        return
    for action in rule.actions:
        for name in masking.find_secret_arguments(action.arguments):
            yield (
                action.pointer_to(name),
                _('a secret in a rule that is not marked "sensitive"'),
            )


def check_readable(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find actions with which a sensitive rule shows values of its own.

    Data of the machine are no secret of the rule.
    """
    if not rule.rule.sensitive:
        return
    for action in rule.actions:
        for write in _list_writes_and_cleanups(action):
            if write.kind not in _PLACES:
                # The names of traits are labels, which any user may list.
                continue
            if _shows_own_secret(write, rule, action):
                yield (
                    action.pointer,
                    _(
                        'a sensitive rule writes a value of its own, and '
                        '%(who)s; Ironic masks only passwords, tokens, '
                        'private keys and the like, in driver_info and '
                        'instance_info'
                    )
                    % {'who': _PLACES[write.kind]},
                )
                break


def _shows_own_secret(
    write: plugin.Write,
    rule: checked_rule.CheckedRule,
    action: file_rule.Operation,
) -> bool:
    """Return whether a write shows a text of the rule that may be a secret."""
    for steps, value in _list_plain_values(write):
        if _may_be_read(write.kind, steps) and _has_own_secret(
            value, rule, action
        ):
            return True
    return False


def _list_writes_and_cleanups(
    action: file_rule.Operation,
) -> typing.Iterator[plugin.Write]:
    """Yield the writes of an action, and the writes to undo them.

    An action with a ``cleanup`` writes that value in place of its own where it
    is undone. Removals are left out, as they show nothing.
    """
    for write in effects.writes(action):
        if write.value is not data_path.ABSENT:
            yield write
        cleanup = action.arguments.get('cleanup')
        if cleanup is not None:
            yield write._replace(value=cleanup)


def _list_plain_values(
    write: plugin.Write,
) -> typing.Iterator[tuple[data_path.Path, typing.Any]]:
    """Yield the texts, numbers and booleans of a write, with their paths.

    ``{'rack': 'r1'}`` at ``/extra`` gives ``('extra', 'rack')`` and ``r1``.
    Nothing is yielded for a path that is known on a machine only.
    """
    if write.kind == 'capability':
        # Capabilities need no path, as they may always be read.
        yield (), write.value
        return
    if not isinstance(write.name, str):
        return
    try:
        steps = data_path.parse(write.name)
    except exceptions.OperationError:
        # A path may be invalid before its fields are filled in.
        return
    for below, value in data_path.walk(write.value):
        if isinstance(value, dict):
            # The name of a member may be the value of a field.
            for name in value:
                if interpolation.fields(name):
                    yield (*steps, *below), name
        elif not isinstance(value, list):
            yield (*steps, *below), value


def _may_be_read(kind: str, steps: data_path.Path) -> bool:
    """Return whether others may read a secret that is written to a place.

    Places that Ironic masks do not count, nor places that are meant to be
    read, such as the name of a user in ``driver_info``.

    :param kind: the kind of the place, one of :data:`.plugin.WRITE_KINDS`.
    :param steps: the path of the place in an object of that kind.
    """
    if kind in ('capability', 'plugin_data'):
        return True
    if kind == 'port':
        return steps[0] in _FREE_ATTRIBUTES
    if steps[0] in masking.MASKED_IN_API:
        # Of these mappings, such as driver_info, Ironic masks some members.
        if len(steps) == 1 or interpolation.fields(steps):
            # Which member is written is not known here.
            return False
        if masking.is_masked_in_api(steps):
            return False
        if steps[1].endswith(_ENDINGS_OF_OPEN_NAMES):
            return False
        # Ironic's own members are meant to be read, unless they are secrets.
        is_of_ironic = steps[1] in node_names.names_below(steps[0])
        return not is_of_ironic or masking.is_secret(steps[1])
    if steps[0] == 'properties':
        # Properties such as "memory_mb" are meant to be read.
        meant_to_be_read = node_names.names_below('properties')
        return len(steps) > 1 and steps[1] not in meant_to_be_read
    return steps[0] in _FREE_ATTRIBUTES


def _has_own_secret(
    value: typing.Any,
    rule: checked_rule.CheckedRule,
    action: file_rule.Operation,
) -> bool:
    """Return whether a value has text of the rule that may be a secret.

    Fields over ``vars`` and over literal items of a loop are followed to their
    values; all other fields are data of the machine.
    """
    ahead = [value]
    # The fields that were followed. Vars may use each other: they would be
    # followed for ever without it.
    followed: set[typing.Hashable] = set()
    while ahead:
        part = ahead.pop()
        if isinstance(part, dict):
            ahead += [*part, *part.values()]
        elif isinstance(part, list):
            ahead += part
        elif isinstance(part, interpolation.Field):
            # A literal in a filter may be written, as in {… | default('x')}.
            ahead += _list_arguments_in_result(part.filters)
            if (part.root, part.steps) not in followed:
                followed.add((part.root, part.steps))
                ahead += _find_own_values(part, rule, action)
        elif isinstance(part, str):
            for piece in interpolation.parse(part):
                if not isinstance(piece, str):
                    ahead.append(piece)
                elif _may_be_secret_text(piece):
                    return True
        elif _may_be_secret_text(str(part)):
            return True
    return False


def _find_own_values(
    field: interpolation.Field,
    rule: checked_rule.CheckedRule,
    action: file_rule.Operation,
) -> typing.Iterator[typing.Any]:
    """Yield the values of a rule that a field reads.

    These are values of ``vars``, and items of a literal loop.
    """
    if field.root == model.VARS:
        yield _follow_steps(rule.rule.vars, field.steps)
    elif field.root == interpolation.ITEM:
        loop = action.loop
        if not isinstance(loop, list):
            loop = [loop]
        for item in loop:
            yield _follow_steps(item, field.steps)


def _list_arguments_in_result(
    filters: tuple[filter_syntax.FilterCall, ...],
) -> typing.Iterator[typing.Any]:
    """Yield the arguments of filters that may be part of the results."""
    for call in filters:
        if call.name in _SHOWS_ARGUMENTS:
            for _name, value in call.arguments:
                yield value


def _may_be_secret_text(text: str) -> bool:
    """Return whether a text is long enough for a secret, and no common word.

    The scheme of a URL does not count.
    """
    without_scheme = _SCHEME.sub('', text)
    if without_scheme.lower() in _COMMON_WORDS:
        return False
    return sum(map(str.isalnum, without_scheme)) >= _FEWEST_CHARACTERS


def _follow_steps(value: typing.Any, steps: data_path.Path) -> typing.Any:
    """Follow the steps of a field into a value, as far as they lead.

    In ``{'rack': '{node.extra.rack}'}`` the steps ``('rack', 'name')`` lead
    only to the text ``{node.extra.rack}``, which is returned.

    :param value: all ``vars`` of the rule, or a literal item of its loop.
    :returns: the last value on the way.
    """
    for step in steps:
        if not isinstance(value, dict | list):
            break
        inner = data_path.get(value, (step,))
        if inner is data_path.ABSENT:
            break
        value = inner
    return value


def check_masked(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find secrets that an action would write, which inspection refuses.

    Rules read ``******`` in place of secrets, unless masking is switched off.
    An action may read what earlier actions wrote.
    """
    # The paths of secrets: those that nodes have, and those that the actions
    # before wrote.
    secrets: set[reach.Steps] = set(_SECRETS_OF_NODES)
    for action in rule.actions:
        for name, field in _find_masked_arguments(rule, action, secrets):
            yield (
                action.pointer_to(name),
                _(
                    '{%s} is or has a secret: rules do not see it, and the '
                    'inspection fails where one would write it'
                )
                % field,
            )
        secrets.update(_secrets_written_by(action))


def _find_masked_arguments(
    rule: checked_rule.CheckedRule,
    action: file_rule.Operation,
    secrets: set[reach.Steps],
) -> typing.Iterator[tuple[str, str]]:
    """Yield the arguments of an action that read a secret of the machine.

    Fields over ``vars`` and over the item of a loop are followed to the data
    that they are made of. A secret in a message reads ``******``, and is no
    error.

    :param secrets: the paths of secrets in nodes and from earlier actions.
    :returns: the name of the argument, and the field.
    """
    origins = origin.Origins(rule.rule.vars, action.loop)
    for name, value in action.templates.items():
        if name in action.op.plugin.TELLS:
            continue
        uses: list[reach.Use] = []
        for field in interpolation.fields(value):
            uses += reach.of_field('', field)
        for use in uses:
            if _reads_secret(use.steps, origins, secrets):
                yield name, use.text
    for name in getattr(action.op.plugin, 'FORMATTED', ()):
        # "{data[…]}" in an action of ironic-inspector.
        for field_text, keys in text.fields(action.arguments.get(name)):
            if any(masking.is_secret(str(key)) for key in keys):
                yield name, field_text


def _reads_secret(
    steps: reach.Steps, origins: origin.Origins, secrets: set[reach.Steps]
) -> bool:
    """Return whether a path in a field may lead to a secret of the machine.

    :param steps: the path, first its root, such as ``('vars', 'password')``.
    :param origins: says of which data ``vars`` and items are made.
    :param secrets: the paths of secrets in nodes and from earlier actions.
    """
    root, *below = steps
    if root not in masked_field.OF_RULE:
        return _is_or_has_secret(steps, secrets)
    return any(
        _may_be_secret(source, secrets)
        for source in origins.of(root, tuple(below))
    )


def _may_be_secret(source: origin.Origin, secrets: set[reach.Steps]) -> bool:
    """Return whether a value of a rule is or has a secret of the machine.

    The value is that of a variable, or the item of a loop.

    :param source: a field of the data that the value is made of, such as
        ``{node.driver_info | get('/redfish_password')}``; ``source.rest`` is
        the path from there to the value, such as ``('password',)`` for
        ``{item.password}`` in a loop over the field.
    :param secrets: the paths of secrets in nodes and from earlier actions.
    """
    steps = (source.root, *source.steps)
    # The columns of a row have names of their own.
    if not source.is_row and _names_secret(source.rest):
        return True
    # The first use is the field itself, of which ``steps`` has the names. The
    # others are what its filters step into.
    _field, *stepped_into = reach.of_field('', source.field)
    if any(_names_secret(use.steps) for use in stepped_into):
        return True
    if not source.is_kept:
        # The value is made of all that the field reads.
        return _is_or_has_secret(steps, secrets)
    if stepped_into and source.field.filters[-1].name == _GET:
        # The value is what "get" has stepped to, not all that the field reads.
        steps = stepped_into[-1].steps
    if source.rest not in ((), _VALUE):
        # The value is a part of a place that may have secrets: only the names
        # on the way say whether it is a secret.
        return _names_secret(steps)
    return _is_or_has_secret(steps, secrets)


def _is_or_has_secret(steps: reach.Steps, secrets: set[reach.Steps]) -> bool:
    """Return whether a place is a secret, or has a secret below it.

    ``('node', 'driver_info')`` has secrets below it.

    :param secrets: the paths of secrets in nodes and from earlier actions.
    """
    if _names_secret(steps):
        return True
    return any(secret[: len(steps)] == steps for secret in secrets)


def _names_secret(steps: typing.Iterable[str]) -> bool:
    """Return whether a path has the name of a secret, such as ``password``."""
    return any(map(masking.is_secret, steps))


def _secrets_written_by(
    action: file_rule.Operation,
) -> typing.Iterator[reach.Steps]:
    """Yield the paths with the name of a secret that an action writes.

    Later actions read a masked value there. ``{'bmc': {'password': 'x'}}`` at
    ``/extra`` gives ``('node', 'extra', 'bmc', 'password')``. Ports, removals
    and empty values are left out.
    """
    for write, steps in effects.writes_at_paths(action):
        if write.kind == 'port' or write.value is data_path.ABSENT:
            continue
        for below, value in data_path.walk(write.value):
            if not value or isinstance(value, dict | list):
                continue
            path = (*steps, *below)
            if any(map(masking.is_secret, path)):
                yield (write.kind, *path)


def check_columns(
    rules: typing.Sequence[checked_rule.CheckedRule], tables: table.Tables
) -> checked_rule.MistakesOfRules:
    """Find secret columns of tables that an action would write.

    Only sensitive rules see such columns; with others the inspection fails.
    """
    open_rules = [rule for rule in rules if not rule.rule.sensitive]
    yield from secret_columns.check(open_rules, tables)
