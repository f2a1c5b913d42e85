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
from ironic_inspection_rules.patches import redfish

OF_API = (*controllers.NAMES, *continue_inspection.NAMES, *body_limit.NAMES,
          *node_query.NAMES)

OF_CONDUCTOR = (*inspection.NAMES, *database.NAMES, *deploy.NAMES,
                *redfish.NAMES, *conductor.NAMES, *http_adapter.NAMES)
