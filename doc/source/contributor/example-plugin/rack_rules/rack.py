# SPDX-License-Identifier: Apache-2.0

"""A condition and an action on racks: names such as ``r12-u07``."""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import plugin

_NAME = re.compile(r'(r[0-9]+)-u([0-9]+)')


class InRack(plugin.Condition):
    """``in-rack``: the name says that the machine is in this rack."""

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> typing.Iterator[plugin.Fact]:
        if not inverted:
            # As text, all names of a rack are between these two.
            yield plugin.Fact(
                arguments['name'], 'ge', f'{arguments["rack"]}-u'
            )
            yield plugin.Fact(
                arguments['name'], 'lt', f'{arguments["rack"]}-v'
            )

    def __call__(self, name: str, rack: str) -> bool:
        match = _NAME.fullmatch(name)
        return match is not None and match[1] == rack


class SetRack(plugin.Action):
    """``set-rack``: keep the rack and the unit that a name tells."""

    def writes(
        self, arguments: plugin.Arguments
    ) -> typing.Iterator[plugin.Write]:
        for path in ('/extra/rack', '/extra/unit'):
            yield plugin.Write(
                'node', path, arguments['name'], argument='name'
            )

    def problems(
        self, arguments: typing.Mapping[str, typing.Any]
    ) -> typing.Iterator[tuple[str, str]]:
        if 'name' in arguments and not _NAME.fullmatch(arguments['name']):
            yield 'name', 'must be like r12-u07'

    def __call__(
        self, target: plugin.Target, name: str, with_unit: bool = True
    ) -> None:
        match = _NAME.fullmatch(name)
        if match is None:
            raise exceptions.OperationError(f'"{name}" tells no rack')
        target.set(plugin.NODE, ('extra', 'rack'), match[1])
        if with_unit:
            target.set(plugin.NODE, ('extra', 'unit'), int(match[2]))

    def revert(self, target: plugin.Target) -> None:
        """Forget where the machine is."""
        for name in ('rack', 'unit'):
            target.unset(plugin.NODE, ('extra', name))
