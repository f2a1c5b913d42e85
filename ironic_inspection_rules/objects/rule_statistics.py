# SPDX-License-Identifier: Apache-2.0

"""Counters of each rule, as the API and the conductor reach them."""

from ironic.objects import base
from oslo_utils import timeutils
from oslo_versionedobjects import base as object_base

from ironic_inspection_rules.db import rule_statistics as db_statistics
from ironic_inspection_rules.objects import remotable

_TIMES = ('since', 'last_matched_at')


@base.IronicObjectRegistry.register
class RuleStatistics(base.IronicObject,
                     object_base.VersionedObjectDictCompat):
    """Counters of the rules, over all processes.

    Rows are plain mappings, a value for each column; times are ISO 8601 text,
    which JSON-RPC can carry.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    @remotable.class_method
    def add(cls, context, rows):
        """Add numbers to those that are stored."""
        db_statistics.add_statistics([
            {**row, **{name: row[name] and timeutils.normalize_time(
                timeutils.parse_isotime(row[name])) for name in _TIMES}}
            for row in rows])

    @remotable.class_method
    def list(cls, context):
        """Find the counters of every rule."""
        return [{**row, **{
            name: row[name] and f'{row[name].isoformat()}+00:00'
            for name in _TIMES}}
            for row in map(dict, db_statistics.list_statistics())]
