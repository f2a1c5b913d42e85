# SPDX-License-Identifier: Apache-2.0

"""What a test run installs is pinned, to the last package."""

from importlib import metadata
import os
import pathlib

from packaging import requirements
from packaging import utils

from ironic_inspection_rules import releases
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit import test_releases

_OWN = 'ironic-inspection-rules'
_OF_VIRTUAL_ENVIRONMENTS = {'pip', 'setuptools', 'wheel'}


def read_pins(text):
    """Return the versions by name that hold on this Python."""
    pins = {}
    for line in text.splitlines():
        if line.startswith('#'):
            continue
        pin = requirements.Requirement(line)
        if pin.marker is None or pin.marker.evaluate():
            (specifier,) = pin.specifier
            pins[utils.canonicalize_name(pin.name)] = specifier.version
    return pins


class ConstraintsTestCase(base.TestCase):
    def pins_of(self, release):
        return read_pins(
            test_releases.read(f'constraints/ironic-{release}.txt')
        )

    def test_each_ironic_has_its_own(self):
        for release in releases.TRIED:
            self.assertEqual(release, self.pins_of(release)['ironic'])

    def assert_pinned(self, required, pins, where):
        """Check that pins have all that lines of requirements name."""
        for name, specifier in test_releases.required(required).items():
            pin = pins.get(utils.canonicalize_name(name))
            self.assertIn(pin, specifier, f'{name} in {where}')

    def test_all_that_is_required_is_pinned_as_it_is_required(self):
        for name in (
            'requirements.txt',
            'test-requirements.txt',
            'doc/requirements.txt',
        ):
            required = test_releases.read(name)
            for release in releases.TRIED:
                self.assert_pinned(required, self.pins_of(release), release)

    def test_the_tools_are_pinned(self):
        pins = read_pins(test_releases.read('constraints/tools.txt'))
        required = test_releases.read('constraints/tools.in')
        self.assert_pinned(required, pins, 'tools.txt')

    def test_what_only_the_newest_needs_is_pinned(self):
        required = test_releases.read('constraints/newest.in')
        newest = releases.TRIED[-1]
        self.assert_pinned(required, self.pins_of(newest), newest)


class InstalledTestCase(base.TestCase):
    """What tox has installed here; ``IR_CONSTRAINTS`` names the file."""

    def test_nothing_is_installed_that_is_not_pinned(self):
        path = os.environ.get('IR_CONSTRAINTS')
        if not path:
            self.skipTest('IR_CONSTRAINTS names no file: nothing is pinned')
        pins = read_pins(pathlib.Path(path).read_text())
        found = {}
        for distribution in metadata.distributions():
            name = utils.canonicalize_name(distribution.name)
            if name != _OWN and name not in _OF_VIRTUAL_ENVIRONMENTS:
                found[name] = distribution.version
        expected = {name: pins.get(name) for name in found}
        self.assertEqual(expected, found)
