# SPDX-License-Identifier: Apache-2.0

"""Lists of introspections that are longer than what is read at once."""

import datetime
import uuid

import fixtures
import httpx
from ironic import objects
from ironic.common import context
from oslo_utils import timeutils

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.unit import base


class ManyNodesMixin:
    """The tests, for each kind of database."""

    kind: str

    def setUp(self):
        super().setUp()
        if self.kind != 'sqlite' and (
            reason := database.why_absent(self.kind)
        ):
            self.skipTest(reason)
        app = self.useFixture(application.Application(kind=self.kind)).app
        self.useFixture(conductor.Conductor())
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.api.controllers.introspection._NODES_PER_QUERY',
                2,
            )
        )
        self.client = httpx.Client(
            transport=httpx.WSGITransport(app=app),
            base_url='http://ironic.test',
        )
        self.addCleanup(self.client.close)
        now = timeutils.utcnow()
        self.queued = self.make_node('inspect wait')
        self.begun = [
            self.make_node('inspect wait', now - minutes)
            for minutes in map(_minutes, range(1, 4))
        ]
        self.aborted = self.make_node(
            'inspect failed',
            ended=now - _minutes(20),
            changed=now - _minutes(5),
        )
        self.done = self.make_node('manageable', None, now - _minutes(9))
        self.never = [self.make_node('manageable') for _each in range(3)]

    def make_node(self, state, began=None, ended=None, changed=None):
        node = objects.Node(
            context.get_admin_context(),
            uuid=str(uuid.uuid4()),
            driver='fake-hardware',
            inspect_interface='agent',
            provision_state=state,
            provision_updated_at=changed,
            inspection_started_at=began,
            inspection_finished_at=ended,
        )
        node.create()
        return node.uuid

    def listed(self, **query):
        answer = self.client.get('/v1/introspection', params=query)
        self.assertEqual(200, answer.status_code, answer.text)
        return [each['uuid'] for each in answer.json()['introspection']]

    def test_each_node_comes_once_the_last_begun_first(self):
        self.assertEqual(
            [self.queued, *self.begun, self.aborted, self.done], self.listed()
        )

    def test_pages_follow_each_other(self):
        first = self.listed(limit=3)
        self.assertEqual([self.queued, *self.begun[:2]], first)
        self.assertEqual(
            [self.begun[2], self.aborted, self.done],
            self.listed(limit=3, marker=first[-1]),
        )
        self.assertEqual([], self.listed(marker=self.done))

    def test_what_is_in_no_list_marks_no_place(self):
        for marker in (self.never[0], str(uuid.uuid4())):
            answer = self.client.get(
                '/v1/introspection', params={'marker': marker}
            )
            self.assertEqual(404, answer.status_code, answer.text)


def _minutes(count):
    return datetime.timedelta(minutes=count)


class SQLiteManyNodesTestCase(ManyNodesMixin, base.TestCase):
    kind = 'sqlite'


class MySQLManyNodesTestCase(ManyNodesMixin, base.TestCase):
    kind = 'mysql'


class PostgreSQLManyNodesTestCase(ManyNodesMixin, base.TestCase):
    kind = 'postgresql'
