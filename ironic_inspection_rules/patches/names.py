# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
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
