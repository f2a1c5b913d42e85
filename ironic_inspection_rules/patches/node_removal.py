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

"""The moment at which Ironic removes a node."""

from collections.abc import Callable
import functools
import typing

from ironic_inspection_rules.patches import name

DESTROY = name.Name(
    'ironic.objects.node', 'Node.destroy',
    'what is recorded of a node stays when it is removed', required=False)

NAMES = (DESTROY,)

_stock_destroy = DESTROY.find()


def after_removal(forget: Callable[[str], None]) -> None:
    """Have a function called for each node that was removed.

    :param forget: takes the UUID of the node.
    """
    if not name.are_here(NAMES):
        return

    @functools.wraps(_stock_destroy)
    def destroy(node: typing.Any, *args: typing.Any) -> None:
        uuid = node.uuid
        _stock_destroy(node, *args)
        forget(uuid)

    DESTROY.put(destroy)
