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

"""Ironic's own transactions."""

from collections.abc import Callable
import contextlib
from typing import Any

from ironic_inspection_rules.patches import name

SESSION = name.Name(
    'ironic.db.sqlalchemy.api', '_session_for_write',
    'the changes of a rule set cannot be saved as a whole', parameters=())

NAMES = (SESSION,)

transaction: Callable[[], contextlib.AbstractContextManager[Any]] = (
    SESSION.find())
"""Opens a transaction that the calls of Ironic's objects inside it join."""
