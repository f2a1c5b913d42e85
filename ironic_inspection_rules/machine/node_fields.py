# SPDX-License-Identifier: Apache-2.0

"""The names that Ironic knows in ``driver_info`` and ``properties``.

``node_fields.yaml`` is made by ``tools/collect_node_fields.py`` from Ironic's
code.
"""

import functools
import importlib.resources

import yaml

FIELDS = ('driver_info', 'properties')


@functools.cache
def known() -> dict[str, frozenset[str]]:
    """Return the known names by field of the node."""
    text = importlib.resources.files('ironic_inspection_rules.machine'
                                     ).joinpath('node_fields.yaml')
    read = yaml.safe_load(text.read_text('utf-8'))
    return {field: frozenset(read[field]) for field in FIELDS}
