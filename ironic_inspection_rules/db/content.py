# SPDX-License-Identifier: Apache-2.0

"""JSON documents stored by content: what is the same is stored once.

A document is taken apart into sections of some kilobytes, so that documents
which differ in one place share all others. It is named by its digest.

References are not counted: all writers would wait for the rows of the
counters. Instead, storing a document marks all of it as *used* unless it was
not long ago, and :func:`sweep` removes what no row names and has not been used
for longer than any transaction takes. Both change the same row, so that one of
them sees what the other one did.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
import hashlib
import json
from typing import Any
import zlib

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction

Document = dict[str, Any]

SMALLEST = 1024
"""Characters of a section: a row costs about a hundred bytes."""

LARGEST = 8192
"""Characters above which a section is taken apart, where it has parts."""

FRESH = 1800.0
"""Seconds after a mark before it is renewed."""

GRACE = 2 * FRESH
"""Seconds since the last mark after which what no row names may go."""

_REFERENCE = '\0'
"""A mapping in a frame with only this name stands for a section."""

_ENCODED_REFERENCE = r'"\u0000"'

_BATCH = 200
"""Rows of a statement."""

_MOST_REMOVED = 500
"""Documents that one sweep removes at the most, and sections likewise."""

_CONTENTS: Any = models.Content.__table__
_LINKS: Any = models.ContentSection.__table__
_SECTIONS: Any = models.Section.__table__
_INVENTORIES: Any = models.KeptInventory.__table__
_RUNS: Any = models.Run.__table__
_UNPROCESSED: Any = models.InspectionData.__table__

_DIGESTS: Any = sa.bindparam('digests', expanding=True)
_READ = sa.union_all(
    sa.select(_CONTENTS.c.digest, sa.null(), _CONTENTS.c.frame)
    .where(_CONTENTS.c.digest.in_(_DIGESTS)),
    sa.select(_LINKS.c.content, _LINKS.c.position, _SECTIONS.c.data)
    .join(_SECTIONS, _SECTIONS.c.digest == _LINKS.c.section)
    .where(_LINKS.c.content.in_(_DIGESTS)))
"""Frames, without a place, and sections by their places."""

_encode = json.JSONEncoder(separators=(',', ':'), check_circular=False).encode


def put(connection: sa.Connection, document: Document) -> str:
    """Store a document, unless it is there.

    :param connection: a transaction, which is over in :data:`FRESH` seconds.
    :returns: its digest.
    """
    sections: dict[str, str] = {}
    order: list[str] = []
    frame = _encode(_framed(document, sections, order))
    digest = _digest('\n'.join([frame, *order]))
    if not _missing(connection, _CONTENTS, [digest]):
        # Its links keep its sections.
        return digest
    _insert(connection, _SECTIONS, [
        {'digest': name, 'data': zlib.compress(sections[name].encode())}
        for name in _missing(connection, _SECTIONS, sorted(sections))])
    _insert(connection, _CONTENTS, [
        {'digest': digest, 'frame': zlib.compress(frame.encode()),
         'size': len(frame) + sum(len(sections[name]) for name in order)}])
    _insert(connection, _LINKS, [
        {'content': digest, 'position': place, 'section': name}
        for place, name in enumerate(order)])
    return digest


def get(connection: sa.Connection, digests: Iterable[str]
        ) -> dict[str, Document]:
    """Read documents by their digests; what is not there is left out."""
    wanted = sorted(set(digests))
    frames: dict[str, bytes] = {}
    sections: dict[tuple[str, int], bytes] = {}
    for batch in transaction.chunks(wanted, _BATCH):
        for digest, place, data in connection.execute(_READ, {
                'digests': batch}):
            if place is None:
                frames[digest] = data
            else:
                sections[digest, place] = data
    return {digest: _whole(json.loads(zlib.decompress(frame)), digest,
                           sections)
            for digest, frame in frames.items()}


@transaction.retried
def store(document: Document) -> str:
    """Store a document in a transaction of its own.

    Who names it has :data:`FRESH` seconds to do so.

    :returns: its digest.
    """
    with transaction.plain_writer() as connection:
        return put(connection, document)


@transaction.retried
def load(digests: Iterable[str]) -> dict[str, Document]:
    """Read documents in a transaction of their own; see :func:`get`."""
    with transaction.reader() as session:
        return get(session.connection(), digests)


def sweep(grace: float = GRACE) -> int:
    """Remove documents and sections that no row names.

    :returns: how many rows were removed.
    """
    named = [sa.exists().where(column == _CONTENTS.c.digest)
             for column in (_INVENTORIES.c.content, _INVENTORIES.c.parts,
                            _RUNS.c.content, _UNPROCESSED.c.content)]
    removed = 0
    for table, unnamed in (
            (_CONTENTS, sa.not_(sa.or_(*named))),
            (_SECTIONS, sa.not_(sa.exists().where(
                _LINKS.c.section == _SECTIONS.c.digest)))):
        old = table.c.used_at < clock.now() - grace
        removed += sum(_remove(table, digest, old, unnamed)
                       for digest in transaction.read(
                           sa.select(table.c.digest).where(old, unnamed)
                           .order_by(table.c.used_at).limit(_MOST_REMOVED)))
    return removed


@transaction.retried
def _remove(table: Any, digest: str, old: Any, unnamed: Any) -> int:
    with transaction.writer_without_gaps() as session:
        # A writer that is just marking it holds the row: leave it then.
        held: Any = session.execute(
            sa.select(table.c.digest).where(table.c.digest == digest, old)
            .with_for_update(skip_locked=True)).first()
        if held is None:
            return 0
        # Asked for apart: MySQL would wait for rows that a DELETE looks at.
        # Who names the document from now on has to mark it first.
        is_unnamed = session.execute(sa.select(table.c.digest).where(
            table.c.digest == digest, unnamed)).first()
        if is_unnamed is None:
            return 0
        if table is _CONTENTS and not _remove_links(session, digest):
            return 0
        session.execute(sa.delete(table).where(table.c.digest == digest))
        return 1


def _remove_links(session: orm.Session, digest: str) -> bool:
    """Remove the links of a document, unless one of them is locked.

    :returns: whether they were removed.
    """
    are_its = _LINKS.c.content == digest
    places = session.execute(
        sa.select(_LINKS.c.position).where(are_its)
        .with_for_update(skip_locked=True)).scalars().all()
    if len(places) < session.execute(
            sa.select(sa.func.count()).where(are_its)).scalar_one():
        return False
    if places:
        session.connection().execute(
            sa.delete(_LINKS).where(
                are_its, _LINKS.c.position == sa.bindparam('place')),
            [{'place': place} for place in places])
    return True


def _framed(value: Any, sections: dict[str, str], order: list[str]) -> Any:
    """Return what is left of a value without its sections.

    :param value: a dict or a list.
    :param sections: gets the text of each, by its digest.
    :param order: gets the digests, in the order of their places.
    """
    left = value.copy()
    for name, item in (value.items() if isinstance(value, dict)
                       else enumerate(value)):
        if not isinstance(item, dict | list | str):
            continue
        if isinstance(item, str) and len(item) < SMALLEST:
            continue
        text = _encode(item)
        if not isinstance(item, str) and (
                len(text) > LARGEST or _ENCODED_REFERENCE in text):
            known = len(order)
            left[name] = _framed(item, sections, order)
            if len(order) > known or _ENCODED_REFERENCE in text:
                continue
        if len(text) >= SMALLEST:
            digest = _digest(text)
            sections[digest] = text
            left[name] = {_REFERENCE: len(order)}
            order.append(digest)
    if isinstance(left, dict) and _REFERENCE in left:
        # A machine chose that name: mark it as no reference.
        left = {_REFERENCE: [left]}
    return left


def _whole(value: Any, digest: str,
           sections: Mapping[tuple[str, int], bytes]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_REFERENCE}:
            place = value[_REFERENCE]
            if isinstance(place, list):
                return {name: _whole(item, digest, sections)
                        for name, item in place[0].items()}
            return json.loads(zlib.decompress(sections[digest, place]))
        return {name: _whole(item, digest, sections)
                for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item, digest, sections) for item in value]
    return value


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.blake2b(
        text.encode(), digest_size=20).digest()).decode().rstrip('=')


def _missing(connection: sa.Connection, table: Any,
             digests: Sequence[str]) -> list[str]:
    """Mark rows as used, and return the digests of those that are missing.

    :param digests: sorted; all writers lock rows in that order.
    """
    there: dict[str, bool] = {}
    for batch in transaction.chunks(digests, _BATCH):
        there.update(map(tuple, connection.execute(
            sa.select(table.c.digest, table.c.used_at < clock.now() - FRESH)
            .where(table.c.digest.in_(batch)))))
    for digest in digests:
        if there.get(digest):
            marked: Any = connection.execute(
                sa.update(table).where(table.c.digest == digest)
                .values(used_at=clock.now()))
            if not marked.rowcount:
                del there[digest]
    return [digest for digest in digests if digest not in there]


def _insert(connection: sa.Connection, table: Any,
            rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, unless another writer has inserted the same meanwhile."""
    values: Any = {'used_at': clock.now()} if 'used_at' in table.c else {}
    for batch in transaction.chunks(rows, _BATCH):
        transaction.upsert(connection, table,
                           [{**row, **values} for row in batch])
