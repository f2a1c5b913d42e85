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

"""How Ironic connects to web servers, for requests of rules.

Ironic 35 to 38 have no options for TLS of their own, and take what the
library does.
"""

from typing import Any

from requests import adapters

from ironic_inspection_rules.patches import name

ADAPTER = name.Name(
    'ironic.common.image_service', 'TLSHTTPAdapter',
    "api-call does not keep to Ironic's options for TLS",
    required=False)

NAMES = (ADAPTER,) if ADAPTER.find() else ()


def make(**arguments: Any) -> adapters.HTTPAdapter:
    """Make an adapter as Ironic makes those for images.

    :param arguments: of :class:`requests.adapters.HTTPAdapter`.
    """
    return (ADAPTER.find() or adapters.HTTPAdapter)(**arguments)
