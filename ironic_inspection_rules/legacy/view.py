# SPDX-License-Identifier: Apache-2.0

"""The data of ironic-inspector's rules: one flat document, and the node."""

import typing

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import trace

Roots = budget.View


def data(roots: Roots) -> dict[str, typing.Any]:
    """Return the document that ``data://`` and ``{data[…]}`` look into.

    It is what the ramdisk sent and inspection hooks added: ``inventory``,
    and beside it the keys of plugin data, but not what rules did.

    :param roots: the data by root name.
    """
    document = _Document(inventory=roots['inventory'],
                         **roots['plugin_data'])
    document.pop(trace.KEY, None)
    return document


class _Document(dict[str, typing.Any]):
    """A document in which a step may be found under a second name."""

    def __missing__(self, step: str) -> typing.Any:
        for root, *steps in rendering.SECOND_NAMES.get(step, ()):
            found = data_path.get(self[root], tuple(steps))
            if found and found is not data_path.ABSENT:
                return found
        raise KeyError(step)


def node(roots: Roots) -> typing.Any:
    """Return the node that ``node://`` looks into."""
    return roots['node']
