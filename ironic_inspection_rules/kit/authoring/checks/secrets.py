# SPDX-License-Identifier: Apache-2.0

"""Find secrets in the values that rules write, for ``lint``.

There are two kinds of secrets:

- Secrets of a rule are literals in it, e.g. a password. A rule that is marked
  sensitive is not shown, but anyone who may read the node can read what the
  rule writes. Ironic masks only some names, in two mappings of a node.
- Secrets of a machine are data whose names mark them, e.g. ``password``. Rules
  read them as ``******``, and cannot write them.

A write is what an action changes, e.g. a value at a path of the node; see
:class:`.plugin.Write`. A check yields mistakes: pairs of the place in the
rule, e.g. ``/actions/0``, and a message.
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
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.authoring.checks import secret_columns
from ironic_inspection_rules.kit.machine import node_names
from ironic_inspection_rules.plugins.legacy import text
from ironic_inspection_rules.rule_file import file_rule

_FEWEST_CHARACTERS = 4
"""Minimum number of letters and digits in a text or number that may be a
secret."""

# Words that rules often write, and that are not secrets.
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
"""Attributes that may have any content. All other attributes have a meaning to
Ironic and are meant to be read, e.g. a driver, a resource class or an
owner."""

_SHOWS_ARGUMENTS = frozenset(
    ('default', 'get', 'join', 'lookup', 'regex_replace', 'replace', 'tier')
)
"""Filters whose result may contain their arguments."""

# Who can read a value, by the kind of the place to which it is written.
_PLACES = {
    'node': _('anybody who may read the node reads it there'),
    'capability': _('anybody who may read the node reads it there'),
    'port': _('anybody who may read the port reads it there'),
    'plugin_data': _('anybody who may read the inventory reads it there'),
}


_ENDINGS_OF_OPEN_NAMES = ('username', 'address')
"""Endings of names in ``driver_info`` that are not secrets, e.g.
``ipmi_username``. They also apply to drivers that this Ironic does not
have."""

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
    """Return whether two rules certainly see the same values in some fields.

    Only a sensitive rule sees secrets and secret columns of tables. Other
    rules see ``******`` instead of ``{node.driver_info.ipmi_password}``.
    """
    if first.sensitive == second.sensitive:
        return True
    for field in fields:
        if disclosure.is_secret(field.steps) or effects.reads_table(field):
            return False
    return True


def check_written(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find literal secrets in a rule that is not marked sensitive.

    An example is ``value: hunter2`` for the path
    ``/driver_info/ipmi_password``.
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
    """Find actions with which a sensitive rule discloses its own values.

    Data of the machine are not secrets of the rule.
    """
    if not rule.rule.sensitive:
        return
    for action in rule.actions:
        for write in _list_writes_and_cleanups(action):
            if write.kind not in _PLACES:
                # Names of traits are labels, which any user may list.
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
                # Report an action only once.
                break


def _shows_own_secret(
    write: plugin.Write,
    rule: checked_rule.CheckedRule,
    action: file_rule.Operation,
) -> bool:
    """Return whether a write discloses text of the rule that may be secret.

    It does if others may read the place, and the value there has text of the
    rule that may be a secret.

    :param action: the action of the write; its loop may have literal items.
    """
    for steps, value in _list_plain_values(write):
        if _may_be_read(write.kind, steps) and _has_own_secret(
            value, rule, action
        ):
            return True
    return False


def _list_writes_and_cleanups(
    action: file_rule.Operation,
) -> typing.Iterator[plugin.Write]:
    """Yield the writes of an action, and the writes that undo them.

    If an action has a ``cleanup``, undoing it writes that value instead.
    Removals are skipped, because they disclose nothing.
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
    Nothing is yielded if the path is only known on a machine.
    """
    if write.kind == 'capability':
        # Capabilities need no path, because anyone may read them.
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

    - Everything in capabilities and plugin data can be read.
    - Ironic masks passwords and the like in ``driver_info`` and
      ``instance_info``.
    - A place that is meant to be read holds no secret, e.g. the name of a user
      in ``driver_info``, so the result is False.

    :param kind: the kind of the place, one of :data:`.plugin.WRITE_KINDS`.
    :param steps: the path of the place in an object of that kind.
    """
    if kind in ('capability', 'plugin_data'):
        return True
    if kind == 'port':
        return steps[0] in _FREE_ATTRIBUTES
    if steps[0] in masking.MASKED_IN_API:
        return _may_be_read_in_masked(steps)
    if steps[0] == 'properties':
        # Properties such as "memory_mb" are meant to be read.
        meant_to_be_read = node_names.names_below('properties')
        return len(steps) > 1 and steps[1] not in meant_to_be_read
    return steps[0] in _FREE_ATTRIBUTES


def _may_be_read_in_masked(steps: data_path.Path) -> bool:
    """Return whether others may read a secret that Ironic does not mask.

    :param steps: a path in one of the mappings of which Ironic masks some
        members, e.g. ``('driver_info', 'ipmi_password')``.
    """
    if len(steps) == 1 or interpolation.fields(steps):
        # It is not known which member is written.
        return False
    if masking.is_masked_in_api(steps):
        return False
    if steps[1].endswith(_ENDINGS_OF_OPEN_NAMES):
        return False
    # Ironic's own members are meant to be read, unless they are secrets.
    is_of_ironic = steps[1] in node_names.names_below(steps[0])
    return not is_of_ironic or masking.is_secret(steps[1])


def _has_own_secret(
    value: typing.Any,
    rule: checked_rule.CheckedRule,
    action: file_rule.Operation,
) -> bool:
    """Return whether a value has text of the rule that may be a secret.

    Fields over ``vars`` and over literal items of a loop are followed to their
    values. All other fields are data of the machine.
    """
    # The values that have not been examined yet.
    ahead = [value]
    # The fields that have been followed. Variables may use each other, so
    # without this set the loop might never end.
    followed: set[typing.Hashable] = set()
    while ahead:
        part = ahead.pop()
        if isinstance(part, dict):
            ahead += [*part, *part.values()]
        elif isinstance(part, list):
            ahead += part
        elif isinstance(part, interpolation.Field):
            # A literal in a filter may be written, e.g. in {… | default('x')}.
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

    ``{vars.rack}`` reads a value of ``vars``, and ``{item}`` reads all items
    of a literal loop. If the loop is not literal, it is yielded as it is
    written. Other fields read no values of the rule.

    :param action: the action of the field, which may have the loop.
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
    """Yield the arguments of filters that their results may contain."""
    for call in filters:
        if call.name in _SHOWS_ARGUMENTS:
            for _name, value in call.arguments:
                yield value


def _may_be_secret_text(text: str) -> bool:
    """Return whether a text is long enough for a secret and not a common word.

    ``hunter2`` may be a secret, but ``uefi`` and ``r1`` may not. The scheme of
    a URL, ``https://``, is ignored.
    """
    without_scheme = _SCHEME.sub('', text)
    if without_scheme.lower() in _COMMON_WORDS:
        return False
    return sum(map(str.isalnum, without_scheme)) >= _FEWEST_CHARACTERS


def _follow_steps(value: typing.Any, steps: data_path.Path) -> typing.Any:
    """Follow the steps of a field into a value, as far as they lead.

    In ``{'rack': '{node.extra.rack}'}``, the steps ``('rack', 'name')`` only
    lead to the text ``{node.extra.rack}``, which is returned.

    :param value: all ``vars`` of the rule, or a literal item of its loop.
    :returns: the last value that the steps reach.
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

    Rules read ``******`` instead of secrets, unless masking is disabled. An
    action may read values that earlier actions have written.
    """
    # The paths of secrets that nodes have, and of secrets that earlier actions
    # have written.
    secrets: set[field_use.Steps] = set(_SECRETS_OF_NODES)
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
    secrets: set[field_use.Steps],
) -> typing.Iterator[tuple[str, str]]:
    """Yield the arguments of an action that read a secret of the machine.

    Fields over ``vars`` and over the item of a loop are followed to the data
    from which they are made. A secret in a message reads ``******``, and is
    not an error.

    :param secrets: the paths of secrets in nodes and from earlier actions.
    :returns: the name of the argument, and the field.
    """
    origins = origin.Origins(rule.rule.vars, action.loop)
    for name, value in action.templates.items():
        if name in action.op.plugin.TELLS:
            # The argument is a message to people.
            continue
        uses: list[field_use.FieldUse] = []
        for field in interpolation.fields(value):
            uses += field_use.list_uses_of_field('', field)
        for use in uses:
            if _reads_secret(use.steps, origins, secrets):
                yield name, use.text
    for name in getattr(action.op.plugin, 'FORMATTED', ()):
        # These are fields like "{data[…]}" in an action of ironic-inspector.
        for field_text, keys in text.fields(action.arguments.get(name)):
            if any(masking.is_secret(str(key)) for key in keys):
                yield name, field_text


def _reads_secret(
    steps: field_use.Steps,
    origins: origin.Origins,
    secrets: set[field_use.Steps],
) -> bool:
    """Return whether a path in a field may lead to a secret of the machine.

    :param steps: the path, starting with its root, e.g. ``('vars',
        'password')``.
    :param origins: finds the data from which ``vars`` and items are made.
    :param secrets: the paths of secrets in nodes and from earlier actions.
    """
    root, *below = steps
    if root not in masked_field.ROOTS_OF_RULE:
        return _is_or_has_secret(steps, secrets)
    return any(
        _may_be_secret(source, secrets)
        for source in origins.of(root, tuple(below))
    )


def _may_be_secret(
    source: origin.Origin, secrets: set[field_use.Steps]
) -> bool:
    """Return whether a value of a rule is or contains a machine's secret.

    The value belongs to a variable, or is the item of a loop.

    :param source: a field over the data from which the value is made, e.g.
        ``{node.driver_info | get('/redfish_password')}``. ``source.rest`` is
        the path from there to the value, e.g. ``('password',)`` for
        ``{item.password}`` in a loop over the field.
    :param secrets: the paths of secrets in nodes and from earlier actions.
    """
    # The names of columns in a row do not indicate secrets.
    if not source.is_row and _names_secret(source.rest):
        return True
    # The first use is the field itself. The other uses are values into which
    # its filters step.
    _field, *stepped_into = field_use.list_uses_of_field('', source.field)
    if any(_names_secret(use.steps) for use in stepped_into):
        return True
    steps = (source.root, *source.steps)
    if not source.is_kept:
        # The value is made from everything that the field reads.
        return _is_or_has_secret(steps, secrets)
    if stepped_into and source.field.filters[-1].name == _GET:
        # The value is the result of "get", not everything that the field
        # reads.
        steps = stepped_into[-1].steps
    if source.rest not in ((), _VALUE):
        # The value is a part of a place that may contain secrets. Only the
        # names on the path show whether it is a secret itself.
        return _names_secret(steps)
    return _is_or_has_secret(steps, secrets)


def _is_or_has_secret(
    steps: field_use.Steps, secrets: set[field_use.Steps]
) -> bool:
    """Return whether a place is a secret, or contains a secret.

    For example, ``('node', 'driver_info')`` contains secrets.

    :param secrets: the paths of secrets in nodes and from earlier actions.
    """
    if _names_secret(steps):
        return True
    return any(secret[: len(steps)] == steps for secret in secrets)


def _names_secret(steps: typing.Iterable[str]) -> bool:
    """Return whether a path has the name of a secret, e.g. ``password``."""
    return any(map(masking.is_secret, steps))


def _secrets_written_by(
    action: file_rule.Operation,
) -> typing.Iterator[field_use.Steps]:
    """Yield the paths with the name of a secret that an action writes.

    Later actions read ``******`` at these paths. For example, ``{'bmc':
    {'password': 'x'}}`` at ``/extra`` gives ``('node', 'extra', 'bmc',
    'password')``. Ports, removals and empty values are skipped.
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

    Only sensitive rules see such columns. With other rules, the inspection
    fails.
    """
    open_rules = [rule for rule in rules if not rule.rule.sensitive]
    yield from secret_columns.check(open_rules, tables)
