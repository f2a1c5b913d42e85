# SPDX-License-Identifier: Apache-2.0

"""Implements the actions set-capability and unset-capability."""

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
    # The mapping takes many times the memory of the text.
    target.roots.budget.make_text(len(text) * 16)
    capabilities = {}
    for item in text.split(','):
        if item.strip():
            name, _colon, value = item.partition(':')
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
    """Declare that an action sets or removes a capability.

    :param name: the name as written in the rule.
    :param value: the value as written in the rule; without a value, the
        capability is removed.
    """
    if isinstance(name, str):
        name = name.strip()
    is_written_out = not interpolation.fields(value)
    if value is not data_path.ABSENT and is_written_out:
        # The node stores the value as text, and surrounding white space is
        # ignored when the text is read.
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

        A comma ends a capability and a colon ends its name. Names and values
        must not be empty.
        """
        for argument, text in arguments.items():
            is_usable = text.strip() and ',' not in text
            if argument == 'name' and ':' in text:
                is_usable = False
            if not is_usable:
                yield argument, _('"%s" cannot be part of a capability') % text

    def __call__(self, target: Target, name: str, value: str) -> None:
        """Set the capability in the text of all capabilities.

        If the text already has the capability, nothing changes.

        :raises: :class:`.exceptions.OperationError` if the name or the value
            cannot be part of that text.
        """
        problems = self.problems({'name': name, 'value': value})
        first = next(problems, None)
        if first is not None:
            _argument, problem = first
            raise exceptions.OperationError(problem)
        # Ironic, and the next action that changes a capability, ignore white
        # space around names and values.
        name = name.strip()
        value = value.strip()
        capabilities = {**read_capabilities(target), name: value}
        if target.get(plugin.NODE, PATH) == _as_text(capabilities):
            # The run must record that this rule sets this capability, but no
            # other one in the text, because "explain" shows that.
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
        """Remove the capability from the text of all, if the text has it."""
        # Ironic ignores white space around names.
        name = name.strip()
        capabilities = read_capabilities(target)
        if name in capabilities:
            del capabilities[name]
            _write_all(target, capabilities, name)
