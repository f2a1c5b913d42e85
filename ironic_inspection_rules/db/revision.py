# SPDX-License-Identifier: Apache-2.0

"""Reading what the rule set was, and who changed it."""

from typing import Any

import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction


@transaction.retried
def list_revisions(limit: int, before: int | None = None
                   ) -> list[models.Revision]:
    """Read revisions, the newest first.

    :param limit: number of revisions to read at most.
    :param before: only those older than this one.
    """
    query = sa.select(models.Revision).order_by(
        models.Revision.revision.desc()).limit(limit)
    if before is not None:
        query = query.where(models.Revision.revision < before)
    with transaction.reader() as session:
        return list(session.execute(query).scalars())


@transaction.retried
def get_rules(revision: int
              ) -> tuple[models.Revision, list[models.RuleVersion]]:
    """Read the rules of a revision, in their order.

    :returns: the revision and its rules.
    :raises: RevisionNotFound if there is none, or it is not kept any more.
    """
    version = models.RuleVersion
    columns = version.__table__.c
    with transaction.reader() as session:
        found = session.get(models.Revision, revision)
        if found is None:
            raise exceptions.RevisionNotFound(revision)
        rows = session.execute(
            sa.select(version)
            .where(columns.first_revision <= revision,
                   sa.or_(version.end_revision.is_(None),
                          columns.end_revision > revision))
            .order_by(version.position.is_(None), version.position,
                      version.id))
        return found, list(rows.scalars())


@transaction.retried
def ever_sensitive() -> set[str]:
    """Return the UUIDs of rules that are sensitive in any revision kept."""
    with transaction.reader() as session:
        return set(session.execute(
            sa.select(models.RuleVersion.uuid).distinct()
            .where(models.RuleVersion.sensitive.is_(True))).scalars())


def describe(row: models.Revision) -> dict[str, Any]:
    """Return a revision as plain data; its time as ISO 8601 text."""
    return {'revision': row.revision,
            'created_at': row.created_at.isoformat() + '+00:00',
            'user_id': row.user_id, 'project_id': row.project_id,
            'message': row.message, 'changes': row.changes}
