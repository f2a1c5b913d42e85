# SPDX-License-Identifier: Apache-2.0

"""The objects, and checks that the tables behind them are there.

Their methods take the context of the caller as their first argument, which
Ironic's RPC hands to the conductor.
"""

from ironic.objects import base

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import machine
from ironic_inspection_rules.objects import request
from ironic_inspection_rules.objects import rule
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.objects import run

# To import them is to register them.
CLASSES = (machine.InspectedMachine, request.InspectionRequest, rule.Rule,
           rule_statistics.RuleStatistics, run.InspectionRun)
"""What an API without a database asks a conductor for."""


def check() -> None:
    """Make sure that the objects can be stored.

    An API process that reaches its objects through the conductor leaves
    that to the conductor.

    :raises: DatabaseNotReady if the tables are missing or older than the
        code, or the database does not answer.
    """
    if are_here():
        migration.check()


def are_here() -> bool:
    """Check if this process reaches the database itself."""
    return base.IronicObject.indirection_api is None


def require(what: str) -> None:
    """Make sure that what a request asks for is read by this process.

    :param what: a sentence for who asks: ``'Traits cannot be counted'``.
    :raises: Invalid if a conductor reads the database for this process.
    """
    if not are_here():
        raise exceptions.Invalid(
            _('%s: this API has [DEFAULT]use_rpc_for_database') % what)
