# SPDX-License-Identifier: Apache-2.0

"""The names that Ironic knows in the mappings of a node, used by lint.

For example, lint warns of ``ipmi_adress`` in the mapping ``driver_info``,
because Ironic knows only ``ipmi_address``.
"""

import functools

from ironic_inspection_rules.rule_file import yaml_text


@functools.cache
def _read_names() -> dict[str, frozenset[str]]:
    """Read the names by field from a file of this package.

    ``tools/collect_node_fields.py`` generates the file.
    """
    read = yaml_text.load_packaged('kit/machine/node_fields.yaml')
    return {
        field: frozenset(read[field])
        for field in ('driver_info', 'properties')
    }


def names_below(field: str) -> frozenset[str]:
    """Return the names that Ironic knows in a mapping of a node.

    For example, ``ipmi_address`` is one of the names in ``driver_info``.

    :param field: the name of the mapping, e.g. ``driver_info``.
    :returns: an empty set for most attributes of nodes.
    """
    return _read_names().get(field, frozenset())
