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

"""How this project gets into Ironic's API.

Named in ``[api]middleware``, it puts its controllers beside Ironic's own,
so that authentication, policies, limits and errors are Ironic's.
"""

from collections.abc import Callable

from ironic_inspection_rules.adapters import seams
from ironic_inspection_rules.adapters import start
from ironic_inspection_rules.api.controllers import continue_inspection


def install(app: Callable) -> Callable:
    """Take over the resources of this project.

    :param app: Ironic's WSGI application.
    :returns: the same application.
    :raises: :class:`.exceptions.InspectionRulesError` where rules cannot be
        run; Ironic does not start then.
    """
    start.rules()
    controllers = seams.controllers()
    controllers['continue_inspection'] = (
        continue_inspection.ContinueInspectionController())
    return app
