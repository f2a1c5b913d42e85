# SPDX-License-Identifier: Apache-2.0

"""Lists our versioned objects, and says whether this process has a database.

An API with the option ``use_rpc_for_database`` has none: the remotable methods
of its objects run in a conductor. The first argument of every remotable method
is the context of the caller, which Ironic's RPC passes on to the conductor.
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

# The objects are registered when their modules are imported.
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

    Nothing is checked in an API without a database, because its conductor does
    the check.

    :raises: DatabaseNotReady, see :func:`.migration.check`.
    """
    if has_database():
        migration.check()


def has_database() -> bool:
    """Return whether this process accesses the database directly."""
    # Ironic sets the attribute in an API that accesses the database through a
    # conductor.
    return base.IronicObject.indirection_api is None


def require_own_database(failure: str) -> None:
    """Check that this process accesses the database directly.

    :param failure: a sentence for the user that says what is not possible
        otherwise, e.g. ``'Traits cannot be counted'``.
    :raises: Invalid if a conductor reads the database for this process.
    """
    if not has_database():
        raise exceptions.Invalid(
            _('%s: this API has [DEFAULT]use_rpc_for_database') % failure
        )
