# SPDX-License-Identifier: Apache-2.0

"""Measure what keeping the history of a machine adds to an inspection.

A machine is inspected again and again unchanged, but for what differs each
time: times, free memory, the order of its disks. With and without history, in
turns.
"""

import argparse
import json
import random
import time
import types
from typing import Any
import zlib

from ironic.conf import CONF
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests import database

NODE = types.SimpleNamespace(uuid=uuidutils.generate_uuid(),
                             inspect_interface='agent')
Json = dict[str, Any]

TABLES = (models.Content, models.ContentSection, models.Section,
          models.KeptInventory, models.PartStay)


def make_machine(turn: int, size: int) -> tuple[Json, Json]:
    """Make inventory and plugin data of a machine.

    :param size: characters of both as JSON, about.
    """
    disks = [{'name': f'/dev/sd{place}', 'serial': f'S{place:08d}',
              'model': 'MZ7LH960', 'size': 960 << 30,
              'by_path': f'/dev/disk/by-path/{place}'} for place in range(12)]
    random.Random(turn).shuffle(disks)
    inventory = {
        'disks': disks, 'memory': {'physical_mb': 524288,
                                   'total': 540000000 - turn},
        'cpu': {'count': 64, 'frequency': str(2000 + turn % 7),
                'flags': [f'flag{each}' for each in range(150)]},
        'interfaces': [{'name': f'eth{place}', 'mac_address':
                        f'52:54:00:00:00:{place:02x}'} for place in range(8)]}
    left = size - len(json.dumps(inventory))
    devices = [{'vendor_id': '8086', 'product_id': f'{each:04x}',
                'class': '060400', 'revision': '01', 'bus':
                f'0000:{each:02x}:00.0'} for each in range(left // 105)]
    return inventory, {'pci_devices': devices, 'booted_at':
                       f'2026-01-01T00:00:{turn:02d}'}


def inspect(turn: int, size: int, days: int) -> float:
    """Keep an inspection.

    :returns: seconds of the processor that it took.
    """
    inventory, plugin_data = make_machine(turn, size)
    facts = working_copy.Facts(inventory, plugin_data, {
        'uuid': NODE.uuid, 'updated_at': f'2026-01-01T00:01:{turn:02d}'})
    started = time.process_time()
    run = recorder.Run(recorder.INSPECTION)
    run.begin(inventory, plugin_data)
    run.run_rules(1)
    if days:
        run.note_facts('preprocess', facts)
        run.note_facts('main', facts)
    prepared = recorder.prepare(run, NODE, None, 5, mask=True, days=days)
    assert prepared is not None
    prepared()
    return time.process_time() - started


def stored() -> int:
    """Return the bytes of all values in the tables, without indexes."""
    with transaction.reader() as session:
        return sum(len(value) if isinstance(value, bytes)
                   else len(str(value)) for table in TABLES
                   for row in session.execute(
                       sa.select(*table.__table__.c)) for value in row)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--database', default='sqlite',
                        choices=('sqlite', 'mysql', 'postgresql'))
    parser.add_argument('--inspections', type=int, default=100)
    parser.add_argument('--size', type=int, default=40000)
    parsed = parser.parse_args()
    CONF([], project='ironic', default_config_files=[])
    with database.Database(parsed.database):
        inspect(0, parsed.size, 30)
        first = stored()
        seconds: dict[int, list[float]] = {0: [], 30: []}
        for turn in range(1, parsed.inspections + 1):
            for days, taken in seconds.items():
                taken.append(inspect(turn, parsed.size, days))
        more = (stored() - first) / parsed.inspections
    without, with_ = (sorted(taken)[len(taken) // 2]
                      for taken in seconds.values())
    data = json.dumps(make_machine(0, parsed.size)).encode()
    print(f'{len(data)} bytes of data, {len(zlib.compress(data))} compressed')
    print(f'  first inspection        {first:8d} bytes')
    print(f'  each one unchanged      {more:8.0f} bytes')
    print(f'  without history         {without * 1000:8.1f} ms')
    print(f'  with history            {with_ * 1000:8.1f} ms, '
          f'{(with_ - without) * 1000:.1f} ms more')


if __name__ == '__main__':
    main()
