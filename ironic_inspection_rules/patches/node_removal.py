# SPDX-License-Identifier: Apache-2.0

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
