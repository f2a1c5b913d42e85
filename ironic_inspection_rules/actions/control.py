# SPDX-License-Identifier: Apache-2.0

"""Actions on the course of inspection (spec 003 "Available actions")."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import schema
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _

LEVELS = ('debug', 'info', 'warning', 'error', 'critical')


class Fail(plugin.Action):
    """``fail``: the inspection fails with this message."""

    SUPPORTS_EARLY = True
    TELLS = frozenset({'msg'})
    FAILS = True

    def of_node(self, arguments: plugin.Arguments) -> typing.Iterator[str]:
        if arguments.get('maintenance'):
            yield 'maintenance'

    def __call__(self, target: working_copy.WorkingCopy, msg: typing.Any,
                 maintenance: bool = False) -> None:
        raise exceptions.FailRequested(str(msg), maintenance)


class Log(plugin.Action):
    """``log``: the message goes to the log of the service."""

    SUPPORTS_EARLY = True
    TELLS = frozenset({'msg'})
    SCHEMAS = {'level': [schema.whole(schema.words(LEVELS))]}

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        if arguments.get('level', 'info').lower() not in LEVELS:
            yield 'level', _('must be one of %s') % ', '.join(LEVELS)

    def __call__(self, target: working_copy.WorkingCopy, msg: typing.Any,
                 level: str = 'info') -> None:
        if level.lower() not in LEVELS:
            raise exceptions.OperationError(
                _('level must be one of %s') % ', '.join(LEVELS))
        target.log(level.lower(), str(msg))
