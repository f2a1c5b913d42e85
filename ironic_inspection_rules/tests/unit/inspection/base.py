# SPDX-License-Identifier: Apache-2.0

"""What tests of the runtime glue stand on: a node in a real database."""

import types

import fixtures
from ironic import objects
from ironic.common import context
from oslo_utils import uuidutils

from ironic_inspection_rules import conf
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.inspection import rule_counter
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import statistics
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

MAC = '52:54:00:12:34:56'


class Task:
    """A TaskManager as hooks see it, without its lock."""

    def __init__(self, admin_context, node):
        self.context = admin_context
        self.node = node
        self.driver = None
        self.load_driver()
        self.ports = self.portgroups = None

    def load_driver(self):
        """Load the driver of the node, unless one is loaded."""
        if self.driver is None:
            self.driver = types.SimpleNamespace(name=self.node.driver)

    @property
    def ports(self):
        """Ports as they were when they were first looked at."""
        if self._ports is None:
            self._ports = objects.Port.list_by_node_id(
                self.context, self.node.id
            )
        return self._ports

    @ports.setter
    def ports(self, ports):
        self._ports = ports

    @property
    def portgroups(self):
        """Port groups as they were when they were first looked at."""
        if self._portgroups is None:
            self._portgroups = objects.Portgroup.list_by_node_id(
                self.context, self.node.id
            )
        return self._portgroups

    @portgroups.setter
    def portgroups(self, portgroups):
        self._portgroups = portgroups


class GlueTestCase(base.IronicTestCase):
    """A test with a node, its port, and Ironic's tables.

    :cvar kind: of database, see :class:`database.Database`.
    """

    kind = 'sqlite'

    def setUp(self):
        super().setUp()
        conf.register_opts(self.cfg.conf)
        self.config(group='database', connection='sqlite://')
        objects.register_all()
        self.database = self.useFixture(
            database.Database(self.kind, ironic=True)
        )
        self.context = context.get_admin_context()
        self.counted = []
        counter = statistics.RuleCounter(self.counted.extend, period=3600)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.rule_counter.get_counter',
                lambda: counter,
            )
        )
        self.task = self.make_task(name='one')

    def make_task(self, mac=MAC, **fields):
        node = objects.Node(
            self.context,
            **{
                'uuid': uuidutils.generate_uuid(),
                'driver': 'fake-hardware',
                'inspect_interface': 'agent',
                'provision_state': 'inspecting',
                'properties': {},
                'extra': {},
                'driver_info': {},
                **fields,
            },
        )
        node.create()
        self.make_port(node, mac)
        return Task(
            self.context, objects.Node.get_by_uuid(self.context, node.uuid)
        )

    def make_port(self, node, mac):
        objects.Port(
            self.context,
            node_id=node.id,
            address=mac,
            uuid=uuidutils.generate_uuid(),
        ).create()

    def count(self):
        """Return what was counted, by the UUID of the rule."""
        rule_counter.get_counter().flush()
        return {row['rule_uuid']: row for row in self.counted}

    def runs(self):
        """Return the runs kept of the node, whole, newest first."""
        return db_run.list_runs(self.task.node.uuid, whole=True)

    def stored_node(self):
        return objects.Node.get_by_uuid(self.context, self.task.node.uuid)

    def stored_port(self):
        return objects.Port.get_by_uuid(self.context, self.task.ports[0].uuid)


class Hook:
    """The hook of a conductor, with rules in force of its own."""

    def __init__(self, in_force):
        self._rules = in_force

    def _in_force(self):
        return fixtures.MonkeyPatch(
            'ironic_inspection_rules.inspection.start.rules',
            lambda: self._rules,
        )

    def preprocess(self, task, inventory, plugin_data):
        with self._in_force():
            inspection.PhaseHook().preprocess(task, inventory, plugin_data)

    def finish_discovery(self, task, inventory, plugin_data):
        with self._in_force():
            inspection.PhaseHook()(task, inventory, plugin_data)

    def apply(self, task, inventory, plugin_data, phase):
        with self._in_force():
            inspection.apply_rules(task, inventory, plugin_data, phase)


def rules(*stored, **options):
    """Make the rules in force of mappings, as the API would store them."""
    mappings = [
        {'uuid': uuidutils.generate_uuid(), **fields} for fields in stored
    ]
    return repository.Repository(
        registry.installed(),
        (),
        lambda context: len(mappings),
        lambda context: mappings,
        **options,
    )


def rule(*actions, conditions=(), **fields):
    """Write a rule of the main phase.

    :param actions: mappings, or pairs of an op and its arguments, such as
        ``('set-attribute', ['/extra/rack', 'r1'])``.
    :param fields: further fields, such as ``phase``.
    """
    mappings = []
    for action in actions:
        if not isinstance(action, dict):
            op, args = action
            action = {'op': op, 'args': args}
        mappings.append(action)
    return {
        'actions': mappings,
        'conditions': list(conditions),
        'phase': model.PHASES[-1],
        **fields,
    }
