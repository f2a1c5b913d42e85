# SPDX-License-Identifier: Apache-2.0

"""Documents stored once by their content, and their removal.

A document is taken apart into sections of some kilobytes, so that documents
which differ in one place share all others. What is left is its *frame*, with
a reference in the place of every section. A document is named by its digest.

References are not counted: all writers would wait for the rows of the
counters. Instead, who stores a document that is there already marks its row
as *used*, unless that was done not long ago; the same goes for sections that a
new document shares with others. :func:`sweep` removes what no row names and
has not been used for longer than any transaction takes. Both change the same
row, so that one of them sees what the other one did.
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
"""Fewest characters of a section: its row costs about a hundred bytes."""

LARGEST = 8192
"""Characters above which a dict or a list is taken apart."""

FRESH = 1800.0
"""Seconds after a mark before it is renewed, which costs a write."""

GRACE = 2 * FRESH
"""Seconds since the last mark after which :func:`sweep` may remove a row.

A mark may be nearly as old as :data:`FRESH` when it is not renewed, and the
transaction that relies on it may take as long.
"""

_REFERENCE = '\0'
"""A mapping in a frame with only this name stands for a section."""

_ENCODED_REFERENCE = r'"\u0000"'
"""The name in JSON, by which a text that may hold references is found."""

_BATCH = 200
"""How many rows one statement reads or writes at most."""

_MOST_REMOVED = 500
"""Documents that one sweep removes at the most, and sections likewise."""

_CONTENTS: Any = models.ContentRow.__table__
_LINKS: Any = models.ContentSectionRow.__table__
_SECTIONS: Any = models.SectionRow.__table__
_INVENTORIES: Any = models.KeptInventoryRow.__table__
_RUNS: Any = models.RunRow.__table__
_UNPROCESSED: Any = models.InspectionDataRow.__table__

_NAMING_COLUMNS: Any = (
    _INVENTORIES.c.content,
    _INVENTORIES.c.parts,
    _RUNS.c.content,
    _UNPROCESSED.c.content,
)
"""All columns that name a document: another one would have to be added."""

_DIGESTS: Any = sa.bindparam('digests', expanding=True)
_READ = sa.union_all(
    sa.select(_CONTENTS.c.digest, sa.null(), _CONTENTS.c.frame).where(
        _CONTENTS.c.digest.in_(_DIGESTS)
    ),
    sa.select(_LINKS.c.content, _LINKS.c.position, _SECTIONS.c.data)
    .join(_SECTIONS, _SECTIONS.c.digest == _LINKS.c.section)
    .where(_LINKS.c.content.in_(_DIGESTS)),
)
"""Digest, position and data: frames have no position, sections have one."""

_encode = json.JSONEncoder(separators=(',', ':'), check_circular=False).encode


def put(connection: sa.Connection, document: Document) -> str:
    """Store a document, or mark it as used if it is stored already.

    ``{'a': 1, 'b': 2}`` and ``{'b': 2, 'a': 1}`` are different documents.

    :param connection: a transaction that ends within :data:`FRESH` seconds.
    :returns: the digest that names the document.
    """
    # The next call fills both: the texts of the sections by their digests, and
    # the digests in the order of the places where the sections were.
    sections: dict[str, str] = {}
    order: list[str] = []
    frame = _encode(_cut_into_frame(document, sections, order))
    digest = _compute_digest('\n'.join([frame, *order]))
    is_missing = bool(_mark_as_used(connection, _CONTENTS, [digest]))
    if not is_missing:
        # The document is stored already. Its sections need no mark of their
        # own, as they stay as long as the document.
        return digest
    missing_sections = _mark_as_used(connection, _SECTIONS, sorted(sections))
    _insert(
        connection,
        _SECTIONS,
        [
            {'digest': name, 'data': zlib.compress(sections[name].encode())}
            for name in missing_sections
        ],
    )
    # A section that stands in several places counts for each of them.
    size = len(frame) + sum(len(sections[name]) for name in order)
    _insert(
        connection,
        _CONTENTS,
        [
            {
                'digest': digest,
                'frame': zlib.compress(frame.encode()),
                'size': size,
            }
        ],
    )
    _insert(
        connection,
        _LINKS,
        [
            {'content': digest, 'position': position, 'section': name}
            for position, name in enumerate(order)
        ],
    )
    return digest


def get(
    connection: sa.Connection, digests: Iterable[str]
) -> dict[str, Document]:
    """Read documents by their digests; missing documents are left out."""
    unique_digests = sorted(set(digests))
    # Compressed JSON: frames by the digest of the document, sections also by
    # their position in it.
    frames: dict[str, bytes] = {}
    sections: dict[tuple[str, int], bytes] = {}
    for batch in transaction.chunks(unique_digests, _BATCH):
        rows = connection.execute(_READ, {'digests': batch})
        for digest, position, data in rows:
            if position is None:
                frames[digest] = data
            else:
                sections[digest, position] = data
    documents = {}
    for digest, compressed in frames.items():
        frame = json.loads(zlib.decompress(compressed))
        documents[digest] = _fill_frame(frame, digest, sections)
    return documents


def renew(connection: sa.Connection, digests: Iterable[str]) -> set[str]:
    """Mark documents as used, so that :func:`sweep` keeps them for now.

    The caller has :data:`FRESH` seconds to store rows that name them.

    :returns: the digests of the documents that are stored.
    """
    unique_digests = sorted(set(digests))
    missing = _mark_as_used(connection, _CONTENTS, unique_digests)
    return set(unique_digests).difference(missing)


@transaction.retried_on_lock_conflict
def store(document: Document) -> str:
    """Store a document in a transaction of its own.

    The caller has :data:`FRESH` seconds to store a row that names it.

    :returns: its digest.
    """
    with transaction.writer_without_session() as connection:
        return put(connection, document)


@transaction.retried_on_lock_conflict
def load(digests: Iterable[str]) -> dict[str, Document]:
    """Read documents in a transaction of their own; see :func:`get`."""
    with transaction.reader() as session:
        return get(session.connection(), digests)


def sweep(grace: float = GRACE) -> int:
    """Remove documents and sections that no row names or has used lately.

    :param grace: seconds for which a row stays after it was last marked as
        used.
    :returns: how many documents and sections were removed.
    """
    is_in_column = []
    for column in _NAMING_COLUMNS:
        is_in_column.append(sa.exists().where(column == _CONTENTS.c.digest))
    is_named = sa.or_(*is_in_column)
    is_linked = sa.exists().where(_LINKS.c.section == _SECTIONS.c.digest)
    # Documents go first, and their links with them: these would keep the
    # sections from being removed.
    removed_documents = _sweep_table(_CONTENTS, sa.not_(is_named), grace)
    removed_sections = _sweep_table(_SECTIONS, sa.not_(is_linked), grace)
    return removed_documents + removed_sections


def _sweep_table(table: Any, is_unnamed: Any, grace: float) -> int:
    """Remove the rows of a table that nothing names or has used lately.

    At most :data:`_MOST_REMOVED` rows go, the longest unused first.

    :param is_unnamed: the SQL condition of rows that no other row names.
    :param grace: seconds for which a row stays after it was last marked as
        used.
    :returns: how many rows were removed.
    """
    is_old = table.c.used_at < clock.now() - grace
    digests = transaction.read(
        sa.select(table.c.digest)
        .where(is_old, is_unnamed)
        .order_by(table.c.used_at)
        .limit(_MOST_REMOVED)
    )
    removed = 0
    for digest in digests:
        # Both conditions are checked again, as the row may be in use by now.
        if _remove(table, digest, is_old, is_unnamed):
            removed += 1
    return removed


@transaction.retried_on_lock_conflict
def _remove(table: Any, digest: str, is_old: Any, is_unnamed: Any) -> bool:
    """Remove a document or a section, unless it is used again by now.

    :param is_old: the SQL condition of rows that were not marked lately.
    :param is_unnamed: the SQL condition of rows that no other row names.
    :returns: whether it was removed.
    """
    with transaction.writer_without_gaps() as session:
        # None if the mark is new, or a writer that is about to mark the row
        # has locked it.
        locked_row: Any = session.execute(
            sa.select(table.c.digest)
            .where(table.c.digest == digest, is_old)
            .with_for_update(skip_locked=True)
        ).first()
        if locked_row is None:
            return False
        # This is not a condition of the DELETE, as MySQL would then wait for
        # locked rows of the other tables. The answer stays true: a writer that
        # wants to name the row has to mark it first, and waits for this
        # transaction.
        unnamed_row = session.execute(
            sa.select(table.c.digest).where(
                table.c.digest == digest, is_unnamed
            )
        ).first()
        if unnamed_row is None:
            return False
        if table is _CONTENTS and not _remove_links(session, digest):
            return False
        session.execute(sa.delete(table).where(table.c.digest == digest))
        return True


def _remove_links(session: orm.Session, digest: str) -> bool:
    """Remove the links of a document, unless one of them is locked.

    :returns: whether the document has no links any more.
    """
    is_of_document = _LINKS.c.content == digest
    unlocked_positions = (
        session.execute(
            sa.select(_LINKS.c.position)
            .where(is_of_document)
            .with_for_update(skip_locked=True)
        )
        .scalars()
        .all()
    )
    count_of_links = session.execute(
        sa.select(sa.func.count()).where(is_of_document)
    ).scalar_one()
    if len(unlocked_positions) < count_of_links:
        return False
    if unlocked_positions:
        # One by one by primary key. For several keys, MySQL may scan the
        # table, and wait for any locked row in it.
        session.connection().execute(
            sa.delete(_LINKS).where(
                is_of_document, _LINKS.c.position == sa.bindparam('place')
            ),
            [{'place': position} for position in unlocked_positions],
        )
    return True


def _cut_into_frame(
    value: Any, sections: dict[str, str], order: list[str]
) -> Any:
    """Return the frame of a value, and take its sections out.

    The frame of ``{'log': <2000 characters>, 'size': 3}`` is
    ``{'log': {'\\0': 0}, 'size': 3}``, with the position of the section. A
    text or a part of at least :data:`SMALLEST` characters becomes a section; a
    part above :data:`LARGEST` is taken apart first. The value is not changed.

    Every step here decides on the digests: a value that is cut in another way
    is stored once more.

    :param value: a dict or a list.
    :param sections: the texts of sections by digest; new ones are added.
    :param order: the digests of all sections; those of new ones are appended.
    """
    if isinstance(value, dict):
        children = list(value.items())
    else:
        children = list(enumerate(value))
    frame = value.copy()
    for name, child in children:
        if not isinstance(child, dict | list | str):
            continue
        # Most texts are too short for a section, and need not be encoded to
        # find that out.
        if isinstance(child, str) and len(child) < SMALLEST:
            continue
        text = _encode(child)
        may_hold_reference = _ENCODED_REFERENCE in text
        has_to_be_cut = len(text) > LARGEST or may_hold_reference
        if has_to_be_cut and not isinstance(child, str):
            count_before = len(order)
            frame[name] = _cut_into_frame(child, sections, order)
            was_cut = len(order) > count_before
            # _fill_frame() does not look for references in a section, so what
            # has or may have some stays in the frame.
            if was_cut or may_hold_reference:
                continue
            # None of its parts is large enough for a section, so it becomes
            # one as a whole.
        if len(text) >= SMALLEST:
            digest = _compute_digest(text)
            sections[digest] = text
            frame[name] = {_REFERENCE: len(order)}
            order.append(digest)
    if isinstance(frame, dict) and _REFERENCE in frame:
        # A machine has sent this name. A mapping with a list in it is not
        # taken for a reference, which has a number.
        frame = {_REFERENCE: [frame]}
    return frame


def _fill_frame(
    frame: Any, digest: str, sections: Mapping[tuple[str, int], bytes]
) -> Any:
    """Return a document, or a part of it, from its frame and its sections.

    This undoes :func:`_cut_into_frame`.

    :param frame: the frame of the document, or a part of the frame.
    :param digest: the digest of the document.
    :param sections: compressed JSON, by the digest of a document and the
        position of the section in it.
    """
    if isinstance(frame, list):
        return [_fill_frame(child, digest, sections) for child in frame]
    if not isinstance(frame, dict):
        return frame
    children = frame
    if frame.keys() == {_REFERENCE}:
        position_or_list = frame[_REFERENCE]
        if not isinstance(position_or_list, list):
            compressed = sections[digest, position_or_list]
            return json.loads(zlib.decompress(compressed))
        # This is no reference, but a mapping in which a machine has sent that
        # name.
        [children] = position_or_list
    return {
        name: _fill_frame(child, digest, sections)
        for name, child in children.items()
    }


def _compute_digest(text: str) -> str:
    """Return the digest of a text: 27 characters, which stand for 160 bits.

    They fit into a column of the type :data:`.models.DIGEST`.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=20).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip('=')


def _mark_as_used(
    connection: sa.Connection, table: Any, digests: Sequence[str]
) -> list[str]:
    """Mark rows as used, and return the digests of missing rows.

    Only a row whose mark is older than :data:`FRESH` is written.

    :param digests: sorted digests: as all writers lock the rows of a table in
        this order, they may wait, but do not end in a deadlock.
    """
    # Whether the mark of a stored row is too old, by digest.
    is_mark_old: dict[str, bool] = {}
    for batch in transaction.chunks(digests, _BATCH):
        rows = connection.execute(
            sa.select(
                table.c.digest, table.c.used_at < clock.now() - FRESH
            ).where(table.c.digest.in_(batch))
        )
        for digest, is_old in rows:
            is_mark_old[digest] = is_old
    missing = []
    for digest in digests:
        if digest not in is_mark_old:
            missing.append(digest)
        elif is_mark_old[digest]:
            marked: Any = connection.execute(
                sa.update(table)
                .where(table.c.digest == digest)
                .values(used_at=clock.now())
            )
            # A sweep may have removed the row since it was read.
            if marked.rowcount == 0:
                missing.append(digest)
    return missing


def _insert(
    connection: sa.Connection, table: Any, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows, and mark them as used.

    Another writer may have inserted some of them meanwhile. These stay as they
    are, and are no error.
    """
    mark: Any = {}
    # The table of links has no such column.
    if 'used_at' in table.c:
        mark = {'used_at': clock.now()}
    for batch in transaction.chunks(rows, _BATCH):
        transaction.upsert(
            connection, table, [{**row, **mark} for row in batch]
        )
