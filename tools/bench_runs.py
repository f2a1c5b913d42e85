#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure what keeping a run adds to an inspection.

The rules are those of ``bench_engine.py``: one in ten matches. The phase is
run alone, and then as an inspection does it: with reasons for the conditions
of the rules that match, counted, made a record of and stored in the place of
the oldest run of the node.
"""

import argparse
import types

import bench_engine
from ironic.conf import CONF
from oslo_utils import uuidutils

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import journal
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.runs import statistics
from ironic_inspection_rules.tests import database

KEPT = 5
NEVER = 3600

NODE = types.SimpleNamespace(uuid=uuidutils.generate_uuid(),
                             inspect_interface='agent')


def run_phase(plans: list[compiler.CompiledRule], keep: bool
              ) -> tuple[runner.Outcome, journal.Journal]:
    """Run the rules on a machine."""
    target = working_copy.WorkingCopy(working_copy.Facts(
        bench_engine.INVENTORY, {}, bench_engine.NODE))
    return runner.run(plans, target, keep=keep), target.journal


def keep_run(plans: list[compiler.CompiledRule],
             counter: statistics.RuleCounter) -> None:
    """Run the rules and keep what they did."""
    outcome, written = run_phase(plans, keep=True)
    run = recorder.Run(recorder.INSPECTION)
    run.begin(bench_engine.INVENTORY, {})
    run.run_rules(1)
    run.add('main', outcome, 0.0, written)
    counter.count(outcome, NODE.uuid)
    prepared = recorder.prepare(run, NODE, None, KEPT, mask=True)
    assert prepared is not None
    prepared()


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--rules', type=int, default=1000)
    parser.add_argument('--database', default='sqlite',
                        choices=('sqlite', 'mysql', 'postgresql'))
    parsed = parser.parse_args()
    CONF([], project='ironic', default_config_files=[])
    plans = bench_engine.compile_rules(bench_engine.make_rules(parsed.rules))
    counter = statistics.RuleCounter(lambda rows: None, NEVER)
    with database.Database(parsed.database):
        alone, told, kept = bench_engine.seconds(
            lambda: run_phase(plans, False), lambda: run_phase(plans, True),
            lambda: keep_run(plans, counter))
    print(f'{parsed.rules} rules, one in ten matching, processor time of a '
          'phase:')
    print(f'  alone         {alone * 1000:6.1f} ms')
    print(f'  with reasons  {told * 1000:6.1f} ms, '
          f'{(told - alone) * 1000:.1f} ms more')
    print(f'  kept          {kept * 1000:6.1f} ms, '
          f'{(kept - alone) * 1000:.1f} ms more')


if __name__ == '__main__':
    main()
