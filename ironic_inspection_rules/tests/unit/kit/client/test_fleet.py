# SPDX-License-Identifier: Apache-2.0

"""Trying rules on a fleet, page by page."""

import json

import requests

from ironic_inspection_rules.kit.client import fleet
from ironic_inspection_rules.tests.unit import base

URL = '/inspection_rules/evaluate'
RULE = {'actions': [{'op': 'log', 'args': ['x']}]}


def answer(document):
    """Return an answer of Ironic."""
    response = requests.Response()
    response.status_code = 200
    response._content = json.dumps(document).encode()
    return response


class BareMetal:
    """Ironic with some nodes; it notes what it was asked."""

    def __init__(self, count):
        self.uuids = [f'uuid-{number}' for number in range(count)]
        self.asked = []

    def request(self, path, method, data, **_kwargs):
        body = json.loads(data)
        self.asked.append((path, body))
        wanted, following = body['nodes'], None
        if isinstance(wanted, dict):
            start = 0
            if 'marker' in body:
                start = self.uuids.index(body['marker']) + 1
            wanted = self.uuids[start : start + body['limit']]
            if wanted[-1] != self.uuids[-1]:
                following = wanted[-1]
        return answer(
            {'nodes': [{'uuid': uuid} for uuid in wanted], 'next': following}
        )


class FleetTestCase(base.TestCase):
    def test_a_page_says_only_what_was_given(self):
        cloud = BareMetal(2)
        page = fleet.evaluate_page(cloud, {'driver': 'ipmi'}, limit=5)
        self.assertIsNone(page['next'])
        self.assertEqual(
            [(URL, {'nodes': {'driver': 'ipmi'}, 'limit': 5})], cloud.asked
        )

    def test_rules_are_posted_as_they_are(self):
        # One without a UUID replaces the stored one of its description.
        cloud = BareMetal(4)
        page = fleet.evaluate_page(
            cloud, ['b', 'a'], [RULE], compare=True, prune=True
        )
        self.assertEqual(['b', 'a'], [node['uuid'] for node in page['nodes']])
        self.assertEqual(
            [
                (
                    URL,
                    {
                        'nodes': ['b', 'a'],
                        'rules': [RULE],
                        'prune': True,
                        'compare': True,
                    },
                )
            ],
            cloud.asked,
        )

    def test_the_next_page_is_asked_for_by_its_marker(self):
        cloud = BareMetal(3)
        first = fleet.evaluate_page(cloud, {}, limit=2)
        last = fleet.evaluate_page(cloud, {}, limit=2, marker=first['next'])
        self.assertEqual(
            cloud.uuids,
            [node['uuid'] for page in (first, last) for node in page['nodes']],
        )
        self.assertIsNone(last['next'])
