# SPDX-License-Identifier: Apache-2.0

"""Implements the actions set-capability and unset-capability.

Ironic stores all capabilities of a node in one text, at
``/properties/capabilities``: ``boot_mode:uefi,raid:1``. White space around
names and values does not matter.

When a rule is created, ``problems`` checks its literal arguments, and
``writes`` declares what the action changes, for tools such as ``lint``. When
the rule runs, the action changes the target, which is the data of the machine.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.actions import schema

Target = plugin.Target

PATH = schema.CAPABILITIES


def read_capabilities(target: Target) -> dict[str, str]:
    """Parse the node's capabilities, which are stored as one text.

    ``boot_mode:uefi,raid:1`` gives ``{'boot_mode': 'uefi', 'raid': '1'}``. A
    name without a colon has an empty value. If a name occurs twice, its last
    value is used.

    :param target: the data of the machine.
    :raises: :class:`.exceptions.OperationError` if the capabilities are not
        text, or the phase has too little budget left for their memory.
    """
    text = target.get(plugin.NODE, PATH)
    if text is data_path.ABSENT or not text:
        return {}
    if not isinstance(text, str):
        raise exceptions.OperationError(
            _('properties/capabilities is not text')
        )
    # Charge the budget of the phase for the memory of the mapping, which is
    # estimated as 16 times the memory of the text.
    target.roots.budget.make_text(len(text) * 16)
    capabilities = {}
    for capability in text.split(','):
        # There may be nothing between two commas.
        if capability.strip():
            name, _colon, value = capability.partition(':')
            capabilities[name.strip()] = value.strip()
    return capabilities


def _as_text(capabilities: dict[str, str]) -> str:
    """Return capabilities as text, such as ``boot_mode:uefi,raid:1``."""
    items = [f'{name}:{value}' for name, value in capabilities.items()]
    return ','.join(items)


def _write_all(
    target: Target, capabilities: dict[str, str], name: str
) -> None:
    """Write the text of all capabilities, or remove it if there are none.

    :param name: the capability that was changed. It is recorded as the only
        part of the text that the rule has set.
    """
    if capabilities:
        target.set(plugin.NODE, PATH, _as_text(capabilities), (name,))
    else:
        target.unset(plugin.NODE, PATH)


def declare(
    name: typing.Any, value: typing.Any = data_path.ABSENT
) -> plugin.Write:
    """Return the declaration that an action sets or removes a capability.

    Name and value are declared in the form that Ironic reads from the node:
    as text, without white space around them. A value with replacement fields
    is declared as it is, because it is only known when the rule runs.

    :param name: the name as written in the rule.
    :param value: the value as written in the rule; ABSENT if the capability is
        removed.
    """
    if isinstance(name, str):
        name = name.strip()
    is_removed = value is data_path.ABSENT
    has_fields = bool(interpolation.fields(value))
    if not is_removed and not has_fields:
        value = str(value).strip()
    return plugin.Write('capability', name, value, argument='name')


class SetCapability(plugin.Action):
    """``set-capability``: set a capability of the node."""

    SCHEMAS = {
        'name': [
            {'type': 'string', 'pattern': '^[^,:]+$'},
            {'type': ['number', 'boolean']},
        ],
        'value': [
            {'type': 'string', 'pattern': '^[^,]+$'},
            {'type': ['number', 'boolean']},
        ],
    }

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that sets the capability."""
        yield declare(arguments['name'], arguments['value'])

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the arguments that cannot be part of the capabilities text.

        * A name or a value must not be empty, or contain a comma, which ends a
          capability.
        * A name must not contain a colon, which ends the name. A value may.

        :param arguments: the texts of ``name`` and ``value``. An argument with
            replacement fields is left out when a rule is created.
        """
        for argument, text in arguments.items():
            separators = {','}
            if argument == 'name':
                separators = {',', ':'}
            has_separator = not separators.isdisjoint(text)
            is_empty = not text.strip()
            if has_separator or is_empty:
                yield argument, _('"%s" cannot be part of a capability') % text

    def __call__(self, target: Target, name: str, value: str) -> None:
        """Set the capability in the text of all capabilities.

        If the text already has the capability, nothing changes, and the run
        only records that the rule sets it.

        :param target: the data of the machine, to be changed.
        :raises: :class:`.exceptions.OperationError` if the name or the value
            cannot be part of the text.
        """
        # Check here as well, because arguments with replacement fields could
        # not be checked when the rule was created.
        problems = self.problems({'name': name, 'value': value})
        first_problem = next(problems, None)
        if first_problem is not None:
            _argument, message = first_problem
            raise exceptions.OperationError(message)
        # White space around names and values is ignored when they are read.
        name = name.strip()
        value = value.strip()
        # If the node already has the capability, this replaces its value.
        capabilities = {**read_capabilities(target), name: value}
        is_unchanged = target.get(plugin.NODE, PATH) == _as_text(capabilities)
        if is_unchanged:
            # Record this capability and no other capability of the text.
            # "explain" shows which rule sets a capability.
            target.confirm(plugin.NODE, (*PATH, name), value)
        else:
            _write_all(target, capabilities, name)

    def revert(self, target: Target, name: str) -> None:
        """Remove the capability."""
        UnsetCapability()(target, name)


class UnsetCapability(plugin.Action):
    """``unset-capability``: remove a capability of the node."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that removes the capability."""
        yield declare(arguments['name'])

    def __call__(self, target: Target, name: str) -> None:
        """Remove the capability if the node has it.

        :param target: the data of the machine, to be changed.
        """
        # Ironic ignores white space around names.
        name = name.strip()
        capabilities = read_capabilities(target)
        if name in capabilities:
            del capabilities[name]
            _write_all(target, capabilities, name)
