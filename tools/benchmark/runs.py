# SPDX-License-Identifier: Apache-2.0

"""The cost that keeping a run adds to an inspection.

The rules are those of ``engine``, of which one in ten matches. A phase is run
alone, and then in the same way as by an inspection: the conditions of matching
rules are explained, rules are counted, and the run is recorded and stored in
place of the oldest run of the node.
"""

import argparse
import functools
import types

from oslo_utils import uuidutils

from benchmark import common
from benchmark import engine
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.runs import statistics
from ironic_inspection_rules.tests import database

KEPT = 5
"""Number of runs of a node that are kept."""
NEVER = 3600
"""Seconds until the counts of rules are written, which is longer than the
benchmark takes."""

NODE = types.SimpleNamespace(
    uuid=uuidutils.generate_uuid(), inspect_interface='agent'
)


def run_phase(
    plans: list[compiler.CompiledRule], keep: bool
) -> runner.PhaseOutcome:
    """Run the rules on a machine.

    :param keep: whether to collect the data for the record of a run.
    """
    target = working_copy.WorkingCopy(
        working_copy.Facts(engine.INVENTORY, {}, engine.NODE)
    )
    return runner.run(plans, target, keep=keep)


def keep_run(
    plans: list[compiler.CompiledRule], counter: statistics.RuleCounter
) -> None:
    """Run the rules, count them, and store the record of the run."""
    outcome = run_phase(plans, keep=True)
    run = recorder.RunRecorder(recorder.INSPECTION)
    run.revision = 1
    run.phases['main'] = phase_record.build(outcome, 0.0)
    counter.count(outcome, NODE.uuid)
    findings = history.Findings(engine.INVENTORY, {}, {})
    transaction.write(
        recorder.prepare_run(run, findings, NODE, None, KEPT, mask=True)
    )


def _write_nothing(_rows: object) -> None:
    """Do nothing with the counts of rules, which are not measured."""


def measure(arguments: argparse.Namespace) -> None:
    """Measure a phase alone, with reasons, and with its run stored."""
    engine.prepare_stock()
    kind = arguments.database
    table = common.Table(
        'Processor time of a phase, one rule in ten matching, in ms '
        f'({common.server_version(kind)})',
        ('Rules', 'Alone', 'With reasons', 'With its run kept'),
    )
    for count in arguments.kept_rules:
        plans = engine.compile_rules(engine.make_rules(count))
        counter = statistics.RuleCounter(_write_nothing, NEVER)
        with database.Database(kind):
            alone, explained, kept = engine.seconds(
                arguments.repeats,
                functools.partial(run_phase, plans, keep=False),
                functools.partial(run_phase, plans, keep=True),
                functools.partial(keep_run, plans, counter),
            )
        table.add(
            f'{count:,}',
            f'{alone * 1000:.1f}',
            f'{explained * 1000:.1f}',
            f'{kept * 1000:.1f}',
        )
    table.print()


def _missing(arguments: argparse.Namespace) -> str | None:
    """Return what this machine lacks for the benchmark, or None."""
    return common.missing_database(arguments.database)


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--database',
        default='sqlite',
        choices=('sqlite', 'mysql', 'postgresql'),
        help='where runs are stored',
    )
    group.add_argument(
        '--kept-rules',
        type=int,
        nargs='+',
        metavar='COUNT',
        default=[100, 1000],
        help='numbers of rules',
    )
    group.add_argument(
        '--repeats',
        type=int,
        default=20,
        metavar='TIMES',
        help='how often a phase is run; the fastest counts',
    )


PART = common.Part(
    'runs',
    'what keeping a run adds to an inspection',
    measure,
    _add_arguments,
    _missing,
)
