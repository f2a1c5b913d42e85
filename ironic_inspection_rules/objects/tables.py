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

"""Whether the tables behind the objects are there."""

from ironic.objects import base

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.i18n import _


def check() -> None:
    """Make sure that the objects can be stored.

    An API process that reaches its objects through the conductor leaves
    that to the conductor.

    :raises: DatabaseNotReady if the tables are missing or older than the
        code, or the database does not answer.
    """
    if are_here():
        migration.check()


def are_here() -> bool:
    """Whether this process reaches the database itself."""
    return base.IronicObject.indirection_api is None


def require(what: str) -> None:
    """Make sure that what a request asks for is read by this process.

    :param what: a sentence for who asks: ``'Traits cannot be counted'``.
    :raises: Invalid if a conductor reads the database for this process.
    """
    if not are_here():
        raise exceptions.Invalid(
            _('%s: this API has [DEFAULT]use_rpc_for_database') % what)
