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

"""How big Ironic lets the body of a request be."""

from ironic.api.middleware import json_depth

_ironic_says = json_depth._is_inspection_path
_more: set[str] = set()


def as_inspection_data(ending: str) -> None:
    """Allow some requests what inspection data may have.

    ``[api]max_json_body_size_inspection`` instead of ``max_json_body_size``.

    :param ending: how the paths of these requests end.
    """
    _more.add(ending)
    json_depth._is_inspection_path = _is_inspection_path


def _is_inspection_path(path: str) -> bool:
    return _ironic_says(path) or path.strip('/').endswith(tuple(_more))
