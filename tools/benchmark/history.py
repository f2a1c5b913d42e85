# SPDX-License-Identifier: Apache-2.0

"""The cost that the history of a machine adds to an inspection.

A machine is inspected repeatedly without a change, except for values that
differ every time: times, free memory, the order of its disks. Inspections with
and without history take turns.
"""

import argparse
import json
import random
import statistics
import time
import types
from typing import Any
import zlib

from ironic.conf import CONF
from oslo_utils import uuidutils
import sqlalchemy as sa

from benchmark import common
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests import database

DAYS = 30
"""Number of days for which history is kept."""

NODE = types.SimpleNamespace(
    uuid=uuidutils.generate_uuid(), inspect_interface='agent'
)
Json = dict[str, Any]

TABLES = (
    models.ContentRow,
    models.ContentSectionRow,
    models.SectionRow,
    models.KeptInventoryRow,
    models.PartStayRow,
)


def make_machine(turn: int, size: int) -> tuple[Json, Json]:
    """Make inventory and plugin data of a machine.

    :param turn: the number of the inspection. Some values and the order of the
        disks differ between inspections, as on real machines.
    :param size: the approximate length of both as JSON, in characters.
    """
    disks = [
        {
            'name': f'/dev/sd{place}',
            'serial': f'S{place:08d}',
            'model': 'MZ7LH960',
            'size': 960 << 30,
            'by_path': f'/dev/disk/by-path/{place}',
        }
        for place in range(12)
    ]
    random.Random(turn).shuffle(disks)
    inventory = {
        'disks': disks,
        'memory': {'physical_mb': 524288, 'total': 540000000 - turn},
        'cpu': {
            'count': 64,
            'frequency': str(2000 + turn % 7),
            'flags': [f'flag{number}' for number in range(150)],
        },
        'interfaces': [
            {
                'name': f'eth{place}',
                'mac_address': f'52:54:00:00:00:{place:02x}',
            }
            for place in range(8)
        ],
    }
    # PCI devices of about 105 characters fill the rest of the size.
    left = size - len(json.dumps(inventory))
    devices = [
        {
            'vendor_id': '8086',
            'product_id': f'{number:04x}',
            'class': '060400',
            'revision': '01',
            'bus': f'0000:{number:02x}:00.0',
        }
        for number in range(left // 105)
    ]
    return inventory, {
        'pci_devices': devices,
        'booted_at': f'2026-01-01T00:00:{turn:02d}',
    }


def inspect(turn: int, size: int, days: int) -> float:
    """Record an inspection, and return the processor time in seconds.

    :param turn: the number of the inspection.
    :param size: the approximate length of its data as JSON, in characters.
    :param days: the number of days for which its data are kept; 0 for no
        history.
    """
    inventory, plugin_data = make_machine(turn, size)
    facts = working_copy.Facts(
        inventory,
        plugin_data,
        {'uuid': NODE.uuid, 'updated_at': f'2026-01-01T00:01:{turn:02d}'},
    )
    started = time.process_time()
    run = recorder.RunRecorder(recorder.INSPECTION)
    run.revision = 1
    facts_by_phase = {}
    if days:
        for phase in ('preprocess', 'main'):
            facts_by_phase[phase] = history.facts_of(facts)
    findings = history.Findings(
        inventory, plugin_data, plugin_data, facts_by_phase
    )
    transaction.write(
        recorder.prepare_run(
            run, findings, NODE, None, 5, mask=True, keep_history=days
        )
    )
    return time.process_time() - started


def stored() -> int:
    """Return the bytes of all values in the tables, without indexes."""
    total = 0
    with transaction.reader() as session:
        for table in TABLES:
            for row in session.execute(sa.select(*table.__table__.c)):
                for value in row:
                    if isinstance(value, bytes):
                        total += len(value)
                    else:
                        total += len(str(value))
    return total


def measure(arguments: argparse.Namespace) -> None:
    """Measure inspections of a machine that does not change.

    Inspections with and without history take turns, so that a slowdown of the
    machine affects both.
    """
    CONF([], project='ironic', default_config_files=[])
    size, kind = arguments.size, arguments.database
    with database.Database(kind):
        # The first inspection stores all data of the machine.
        inspect(0, size, DAYS)
        first = stored()
        seconds: dict[int, list[float]] = {0: [], DAYS: []}
        for turn in range(1, arguments.inspections + 1):
            for days, taken in seconds.items():
                taken.append(inspect(turn, size, days))
        more = (stored() - first) / arguments.inspections
    without, with_history = map(statistics.median, seconds.values())
    data = json.dumps(make_machine(0, size)).encode()
    table = common.Table(
        f'The history of a machine, {arguments.inspections} inspections '
        f'({common.server_version(kind)})',
        ('What', 'Measured'),
    )
    table.add('Data of an inspection', f'{len(data):,} bytes')
    table.add('The same compressed', f'{len(zlib.compress(data)):,} bytes')
    table.add('Stored for the first inspection', f'{first:,} bytes')
    table.add('Stored for one without change', f'{more:,.0f} bytes')
    table.add('Processor time without history', f'{without * 1000:.1f} ms')
    table.add('Processor time with history', f'{with_history * 1000:.1f} ms')
    table.print()


def _missing(arguments: argparse.Namespace) -> str | None:
    """Return what this machine lacks for the benchmark, or None."""
    return common.missing_database(arguments.database)


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--inspections',
        type=int,
        default=100,
        metavar='COUNT',
        help='number of inspections of the machine, with history and without',
    )
    group.add_argument(
        '--size',
        type=int,
        default=40_000,
        metavar='BYTES',
        help='approximate size of the data of an inspection, as JSON',
    )


PART = common.Part(
    'history',
    'what the history of a machine adds',
    measure,
    _add_arguments,
    _missing,
)
