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

"""Changes of rules that several clients make at a time."""

from collections.abc import Callable
from typing import Any

from ironic.common import exception as ironic_exception
import tenacity

_MOST_ATTEMPTS = 100


def decided_anew(change: Callable[[], Any]) -> Any:
    """Make a change, and again on what somebody made who was faster.

    :param change: reads what is there, decides, and writes.
    :returns: what it returned.
    :raises: ironic.common.exception.Conflict if others are faster every time.
    """
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ironic_exception.Conflict),
        stop=tenacity.stop_after_attempt(_MOST_ATTEMPTS),
        reraise=True)(change)
