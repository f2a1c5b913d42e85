# SPDX-License-Identifier: Apache-2.0

"""Whether this process reaches the database; the list of our objects.

The context of the caller is the first argument of their methods; Ironic's RPC
passes it on to the conductor.
"""

from ironic.objects import base

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import early_phase
from ironic_inspection_rules.objects import machine
from ironic_inspection_rules.objects import request
from ironic_inspection_rules.objects import rule
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.objects import run
from ironic_inspection_rules.objects import table

# Importing them registers them.
CLASSES = (
    early_phase.EarlyPhase,
    machine.InspectedMachine,
    request.InspectionRequest,
    rule.StoredRule,
    rule_statistics.RuleStatistics,
    run.InspectionRun,
    table.RuleTable,
)
"""Objects that an API without a database reaches through a conductor."""


def check() -> None:
    """Check that the objects can be stored.

    An API without a database leaves the check to its conductor.

    :raises: DatabaseNotReady as :func:`.migration.check`.
    """
    if is_here():
        migration.check()


def is_here() -> bool:
    """Check if this process reaches the database itself."""
    # Ironic sets it in an API that leaves the database to a conductor.
    return base.IronicObject.indirection_api is None


def require_own_database(failure: str) -> None:
    """Check that this process reaches the database itself.

    :param failure: what is impossible otherwise, as a sentence for the user:
        ``'Traits cannot be counted'``.
    :raises: Invalid if a conductor reads the database for this process.
    """
    if not is_here():
        raise exceptions.Invalid(
            _('%s: this API has [DEFAULT]use_rpc_for_database') % failure
        )
