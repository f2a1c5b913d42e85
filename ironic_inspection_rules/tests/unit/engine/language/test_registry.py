# SPDX-License-Identifier: Apache-2.0

"""The ops there are, and what is no op."""

from importlib import metadata
import typing

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.tests.unit import base

HERE = __name__


class Always(plugin.Condition):
    """A condition that holds."""

    def __call__(self):
        return True


class Nothing(plugin.Action):
    """An action that does nothing."""

    def __call__(self, target, what: str = 'nothing'):
        pass


class NoTarget(plugin.Action):
    """An action that does not take the target."""

    def __call__(self):
        pass


class TakesAnything(plugin.Condition):
    """A condition whose arguments have no names."""

    def __call__(self, **anything):
        return True


class Unfinished(plugin.Condition):
    """A condition that decides nothing."""


class Broken(plugin.Action):
    """An action that cannot be made."""

    def __init__(self):
        raise RuntimeError('no disk')

    def __call__(self, target):
        pass


class Specified:
    """Has the form of spec 003's InspectionRuleActionBase."""

    formatted_params: typing.ClassVar[list[str]] = ['value']
    supports_early = True

    def call_early(self, rule, *args, **kwargs):
        pass

    def __call__(self, task, rule, *args, **kwargs):
        pass


class SeesDataAndPays(plugin.Filter):
    """A filter that wants both the data and the budget before the value."""

    NEEDS_VIEW = True
    PAYS = True

    def __call__(self, view, allowance, value):
        return value


class RegistryTestCase(base.TestCase):
    def test_classes_and_instances_are_ops(self):
        ops = registry.Registry({'always': Always}, {'nothing': Nothing()})

        self.assertIsInstance(ops.conditions['always'].plugin, Always)
        self.assertEqual(
            "what='nothing'", str(ops.actions['nothing'].signature)
        )

    def test_what_is_no_plugin_is_named(self):
        for conditions, actions in (
            ({'mine': Nothing}, {}),
            ({}, {'mine': Always}),
            ({'mine': len}, {}),
            ({'mine': TakesAnything}, {}),
            ({}, {'mine': NoTarget}),
            ({'mine': Unfinished}, {}),
            ({}, {'mine': Broken}),
        ):
            error = self.assertRaises(
                exceptions.PluginError, registry.Registry, conditions, actions
            )
            self.assertIn('mine', str(error))

    def test_an_action_of_the_form_of_the_specification_is_told_the_page(self):
        error = self.assertRaises(
            exceptions.PluginError, registry.Registry, {}, {'mine': Specified}
        )
        for text in ('"mine"', 'language.plugin.Action', registry.PAGE):
            self.assertIn(text, str(error))


class InstalledTestCase(base.TestCase):
    """Ops by entry point; the tests bring entry points of their own."""

    def setUp(self):
        super().setUp()
        registry.installed.cache_clear()
        self.addCleanup(registry.installed.cache_clear)

    def install(self, group=registry.CONDITIONS, **plugins):
        found = [
            metadata.EntryPoint(name.replace('_', '-'), value, group)
            for name, values in plugins.items()
            for value in values
        ]
        self.useFixture(
            fixtures.MonkeyPatch(
                'stevedore.ExtensionManager.list_entry_points',
                lambda manager: found if manager.namespace == group else [],
            )
        )

    def failure(self):
        return str(
            self.assertRaises(exceptions.PluginError, registry.installed)
        )

    def test_those_of_this_package_are_there(self):
        ops = registry.installed()
        self.assertIn('one-of', ops.conditions)
        self.assertIn('set-traits', ops.actions)

    def test_those_of_others_are_there(self):
        self.install(always=[f'{HERE}:Always'])
        self.assertEqual(['always'], list(registry.installed().conditions))

    def test_two_of_one_name_clash(self):
        self.install(always=[f'{HERE}:Always', f'{HERE}:TakesAnything'])
        self.assertIn('"always"', self.failure())

    def test_a_class_that_does_not_exist_is_named(self):
        self.install(always=[f'{HERE}:Never'])
        failure = self.failure()
        self.assertIn('"always"', failure)
        self.assertIn('Never', failure)

    def test_a_module_that_does_not_exist_is_named(self):
        self.install(always=['no.such.module:Always'])
        self.assertIn('no.such.module', self.failure())

    def test_a_class_that_is_no_condition_is_named(self):
        self.install(nothing=[f'{HERE}:Nothing'])
        self.assertIn('"nothing"', self.failure())

    def test_a_filter_with_both_the_data_and_the_budget_is_named(self):
        registry.filters.cache_clear()
        self.addCleanup(registry.filters.cache_clear)
        self.install(registry.FILTERS, mine=[f'{HERE}:SeesDataAndPays'])

        error = self.assertRaises(exceptions.PluginError, registry.filters)

        for text in ('"mine"', 'NEEDS_VIEW', 'PAYS'):
            self.assertIn(text, str(error))
