# SPDX-License-Identifier: Apache-2.0

"""Trying rules on a fleet, page by page."""

import threading

from ironic_inspection_rules.client import fleet
from ironic_inspection_rules.tests.unit import base

URL = '/inspection_rules/evaluate'
RULE = {'actions': [{'op': 'log', 'args': ['x']}]}


class Answer:
    """An answer of Ironic."""

    status_code = 200
    content = b'{}'

    def __init__(self, document):
        self._document = document

    def json(self):
        return self._document


class BareMetal:
    """Ironic with some nodes; it notes what it was asked.

    :param most: nodes of a page of the list.
    """

    def __init__(self, count, most=1000):
        self.most = most
        self.uuids = [f'uuid-{number}' for number in range(count)]
        self.asked = []
        self._lock = threading.Lock()

    def request(self, path, method, json=None, params=None, **_kwargs):
        with self._lock:
            self.asked.append((path, json or params))
        if path == '/nodes':
            start = int(params.get('marker', 0))
            end = start + self.most
            more = {'next': f'http://x/?marker={end}'} if end < len(
                self.uuids) else {}
            return Answer({'nodes': [{'uuid': uuid} for uuid
                                     in self.uuids[start:end]], **more})
        wanted, following = json['nodes'], None
        if isinstance(wanted, dict):
            start = (self.uuids.index(json['marker']) + 1
                     if 'marker' in json else 0)
            wanted = self.uuids[start:start + json['limit']]
            if wanted[-1] != self.uuids[-1]:
                following = wanted[-1]
        return Answer({'nodes': [{'uuid': uuid} for uuid in wanted],
                       'next': following})


class FleetTestCase(base.TestCase):

    def evaluate(self, cloud, *args, **kwargs):
        return [entry['uuid'] for entry in fleet.evaluate(
            cloud, *args, **kwargs)]

    def test_a_page_says_only_what_was_given(self):
        cloud = BareMetal(2)
        page = fleet.evaluate_page(cloud, {'driver': 'ipmi'}, limit=5)
        self.assertIsNone(page['next'])
        self.assertEqual(
            [(URL, {'nodes': {'driver': 'ipmi'}, 'limit': 5})], cloud.asked)

    def test_filters_are_paged_through(self):
        cloud = BareMetal(7)
        self.assertEqual(cloud.uuids, self.evaluate(cloud, {}, limit=3))
        self.assertEqual([None, 'uuid-2', 'uuid-5'],
                         [asked.get('marker') for _path, asked
                          in cloud.asked])

    def test_rules_are_posted_as_they_are_with_each_page(self):
        # One without a UUID replaces the stored one of its description.
        cloud = BareMetal(4)
        self.evaluate(cloud, {}, rules=[RULE], limit=2, compare=True,
                      prune=True)
        for _path, asked in cloud.asked:
            self.assertEqual(([RULE], True, True), (
                asked['rules'], asked['prune'], asked['compare']))

    def test_a_list_needs_no_look_at_the_nodes(self):
        cloud = BareMetal(3)
        self.assertEqual(['b', 'a'],
                         self.evaluate(cloud, ['b', 'a'], limit=1))
        self.assertEqual({URL}, {path for path, _asked in cloud.asked})

    def test_no_nodes_are_no_question(self):
        cloud = BareMetal(0)
        self.assertEqual([], self.evaluate(cloud, []))
        self.assertEqual([], cloud.asked)
