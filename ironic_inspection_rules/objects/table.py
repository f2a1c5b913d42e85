# SPDX-License-Identifier: Apache-2.0

"""The versioned object of a table of the rule set.

A table has rows of data that rules look up, e.g. the rack of every machine.
Its rows are stored in *chunks* of several rows, which are named by a digest.
"""

from ironic.objects import base
from ironic.objects import fields as object_fields
from oslo_versionedobjects import base as object_base

from ironic_inspection_rules.db import table as db_table
from ironic_inspection_rules.objects import remotable


@base.IronicObjectRegistry.register
class RuleTable(base.IronicObject, object_base.VersionedObjectDictCompat):
    """A table of the rule set, read as plain data.

    Its rows change with the rules, see :meth:`.StoredRule.change`.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'name': object_fields.StringField(),
    }

    @remotable.class_method
    def list_plain(cls, context, revision=None):
        """Read all tables without their rows.

        :param revision: the revision of the rule set; None for the tables in
            force.
        :returns: a dict for every table, with its ``name``, ``revision``,
            ``size`` and ``definition``.
        """
        return db_table.list_tables(revision)

    @remotable.class_method
    def list_digests(cls, context, name, revision=None):
        """Read the digests of the chunks of a table, in order.

        The caller then reads only the chunks that it does not have in memory.
        """
        return db_table.list_digests(name, revision)

    @remotable.class_method
    def read_chunks(cls, context, name, digests, revision=None):
        """Read pairs of key and row, by the digest of their chunk.

        The rows include secret columns.
        """
        return db_table.read_chunks(name, digests, revision)
