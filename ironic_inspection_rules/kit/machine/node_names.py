# SPDX-License-Identifier: Apache-2.0

"""The names that Ironic knows in the mappings of a node, for lint."""

import functools

from ironic_inspection_rules.rule_file import yaml_text


@functools.cache
def _read() -> dict[str, frozenset[str]]:
    """Return the names by field, from the file of a tool.

    ``tools/collect_node_fields.py`` writes it.
    """
    read = yaml_text.packaged('kit/machine/node_fields.yaml')
    return {
        field: frozenset(read[field])
        for field in ('driver_info', 'properties')
    }


def below(field: str) -> frozenset[str]:
    """Return the names that Ironic knows in a mapping; often there are none.

    :param field: the name of an attribute of nodes.
    """
    return _read().get(field, frozenset())
