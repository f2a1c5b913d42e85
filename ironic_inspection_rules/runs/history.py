# SPDX-License-Identifier: Apache-2.0

"""The history: the data of inspections that have ended.

With a history, every inspection has a row in the database. Its data are one
JSON *document*, with which the decisions of its rules can be repeated later.
The row names the document by its digest. If the document is nearly the same as
the document that the row before it names, the new row names that document too,
and has a *patch*: the difference, see :mod:`.document_patch`. The row also
names the known *parts* of the machine, e.g. its disks. A document has

``inventory``, ``plugin_data``
    The data that the machine sent, with the changes of hooks. They lack the
    logs of the ramdisk, and the changes of rules, except those of early rules.
``event``, ``revision``, ``result``, ``error``
    The same values as in the run.
``phases``
    What the rules of every phase did, as in the run.
``options``
    Settings and built-in rules that the stored rules depend on, as JSON text.
``facts``
    The data at the beginning of every phase: ``node``, ``ports`` and
    ``port_groups``; ``inventory`` and ``plugin_data`` as patches of the two
    above; the ``revision`` of the rules, if it may differ from the one above;
    and the ``error`` with which the rules of the phase ended.
``previous``
    The data that the previous inspection stored, if a rule reads them.
``stored``
    The patch from the plugin data above to the plugin data that were stored at
    the end; None if the inspection failed.
"""

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import datetime
import json
import typing
import zlib

from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_difference
from ironic_inspection_rules.runs import document_patch

Document = dict[str, typing.Any]

MOST_OF_A_PATCH = 600
"""Maximum size of a patch in bytes; otherwise the whole document is stored."""

LOGS = 'logs'
"""Plugin data that are large, and not facts that rules decide on."""

OK = 'ok'
"""Result of the run of an inspection that passed."""

FAILED = 'failed'
"""Result of the run of an inspection that failed."""

_OTHERS = 'others'
"""Key of all facts of a phase except the inventory and the plugin data."""

_ROWS = 10
"""Maximum number of inspections that are in memory at once."""

_encode = json.JSONEncoder(separators=(',', ':'), default=str).encode


@dataclasses.dataclass(frozen=True)
class Findings:
    """The data of an inspection that has ended, before they are stored.

    ``inventory`` and ``plugin_data`` are the data that the machine posted,
    with the changes of hooks and early rules, but without the changes of other
    rules and without the logs of the ramdisk. ``left`` are the plugin data at
    the end of the inspection. ``facts`` are the data at the beginning of every
    phase, see :func:`facts_of`. ``options`` are the settings and built-in
    rules, as JSON text. ``previous`` are the data that the previous inspection
    stored; they are only read if a rule ``reads_previous``.
    """

    inventory: Document
    plugin_data: Document
    left: Document
    facts: Mapping[str, Mapping[str, str]] = dataclasses.field(
        default_factory=dict
    )
    options: str | None = None
    reads_previous: bool = False
    previous: Document | None = None

    def data(self, mask: bool) -> Document:
        """Return ``inventory`` and ``plugin_data``, as described above.

        :param mask: whether to mask secrets in the data.
        """
        if not mask:
            return {
                'inventory': self.inventory,
                'plugin_data': self.plugin_data,
            }
        return {
            'inventory': disclosure.mask_data(self.inventory),
            'plugin_data': disclosure.mask_data(self.plugin_data),
        }


@dataclasses.dataclass(frozen=True)
class PreparedInspection:
    """The rows that :func:`.db.history.record` stores for an inspection.

    A *stay* is the time in which a part, e.g. a DIMM, is in a machine. It has
    a row of its own, by which a part is found in all machines.

    ``values`` are the columns of the row of the inspection. ``new_stays`` are
    the columns of stays that begin, because their parts are new in the
    machine. ``end_times`` has the ends of stays whose parts have left, by kind
    and identity of the part, e.g. ``('dimm', 's3z8')``.
    """

    values: Mapping[str, typing.Any]
    new_stays: Sequence[Mapping[str, typing.Any]]
    end_times: Mapping[tuple[str, str], datetime.datetime]


def prepare(
    uuid: str, node: typing.Any, document: Document
) -> PreparedInspection:
    """Store the document and the parts of an inspection, and build its rows.

    The caller must store the rows within :data:`.content.FRESH` seconds,
    because data that no row names may be removed after that time.

    :param uuid: the UUID of the run, which the row of the inspection also has.
    :param node: the node, which must be locked so that no other inspection
        ends meanwhile.
    :param document: the document of the inspection.
    """
    # The row of the previous inspection, or None, and the stored JSON data
    # that this row names, by digest.
    row_before, documents = db_history.read_last(node.uuid)
    parts_before = part.NOTHING
    inspected_before_at = ''
    if row_before is not None:
        inspected_before_at = row_before.created_at.isoformat()
        if row_before.parts in documents:
            parts_before = part.Parts.from_dict(documents[row_before.parts])
    now = timeutils.utcnow()
    reported_parts = part.read(
        document['inventory'],
        document['plugin_data'],
        node.inspect_interface or '',
    )
    comparison = part_difference.PartComparison(parts_before, reported_parts)
    # A source, e.g. the ramdisk, may report no parts this time. Its parts are
    # still known from an earlier inspection.
    parts_now = comparison.known(inspected_before_at)
    # Store the parts, unless the same parts are already stored.
    is_stored = row_before is not None and row_before.parts in documents
    if is_stored and parts_now == parts_before:
        digest_of_parts = row_before.parts
    else:
        digest_of_parts = content.store(parts_now.as_dict())
    # In the first inspection all parts are new, which does not count as a
    # change. A part that is not reported this time may still be there, so this
    # does not count either.
    has_changed = row_before is not None and any(
        change.what != part_difference.UNREPORTED
        for change in comparison.changes
    )
    values = {
        'uuid': uuid,
        'node_uuid': node.uuid,
        'created_at': now,
        'interface': node.inspect_interface,
        'changed': has_changed,
        **_store_document(row_before, documents, document),
        'parts': digest_of_parts,
    }
    new_stays = _list_new_stays(
        parts_before, parts_now, reported_parts.texts, node.uuid, now
    )
    end_times = _find_ends_of_stays(parts_before, parts_now, row_before)
    return PreparedInspection(values, new_stays, end_times)


def _store_document(
    row_before: typing.Any,
    documents: Mapping[str, Document],
    document: Document,
) -> dict[str, typing.Any]:
    """Store the document of an inspection, or its patch if this is small.

    The document is compared with the document that the previous row names:

    - If both are equal, the new row names the same document.
    - If they differ little, the new row names the same document, and has a
      patch from it to the new document.
    - Otherwise, or if there is no such document, the new one is stored.

    :param row_before: the row of the previous inspection; None if there is
        none.
    :param documents: stored documents by digest.
    :param document: the document of the inspection that has just ended.
    :returns: two columns of the new row: ``content``, the digest of the named
        document, and ``patch``, which is compressed, or None.
    """
    if row_before is not None and row_before.content in documents:
        digest = row_before.content
        patch = document_patch.between(documents[digest], document)
        if not patch:
            return {'content': digest, 'patch': None}
        # A patch that replaces the whole document would save no space.
        if not document_patch.replaces_document(patch):
            packed_patch = zlib.compress(_encode(patch).encode(), 9)
            if len(packed_patch) <= MOST_OF_A_PATCH:
                return {'content': digest, 'patch': packed_patch}
    return {'content': content.store(document), 'patch': None}


def _list_new_stays(
    parts_before: part.Parts,
    parts_now: part.Parts,
    labels: Mapping[str, str],
    node_uuid: str,
    now: datetime.datetime,
) -> list[dict[str, typing.Any]]:
    """Return the columns of a stay for every part that is new in the machine.

    :param parts_before: the known parts before the inspection.
    :param parts_now: the known parts after the inspection.
    :param labels: the spelling of an identity that the machine has reported,
        by the normalized identity, e.g. ``{'s3z8': 'S3Z8'}``. If both are
        equal, there is no entry.
    :param now: the time at which the stays begin.
    """
    new_stays = []
    for kind, identity in parts_now.identities:
        if (kind, identity) not in parts_before.identities:
            new_stays.append(
                {
                    'identity': identity,
                    'kind': kind,
                    'label': labels.get(identity, identity),
                    'node_uuid': node_uuid,
                    'began_at': now,
                    'ended_at': None,
                }
            )
    return new_stays


def _find_ends_of_stays(
    parts_before: part.Parts, parts_now: part.Parts, row_before: typing.Any
) -> dict[tuple[str, str], datetime.datetime]:
    """Return when the parts that have left the machine were last reported.

    :param row_before: the row of the previous inspection; None only if no part
        was known before.
    :returns: times by kind and identity of the part, e.g.
        ``{('dimm', 's3z8'): <time>}``.
    """
    end_times = {}
    for kind_and_identity, reports in parts_before.identities.items():
        if kind_and_identity in parts_now.identities:
            continue
        # Several sources may have reported the part, at different times.
        times = []
        for reported_part in reports:
            # The time of the last report as text; None if the source reported
            # in the previous inspection.
            last_report = parts_before.sources.get(reported_part.source)
            if last_report is None:
                times.append(row_before.created_at)
            else:
                times.append(datetime.datetime.fromisoformat(last_report))
        end_times[kind_and_identity] = max(times)
    return end_times


def read(row: typing.Any) -> Document:
    """Return the document of an inspection.

    :param row: the row of the inspection, with its patch.
    :returns: the document; empty if it is just being removed.
    """
    return _restore_document(row, content.load([row.content]))


def read_back(
    node_uuid: str,
    before: int | None = None,
    since: datetime.datetime | None = None,
) -> Iterator[tuple[typing.Any, Document]]:
    """Yield the rows of inspections and their documents, newest first.

    :param before: the ``id`` of a row; only older inspections are yielded.
        None to begin with the newest one.
    :param since: a time in UTC; only inspections since then are yielded. None
        for all.
    """
    while True:
        # Read only a few inspections at a time, because the documents may be
        # large. Their patches are needed to build the documents.
        rows = db_history.list_inventories(
            node_uuid, _ROWS, before, since, patches=True
        )
        if not rows:
            return
        documents = content.load({row.content for row in rows})
        for row in rows:
            yield row, _restore_document(row, documents)
        # Continue with inspections that are older than the last one.
        before = rows[-1].id


def _restore_document(
    row: typing.Any, documents: Mapping[str, Document]
) -> Document:
    """Return the document of an inspection, after applying its patch, if any.

    :param row: the row of the inspection. It names a stored document, which
        may be the document of an earlier inspection. Its ``patch`` leads from
        there to the document of this inspection.
    :param documents: stored documents by digest.
    :returns: the document; empty if another process has just removed it.
    """
    stored_document = documents.get(row.content, {})
    if not stored_document or not row.patch:
        return stored_document
    patch = json.loads(zlib.decompress(row.patch))
    document: Document = document_patch.apply(stored_document, patch)
    return document


def stored(document: Document) -> Document | None:
    """Return the data that an inspection stored at the end.

    A successful inspection stores the inventory that the machine posted, and
    the plugin data with all changes of hooks and rules.

    :param document: the document of the inspection.
    :returns: ``inventory`` and ``plugin_data``; None if the inspection failed,
        because it has then stored nothing.
    """
    patch = document.get('stored')
    if patch is None:
        return None
    plugin_data = document_patch.apply(document['plugin_data'], patch)
    return {'inventory': document['inventory'], 'plugin_data': plugin_data}


def stored_before(node_uuid: str, before: int) -> Document | None:
    """Return what rules of an inspection may have read as ``previous``.

    These are the data that the last successful inspection before it stored, if
    that one is kept; otherwise those of an earlier one that is kept.

    :param before: the ``id`` of the row of the inspection.
    :returns: ``inventory`` and ``plugin_data``; None if no successful
        inspection before it is kept.
    """
    for _row, document in read_back(node_uuid, before):
        stored_data = stored(document)
        if stored_data is not None:
            return stored_data
    return None


def last_stored(node_uuid: str) -> Document | None:
    """Return the data that the last successful inspection of a node stored.

    Rules of the next inspection read them as ``previous``.

    :returns: ``inventory`` and ``plugin_data``; None if no run was successful,
        or if the data of the last successful run are not kept.
    """
    # The newest run comes first.
    for run in db_run.list_runs(node_uuid):
        if run.result != OK:
            continue
        try:
            row = db_history.get_inventory(node_uuid, str(run.uuid))
        except exceptions.KeptInventoryNotFound:
            # Data of an older run would be out of date.
            return None
        return stored(read(row))
    return None


def read_parts(row: typing.Any) -> part.Parts:
    """Return the parts of a machine that were known after an inspection.

    :param row: the row of the inspection. Its column ``parts`` is the digest
        by which the parts are stored.
    :returns: the parts; no parts if another process has just removed them,
        e.g. because of their age.
    """
    stored_parts = content.load([row.parts]).get(row.parts)
    if not stored_parts:
        return part.NOTHING
    return part.Parts.from_dict(stored_parts)


def reported_parts(row: typing.Any) -> part.Parts:
    """Return the parts of a machine that an inspection reported."""
    document = read(row)
    return part.read(
        document.get('inventory') or {},
        document.get('plugin_data') or {},
        row.interface or '',
    )


def facts_of(
    machine: working_copy.Facts, **more: typing.Any
) -> dict[str, str]:
    """Return the data of a machine at the beginning of a phase, as JSON texts.

    They are encoded immediately, because rules and hooks change the data in
    place later.

    :param machine: the data.
    :param more: further values to keep for the phase, e.g. the ``revision``.
    :returns: three texts: ``inventory``, ``plugin_data``, and ``others`` with
        the node, its ports and port groups, and the further values.
    """
    others = {
        'node': machine.node,
        'ports': machine.ports,
        'port_groups': machine.port_groups,
        **more,
    }
    return {
        'inventory': _encode(machine.inventory),
        'plugin_data': _without_logs(machine.plugin_data),
        _OTHERS: _encode(others),
    }


def _without_logs(plugin_data: Mapping[str, typing.Any]) -> str:
    """Return plugin data as JSON, without the logs of the ramdisk."""
    kept = {name: value for name, value in plugin_data.items() if name != LOGS}
    return _encode(kept)


class _BaseData:
    """The inventory and the plugin data of a document.

    They are the base of its patches: the data at other times of the inspection
    are stored as patches of them. They are not only what the machine has
    posted, but have the changes of hooks and early rules.

    :param mask: whether to mask the secrets in the stored data.
    :ivar texts: the JSON texts of ``inventory`` and ``plugin_data``, with all
        secrets.
    :ivar kept: ``inventory`` and ``plugin_data`` in the form in which they are
        stored.
    """

    def __init__(self, findings: Findings, mask: bool) -> None:
        self._mask = mask
        data = findings.data(mask=False)
        self.texts = {name: _encode(value) for name, value in data.items()}
        # Convert the data to JSON and back, because a patch can only be built
        # from plain JSON data.
        self.kept = {
            name: _read_masked(text, mask) for name, text in self.texts.items()
        }

    def patch(self, name: str, text: str) -> document_patch.Patch:
        """Return the patch from the data of the document to other data.

        :param name: ``inventory`` or ``plugin_data``.
        :param text: the other data, e.g. at the beginning of a phase, as JSON.
        """
        # This is fast, and in most phases the data are unchanged.
        if text == self.texts[name]:
            return []
        return document_patch.between(
            self.kept[name], _read_masked(text, self._mask)
        )


def document(
    findings: Findings,
    values: Mapping[str, typing.Any],
    errors: Mapping[str, Document],
    mask: bool,
) -> Document:
    """Build the document of an inspection that has ended.

    :param findings: the data of the machine, the facts of every phase, and the
        plugin data at the end.
    :param values: the columns of the run of the inspection.
    :param errors: the errors with which phases ended, by phase.
    :param mask: whether to mask secrets in the data of the machine. Secrets of
        the node and its ports are always masked.
    :returns: the document, whose form this module describes.
    """
    base = _BaseData(findings, mask)
    # Add the facts at the beginning of every phase.
    facts = {}
    for phase, texts in findings.facts.items():
        # Credentials of the node and its ports are never kept, even if the
        # rules saw them.
        facts_of_phase = disclosure.mask_data(json.loads(texts[_OTHERS]))
        for name in ('inventory', 'plugin_data'):
            facts_of_phase[name] = base.patch(name, texts[name])
        facts_of_phase['error'] = errors.get(phase)
        facts[phase] = facts_of_phase
    # Add the plugin data at the end. A failed inspection does not store them.
    stored_patch = None
    if values['error'] is None:
        stored_patch = base.patch('plugin_data', _without_logs(findings.left))
    new_document = dict(base.kept)
    if findings.reads_previous:
        new_document['previous'] = _read_masked(
            _encode(findings.previous), mask
        )
    for name in ('event', 'revision', 'result', 'error'):
        new_document[name] = values[name]
    new_document['options'] = findings.options
    new_document['phases'] = _without_seconds(values['phases'])
    new_document['facts'] = facts
    new_document['stored'] = stored_patch
    return new_document


def _without_seconds(
    phases: Mapping[str, Mapping[str, typing.Any]],
) -> Document:
    """Return the records of phases without the time that they took.

    Two inspections with the same data then have the same document, which is
    stored only once.

    :param phases: the records by phase, see :mod:`.phase_record`.
    """
    records = {}
    for phase, record in phases.items():
        records[phase] = {
            name: value for name, value in record.items() if name != 'seconds'
        }
    # Convert the records to JSON and back, because a patch can only be built
    # from plain JSON data.
    plain_records: Document = json.loads(_encode(records))
    return plain_records


def _read_masked(text: str, mask: bool) -> typing.Any:
    """Return the value of a JSON text, with masked secrets if ``mask``."""
    value = json.loads(text)
    if mask:
        return disclosure.mask_data(value)
    return value
