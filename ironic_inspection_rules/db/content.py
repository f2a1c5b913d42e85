# SPDX-License-Identifier: Apache-2.0

"""The content store: JSON documents, of which equal parts are stored once.

A document, e.g. the inventory of a machine, is stored in three tables:

- *Sections* are large parts of documents. Documents that differ in one place
  share all other sections.
- The *frame* is the rest of the document, with a *reference* in place of every
  section. The frame of ``{'log': <2000 characters>, 'size': 3}`` is
  ``{'log': {'\\0': 0}, 'size': 3}``, where 0 is the position of the section.
- *Links* say which section is at which position of a document.

Documents and sections are identified by a *digest*, a hash of their content. A
row of another table *names* a document by its digest.

There is no counter of the rows that name a document, because all writers would
wait for each other to change the counter. Instead, every document and section
has a *mark*, the time when it was last used. A writer renews the mark before
it names a document, unless the mark is recent. :func:`sweep` removes what no
row names, if its mark is older than any transaction may take. The mark and the
removal change the same row, so the later of the two transactions sees the
change of the other.
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
"""Minimum length of a section, in characters of its JSON text.

The row of a section costs about a hundred bytes.
"""

LARGEST = 8192
"""Length above which a dict or a list is divided into several sections."""

FRESH = 1800.0
"""Age of a mark, in seconds, after which it is renewed; this costs a write."""

GRACE = 2 * FRESH
"""Seconds since the last mark after which :func:`sweep` may remove a row.

When a mark is not renewed, it may be nearly as old as :data:`FRESH`, and the
transaction that relies on it may take the same time again.
"""

_REFERENCE = '\0'
"""The only key of a reference.

A reference is ``{'\\0': position}`` in a frame.
"""

_ENCODED_REFERENCE = r'"\u0000"'
"""The key of a reference as JSON.

A JSON text without this text contains no references.
"""

_BATCH = 200
"""Maximum number of rows that one statement reads or writes."""

_MOST_REMOVED = 500
"""Maximum number of documents, and of sections, that one sweep removes."""

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
"""All columns that name a document; a new such column must be added here."""

_DIGESTS: Any = sa.bindparam('digests', expanding=True)
_SELECT_DOCUMENTS = sa.union_all(
    sa.select(_CONTENTS.c.digest, sa.null(), _CONTENTS.c.frame).where(
        _CONTENTS.c.digest.in_(_DIGESTS)
    ),
    sa.select(_LINKS.c.content, _LINKS.c.position, _SECTIONS.c.data)
    .join(_SECTIONS, _SECTIONS.c.digest == _LINKS.c.section)
    .where(_LINKS.c.content.in_(_DIGESTS)),
)
"""The query for the frames and sections of some documents.

A row has the digest of a document, a position and compressed JSON. The
position is null in the row of a frame.
"""

_encode = json.JSONEncoder(separators=(',', ':'), check_circular=False).encode


def put(connection: sa.Connection, document: Document) -> str:
    """Store a document, or mark it as used if it is already stored.

    The order of keys matters: ``{'a': 1, 'b': 2}`` and ``{'b': 2, 'a': 1}``
    are different documents.

    :param connection: a transaction that ends within :data:`FRESH` seconds.
    :returns: the digest of the document.
    """
    cutter = _Cutter()
    frame = _encode(cutter.cut(document))
    digest = _compute_digest('\n'.join([frame, *cutter.digests]))
    missing_documents = _mark_as_used(connection, _CONTENTS, [digest])
    if not missing_documents:
        # The document is already stored. Its sections need no mark of their
        # own, because they stay as long as the document.
        return digest
    text_by_digest = cutter.text_by_digest
    missing_sections = _mark_as_used(
        connection, _SECTIONS, sorted(text_by_digest)
    )
    section_rows = [
        {
            'digest': missing,
            'data': zlib.compress(text_by_digest[missing].encode()),
        }
        for missing in missing_sections
    ]
    _insert(connection, _SECTIONS, section_rows)
    # A section that occurs in several places counts once per place.
    size = len(frame)
    for section_digest in cutter.digests:
        size += len(text_by_digest[section_digest])
    document_row = {
        'digest': digest,
        'frame': zlib.compress(frame.encode()),
        'size': size,
    }
    _insert(connection, _CONTENTS, [document_row])
    link_rows = [
        {'content': digest, 'position': position, 'section': section_digest}
        for position, section_digest in enumerate(cutter.digests)
    ]
    _insert(connection, _LINKS, link_rows)
    return digest


def get(
    connection: sa.Connection, digests: Iterable[str]
) -> dict[str, Document]:
    """Read documents by their digests; missing documents are left out.

    :returns: the documents, by digest.
    """
    unique_digests = sorted(set(digests))
    # Compressed JSON: frames by the digest of the document, sections by this
    # digest and their position in the document.
    frames: dict[str, bytes] = {}
    sections: dict[tuple[str, int], bytes] = {}
    for batch in transaction.chunks(unique_digests, _BATCH):
        rows = connection.execute(_SELECT_DOCUMENTS, {'digests': batch})
        for digest, position, data in rows:
            if position is None:
                frames[digest] = data
            else:
                sections[digest, position] = data
    documents = {}
    for digest, compressed_frame in frames.items():
        frame = json.loads(zlib.decompress(compressed_frame))
        documents[digest] = _fill_frame(frame, digest, sections)
    return documents


def renew(connection: sa.Connection, digests: Iterable[str]) -> set[str]:
    """Mark documents as used, so that :func:`sweep` keeps them for now.

    The caller must store rows that name them within :data:`FRESH` seconds.

    :returns: the digests of the documents that are stored; the other documents
        are missing.
    """
    unique_digests = sorted(set(digests))
    missing = _mark_as_used(connection, _CONTENTS, unique_digests)
    return set(unique_digests).difference(missing)


@transaction.retried_on_lock_conflict
def store(document: Document) -> str:
    """Store a document in a transaction of its own.

    The caller must store a row that names it within :data:`FRESH` seconds.

    :returns: the digest of the document.
    """
    with transaction.writer_without_session() as connection:
        return put(connection, document)


@transaction.retried_on_lock_conflict
def load(digests: Iterable[str]) -> dict[str, Document]:
    """Read documents in a transaction of their own; see :func:`get`."""
    with transaction.reader() as session:
        return get(session.connection(), digests)


def sweep(grace: float = GRACE) -> int:
    """Remove documents and sections that nobody uses.

    A document is removed if no row of another table names it, and a section if
    no document has it. Both stay for some time after they were last marked as
    used, because a transaction may be about to name them.

    :param grace: this time, in seconds.
    :returns: number of documents and sections that were removed.
    """
    is_named_in_column = []
    for column in _NAMING_COLUMNS:
        is_named_here = sa.exists().where(column == _CONTENTS.c.digest)
        is_named_in_column.append(is_named_here)
    is_named = sa.or_(*is_named_in_column)
    is_linked = sa.exists().where(_LINKS.c.section == _SECTIONS.c.digest)
    # Remove documents first, together with their links, because the links
    # would keep the sections from being removed.
    removed_documents = _sweep_table(_CONTENTS, sa.not_(is_named), grace)
    removed_sections = _sweep_table(_SECTIONS, sa.not_(is_linked), grace)
    return removed_documents + removed_sections


def _sweep_table(table: Any, is_unnamed: Any, grace: float) -> int:
    """Remove the documents, or the sections, that nobody uses.

    At most :data:`_MOST_REMOVED` rows are removed, those with the oldest marks
    first.

    :param table: the table of documents or of sections.
    :param is_unnamed: the SQL condition of rows that no other row names.
    :param grace: seconds for which a row stays after it was last marked as
        used.
    :returns: number of removed rows.
    """
    is_old = table.c.used_at < clock.now() - grace
    digests = transaction.read(
        sa.select(table.c.digest)
        .where(is_old, is_unnamed)
        .order_by(table.c.used_at)
        .limit(_MOST_REMOVED)
    )
    removed_count = 0
    for digest in digests:
        # Both conditions are checked again, because the row may be in use now.
        was_removed = _remove_if_unused(table, digest, is_old, is_unnamed)
        if was_removed:
            removed_count += 1
    return removed_count


@transaction.retried_on_lock_conflict
def _remove_if_unused(
    table: Any, digest: str, is_old: Any, is_unnamed: Any
) -> bool:
    """Remove a document or a section, unless it has been used again.

    It stays if its mark is no longer old, if it is named, or if it or one of
    its links is locked. A later sweep tries again.

    :param table: the table of documents or of sections.
    :param is_old: the SQL condition of rows that were not marked recently.
    :param is_unnamed: the SQL condition of rows that no other row names.
    :returns: whether it was removed.
    """
    with transaction.writer_without_gaps() as session:
        # A writer that is about to mark the row may have locked it.
        locked_row: Any = session.execute(
            sa.select(table.c.digest)
            .where(table.c.digest == digest, is_old)
            .with_for_update(skip_locked=True)
        ).first()
        if locked_row is None:
            return False
        # This is a separate query, because MySQL would wait for locked rows of
        # the other tables if the DELETE had the condition. Nobody can name the
        # row between the query and the DELETE: a writer must mark the row
        # first, and waits until this transaction unlocks it.
        unnamed_row = session.execute(
            sa.select(table.c.digest).where(
                table.c.digest == digest, is_unnamed
            )
        ).first()
        if unnamed_row is None:
            return False
        if table is _CONTENTS:
            were_links_removed = _remove_links(session, digest)
            if not were_links_removed:
                return False
        session.execute(sa.delete(table).where(table.c.digest == digest))
        return True


def _remove_links(session: orm.Session, digest: str) -> bool:
    """Remove the links of a document, unless one of them is locked.

    :param digest: the digest of the document.
    :returns: whether the links were removed.
    """
    is_of_document = _LINKS.c.content == digest
    lock_links = sa.select(_LINKS.c.position).where(is_of_document)
    lock_links = lock_links.with_for_update(skip_locked=True)
    locked_positions = session.execute(lock_links).scalars().all()
    count_links = sa.select(sa.func.count()).where(is_of_document)
    count_of_links = session.execute(count_links).scalar_one()
    if len(locked_positions) < count_of_links:
        # Another transaction has locked a link, so it was skipped.
        return False
    if locked_positions:
        # Delete them one by one by primary key. For several keys, MySQL may
        # scan the table, and wait for any locked row in it.
        delete_link = sa.delete(_LINKS).where(
            is_of_document, _LINKS.c.position == sa.bindparam('place')
        )
        places = [{'place': position} for position in locked_positions]
        session.connection().execute(delete_link, places)
    return True


class _Cutter:
    """Cuts one document into its frame and its sections.

    If a rule of this class changes, documents get other digests, and documents
    that are already stored are stored again.

    :ivar digests: the digests of the sections, by position.
    :ivar text_by_digest: the JSON texts of the sections. Two equal texts have
        two positions and one digest.
    """

    def __init__(self) -> None:
        self.digests: list[str] = []
        self.text_by_digest: dict[str, str] = {}

    def cut(self, value: Any) -> Any:
        """Take the sections out of a value, and return its frame.

        The frame of ``{'log': <2000 characters>, 'size': 3}`` is
        ``{'log': {'\\0': 0}, 'size': 3}``, where 0 is the position of the
        section.

        :param value: a dict or a list; not changed.
        """
        if isinstance(value, list):
            return [self._cut_child(child) for child in value]
        frame = {name: self._cut_child(child) for name, child in value.items()}
        if _REFERENCE in frame:
            # A machine has sent this key. Wrap the mapping in a list, so that
            # it differs from a reference, which has a number instead.
            return {_REFERENCE: [frame]}
        return frame

    def _cut_child(self, child: Any) -> Any:
        """Return what stands for a child of a value in the frame of the value.

        This depends on the length of the child as JSON:

        - Below :data:`SMALLEST`, it is the child itself.
        - Up to :data:`LARGEST`, it is the reference of a section.
        - For a longer dict or list, it is a frame of its own. If this frame
          has no sections, the child becomes a section as a whole.
        - For a longer text, it is the reference of a section.

        A machine may send the key of a reference in its data. A dict or list
        that may contain this key gets a frame of its own, whatever its length,
        and never becomes a section.
        """
        if not isinstance(child, dict | list | str):
            # A number, a boolean or null is short.
            return child
        # Most texts are too short for a section, which is found out here
        # without encoding them.
        if isinstance(child, str) and len(child) < SMALLEST:
            return child
        text = _encode(child)
        if not isinstance(child, str):
            # cut() wraps a mapping with the key of a reference. The mapping
            # cannot be in a section, because _fill_frame() reads sections
            # unchanged.
            may_have_reference_key = _ENCODED_REFERENCE in text
            if len(text) > LARGEST or may_have_reference_key:
                count_before = len(self.digests)
                frame = self.cut(child)
                has_sections = len(self.digests) > count_before
                if has_sections or may_have_reference_key:
                    return frame
                # The child is long, but none of its parts is large enough for
                # a section.
        if len(text) < SMALLEST:
            return child
        return self._add_section(text)

    def _add_section(self, text: str) -> dict[str, int]:
        """Add a section, and return its reference.

        :param text: the JSON text of the section.
        """
        digest = _compute_digest(text)
        self.text_by_digest[digest] = text
        position = len(self.digests)
        self.digests.append(digest)
        return {_REFERENCE: position}


def _fill_frame(
    frame: Any, digest: str, sections: Mapping[tuple[str, int], bytes]
) -> Any:
    """Build a document, or a part of it, from its frame and its sections.

    This reverses :meth:`_Cutter.cut`. A part of a frame is

    - a list or a mapping: its children are built in the same way;
    - ``{'\\0': 0}``: the section at position 0;
    - ``{'\\0': [mapping]}``: the mapping in the list, which has the key
      ``'\\0'`` itself;
    - any other value: returned unchanged.

    :param frame: the frame of the document, or a part of the frame.
    :param digest: the digest of the document.
    :param sections: compressed JSON, by the digest of a document and the
        position of the section in it.
    """
    if isinstance(frame, list):
        return [_fill_frame(child, digest, sections) for child in frame]
    if not isinstance(frame, dict):
        return frame
    mapping = frame
    if frame.keys() == {_REFERENCE}:
        position_or_wrapped = frame[_REFERENCE]
        if isinstance(position_or_wrapped, int):
            compressed_section = sections[digest, position_or_wrapped]
            return json.loads(zlib.decompress(compressed_section))
        [mapping] = position_or_wrapped
    return {
        name: _fill_frame(child, digest, sections)
        for name, child in mapping.items()
    }


def _compute_digest(text: str) -> str:
    """Return the digest of a text: 160 bits as 27 characters.

    It fits into a column of the type :data:`.models.DIGEST`.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=20).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip('=')


def _mark_as_used(
    connection: sa.Connection, table: Any, digests: Sequence[str]
) -> list[str]:
    """Mark documents or sections as used, and return which are missing.

    A row is written only if its mark is older than :data:`FRESH`.

    :param table: the table of documents or of sections.
    :param digests: the digests, sorted. All writers lock the rows of a table
        in this order, so they may wait, but cannot deadlock.
    :returns: the digests that are not in the table.
    """
    # Whether the mark of a stored row is too old, by digest.
    is_mark_old: dict[str, bool] = {}
    for batch in transaction.chunks(digests, _BATCH):
        is_old_mark = table.c.used_at < clock.now() - FRESH
        query = sa.select(table.c.digest, is_old_mark)
        query = query.where(table.c.digest.in_(batch))
        for digest, is_old in connection.execute(query):
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
    """Insert rows that are marked as used; keep rows that already exist.

    Another writer may have inserted the same rows meanwhile.
    """
    mark: Any = {}
    # The table of links has no mark.
    if 'used_at' in table.c:
        mark = {'used_at': clock.now()}
    for batch in transaction.chunks(rows, _BATCH):
        marked_rows = [{**row, **mark} for row in batch]
        transaction.upsert(connection, table, marked_rows)
