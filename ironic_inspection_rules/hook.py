# SPDX-License-Identifier: Apache-2.0

"""The inspection hook, through which a conductor runs rules."""

from ironic.conf import CONF
from ironic.drivers.modules.inspector.hooks import base
from oslo_log import log

from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.inspection import disabling_options
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.patches import database
from ironic_inspection_rules.patches import deploy as deploy_patch
from ironic_inspection_rules.patches import inspection as inspection_patch
from ironic_inspection_rules.patches import name
from ironic_inspection_rules.patches import redfish
from ironic_inspection_rules.patches import tls
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.traits import deploy

LOG = log.getLogger(__name__)

NAMES = (
    *inspection_patch.NAMES,
    *database.NAMES,
    *deploy_patch.NAMES,
    *redfish.NAMES,
    *conductor.NAMES,
    *tls.NAMES,
)
"""Names in Ironic that a conductor needs; without one of them it does not
start."""


def prepare_conductor() -> None:
    """Prepare the conductor of this process to run rules.

    :raises: UnsupportedIronic, and the errors of :func:`.start.rules`.
    """
    with start.stop_service_on_error():
        name.check(NAMES)
    # An API without a database calls the methods of these objects through this
    # conductor. The objects were registered when their module was imported.
    object_names = [
        object_class.obj_name() for object_class in storage.CLASSES
    ]
    LOG.debug('Answers for %s', object_names)
    # This is called now, so that a bad rule or option stops the service at its
    # start instead of failing every inspection.
    start.rules()
    inspection_patch.replace_rules(inspection.apply_rules)
    inspection_patch.around_inspection(inspection.of_task)
    inspection_patch.after_removal(_forget)
    # Without this, a Redfish inspection would overwrite the values that rules
    # have set.
    redfish.install(inspection.note_redfish)
    deploy_patch.install_trait_checks(deploy.find_problem_of_node)
    if CONF.inspection_queue.enabled:
        # This is imported here, so that a conductor without durable
        # inspection, which is off by default, does not load the modules of the
        # queue.
        from ironic_inspection_rules.queue import power_on

        with start.stop_service_on_error():
            power_on.install()


def _forget(node_uuid: str) -> None:
    recorder.forget([node_uuid])


class InspectionRulesHook(inspection.PhaseHook):
    """The inspection hook of this project, which prepares its conductor."""

    def __init__(self) -> None:
        if start.is_all_in_one():
            # Otherwise the API of this process would fail, and would be
            # restarted forever.
            start.stop_service_if(
                disabling_options.find_misspelled_middleware()
            )
        prepare_conductor()
        announcement.announce(announcement.HOOK, start.rules())


class NearNameHook(base.InspectionHook):
    """A hook whose name is a misspelling of ours; it stops the service.

    Otherwise Ironic would end with a traceback before it loads this plugin.
    """

    def __init__(self) -> None:
        start.stop_service_if(disabling_options.find_unknown_hooks())
