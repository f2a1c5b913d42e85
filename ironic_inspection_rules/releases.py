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

"""The releases of Ironic that this package is for.

This is the only list of them. ``tests/unit/test_releases.py`` holds all to it
that cannot read it: tox.ini, documents, and data that are made by tools.
"""

TRIED = ('35.0.1', '35.1.0', '36.0.0', '37.0.0', '38.0.0', '39.0.0')
"""Those that the tests run on, the newest last."""


def major(release: str) -> int:
    """Return the first number of a release: 39 of ``'39.0.0'``."""
    return int(release.partition('.')[0])


OLDEST, NEWEST = major(TRIED[0]), major(TRIED[-1])
"""The first and the last that are supported, with all point releases."""
