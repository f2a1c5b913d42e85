# SPDX-License-Identifier: Apache-2.0

"""All names of Ironic that are used here, by the service that needs them."""

from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.patches import continue_inspection
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.patches import database
from ironic_inspection_rules.patches import deploy
from ironic_inspection_rules.patches import http_adapter
from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.patches import node_query
from ironic_inspection_rules.patches import node_removal
from ironic_inspection_rules.patches import power
from ironic_inspection_rules.patches import redfish
from ironic_inspection_rules.patches import rule_engine
from ironic_inspection_rules.patches import stopping

OF_API = (*controllers.NAMES, *continue_inspection.NAMES, *body_limit.NAMES,
          *node_query.NAMES)

OF_CONDUCTOR = (*rule_engine.NAMES, *database.NAMES, *deploy.NAMES,
                *inspection.NAMES, *node_removal.NAMES,
                *redfish.NAMES, *power.NAMES, *conductor.NAMES,
                *stopping.NAMES, *http_adapter.NAMES)
