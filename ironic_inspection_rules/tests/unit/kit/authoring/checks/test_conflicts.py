# SPDX-License-Identifier: Apache-2.0

"""Rules that undo one another are found, unless they never meet."""

from ironic_inspection_rules.kit.authoring.checks import conflicts
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

RULE = """
- description: {description}
  conditions: [{conditions}]
  actions: [{action}]
  {more}
"""
DRIVER = '{{op: set-attribute, args: {{path: /driver, value: {}}}}}'
MAKER = '"{inventory.system_vendor.manufacturer}"'


class CheckTestCase(base.CheckTestCase):
    def check(self, one, other):
        """Return the messages about two rules.

        :param one: mapping with an action, perhaps conditions and more.
        """
        text = ''.join(
            RULE.format(
                **{'description': name, 'conditions': '', 'more': '', **rule}
            )
            for name, rule in (('one', one), ('other', other))
        )
        return [
            (rule.written.label, message)
            for rule, _pointer, message in conflicts.check(self.rules(text))
        ]

    def conflicting(self, action, other):
        return len(self.check({'action': action}, {'action': other}))

    def test_conditions_of_actions_keep_writes_apart(self):
        when = (
            '{{op: set-attribute, args: {{path: /driver, value: {}}}, '
            'when: [{{op: eq, args: ["{{node.name}}", {}]}}]}}'
        )
        self.assertEqual(
            0,
            self.conflicting(
                when.format('ipmi', 'a'), when.format('redfish', 'b')
            ),
        )
        self.assertEqual(
            1,
            self.conflicting(
                when.format('ipmi', 'a'), when.format('redfish', 'a')
            ),
        )

    def test_a_rule_may_prevent_a_write_without_its_own(self):
        tier = '{op: set-attribute, args: {path: /extra/tier, value: 2}}'
        when = (
            f'{DRIVER.format("ipmi")[:-1]}, '
            'when: [{op: eq, args: ["{node.name}", a]}]}'
        )
        of_tier = '{op: eq, args: ["{node.extra.tier}", 1]}'
        of_name = '{op: eq, args: ["{node.name}", a]}'
        writing = {'action': f'{tier}, {when}'}
        prevented = {'action': DRIVER.format('redfish')}
        for conditions, number in (
            (of_tier, 1),
            (f'{of_tier}, {of_name}', 0),
        ):
            prevented['conditions'] = conditions
            self.assertEqual(
                number, len(self.check(writing, prevented)), conditions
            )
        # Without a "when", it writes wherever it prevents the other write.
        always = {'action': f'{tier}, {DRIVER.format("ipmi")}'}
        prevented['conditions'] = of_tier
        self.assertEqual([], self.check(always, prevented))

    def test_a_third_rule_does_not_make_two_others_meet(self):
        compared = []
        self.patch(conflicts, '_undoes', lambda *pair: compared.append(pair))
        condition = '{{op: eq, args: ["{{node.extra.tier}}", {}]}}'
        rules = [
            {
                'action': DRIVER.format(driver),
                'conditions': condition.format(tier),
            }
            for tier, driver in ((1, 'ipmi'), (2, 'redfish'))
        ]
        anywhere = '"/extra/{inventory.hostname}"'
        rules.append(
            {
                'action': f'{{op: set-attribute, args: [{anywhere}, 1]}}',
                'conditions': '',
            }
        )
        text = ''.join(
            RULE.format(description='x', more='', **rule) for rule in rules
        )
        self.assertEqual([], list(conflicts.check(self.rules(text))))
        self.assertEqual([], compared)

    def test_get_reads_only_what_is_at_its_path(self):
        condition = (
            """{{op: eq, args: ["{{node.extra | get('tier')}}", {}]}}"""
        )
        for path, number in (
            ('/extra/rack', 0),
            ('/extra/tier', 1),
            ('/extra/tier/0', 1),
            ('/extra', 1),
        ):
            writes = f'{{op: set-attribute, args: [{path}, "{{node.name}}"]}}'
            found = self.check(
                {
                    'action': f'{writes}, {DRIVER.format("ipmi")}',
                    'conditions': condition.format(1),
                },
                {
                    'action': DRIVER.format('redfish'),
                    'conditions': condition.format(2),
                },
            )
            self.assertEqual(number, len(found), path)

    def test_variables_that_are_the_same_keep_writes_apart(self):
        exists = '{op: exists, args: {value: "{vars.v}"}}'
        missing = '{op: "!exists", args: {value: "{vars.v}"}}'
        same = 'v: "{node.extra.v}"'
        for one, other, number in (
            (f'{same}, w: 1', same, 0),
            (f'{same}, w: 1', f'{same}, w: 2', 0),
            (same, 'v: "{node.extra.w}"', 1),
            (
                'a: "{node.extra.v}", v: "{vars.a}"',
                'a: "{node.extra.w}", v: "{vars.a}"',
                1,
            ),
        ):
            found = self.check(
                {
                    'action': DRIVER.format('ipmi'),
                    'conditions': exists,
                    'more': f'vars: {{{one}}}',
                },
                {
                    'action': DRIVER.format('redfish'),
                    'conditions': missing,
                    'more': f'vars: {{{other}}}',
                },
            )
            self.assertEqual(number, len(found), (one, other))

    def test_values_at_places_apart_are_not_compared(self):
        compared = []
        self.patch(conflicts, '_undoes', lambda *pair: compared.append(pair))
        at_a = '{op: set-attribute, args: [/extra/a, x]}'
        at_b = '{op: set-attribute, args: [/extra/b, x]}'
        one = '{op: add-trait, args: [CUSTOM_A]}'
        other = '{op: add-trait, args: [CUSTOM_B]}'
        self.conflicting(at_a, at_b)
        self.conflicting(one, other)
        self.assertEqual([], compared)
        around = '{op: set-attribute, args: [/extra, {}]}'
        many = '{op: set-traits, args: [[], CUSTOM_]}'
        for first, second in (
            (at_a, around),
            (around, at_b),
            (one, many),
            (many, other),
        ):
            compared.clear()
            self.conflicting(first, second)
            self.assertEqual(1, len(compared), second)

    def test_rules_that_want_different_values_are_not_compared(self):
        compared = []
        self.patch(conflicts, '_undoes', lambda *pair: compared.append(pair))
        maker = MAKER.replace('{', '{{').replace('}', '}}')
        maker_is = f'{{{{op: eq, args: {{{{values: [{maker}, {{}}]}}}}}}}}'
        maker_is_one_of = (
            f'{{{{op: one-of, args: {{{{value: {maker}, values: {{}}}}}}}}}}'
        )
        driver_is = '{op: eq, args: {values: ["{node.driver}", x]}}'
        count_is = (
            '{{op: {}, args: {{values: ["{{inventory.cpu.count}}", {}]}}}}'
        )
        in_net = (
            '{{op: in-net, args: {{address: "{{inventory.bmc_address}}", '
            'subnet: {}}}}}'
        )
        for one, other, is_compared in (
            (maker_is.format('a'), maker_is.format('b'), False),
            (maker_is.format('a'), maker_is_one_of.format('[b, c]'), False),
            (maker_is.format('b'), maker_is_one_of.format('[b, c]'), True),
            (maker_is.format(5), maker_is.format('"5.0"'), True),
            (maker_is.format('a'), '', True),
            (maker_is.format('a'), driver_is, True),
            (count_is.format('lt', 8), count_is.format('ge', 8), False),
            (count_is.format('le', 8), count_is.format('gt', 8), False),
            (count_is.format('le', 8), count_is.format('ge', 8), True),
            (count_is.format('lt', 8), count_is.format('gt', 4), True),
            (count_is.format('lt', 8), count_is.format('eq', 9), False),
            # A text that is no number may be neither less nor greater.
            (count_is.format('"!ge"', 8), count_is.format('ge', 8), True),
            (
                count_is.format('version-lt', '"1.9"'),
                count_is.format('version-gt', '"1.10"'),
                False,
            ),
            (
                count_is.format('version-gt', '"1.9"'),
                count_is.format('version-eq', '"1.10"'),
                True,
            ),
            (
                in_net.format('10.1.0.0/16'),
                in_net.format('10.2.0.0/16'),
                False,
            ),
            (in_net.format('10.0.0.0/8'), in_net.format('10.2.0.0/16'), True),
            (in_net.format('10.0.0.0/8'), in_net.format('"fd00::/8"'), False),
            # The first rule may give the driver that the second one wants.
            (driver_is, driver_is.replace('x', 'y'), True),
        ):
            compared.clear()
            self.drivers(one, other)
            self.assertEqual(is_compared, bool(compared), (one, other))

    def test_vars_of_one_name_keep_only_equal_vars_apart(self):
        condition = '{{op: eq, args: {{values: ["{{vars.size}}", {}]}}}}'
        count = 'vars: {size: "{inventory.cpu.count}"}'
        memory = 'vars: {size: "{inventory.memory.physical_mb}"}'
        one, other = condition.format(1), condition.format(2)
        self.assertEqual(0, self.drivers(one, other, count, count))
        self.assertEqual(1, self.drivers(one, other, count, memory))

    def test_vars_of_other_types_or_in_another_order_are_other_vars(self):
        condition = (
            '{{op: "{}eq", '
            'args: {{values: ["{{plugin_data.a}}", "{{vars.size}}"]}}}}'
        )
        one, other = condition.format(''), condition.format('!')
        number, truth = 'vars: {size: 1}', 'vars: {size: true}'
        self.assertEqual(0, self.drivers(one, other, number, number))
        self.assertEqual(1, self.drivers(one, other, number, truth))
        before = 'vars: {of: 1, size: "{vars.of}"}'
        after = 'vars: {size: "{vars.of}", of: 1}'
        self.assertEqual(0, self.drivers(one, other, before, before))
        self.assertEqual(1, self.drivers(one, other, before, after))

    def drivers(self, conditions, other, more='', other_more=''):
        """Tell whether rules with these conditions are said to conflict."""
        return len(
            self.check(
                {
                    'action': DRIVER.format('ipmi'),
                    'conditions': conditions,
                    'more': more,
                },
                {
                    'action': DRIVER.format('redfish'),
                    'conditions': other,
                    'more': other_more,
                },
            )
        )

    def test_subnets_without_a_common_address_keep_rules_apart(self):
        inside = (
            '{{op: in-net, args: {{address: "{{inventory.bmc_address}}",'
            ' subnet: "{}"}}}}'
        )
        for one, other, count in (
            ('10.26.0.0/16', '10.27.0.0/16', 0),
            ('10.26.0.0/16', 'fd00::/8', 0),
            ('10.26.0.0/16', '10.26.3.0/24', 1),
            ('10.0.0.0/8', '10.0.0.0/8', 1),
        ):
            self.assertEqual(
                count,
                self.drivers(inside.format(one), inside.format(other)),
                (one, other),
            )

    def test_both_rules_place_and_values_are_named(self):
        ((label, message),) = self.check(
            {'action': DRIVER.format('ipmi')},
            {'action': DRIVER.format('redfish')},
        )
        self.assertEqual('#2 (other)', label)
        for part in (
            '#1 (one)',
            'rules.yaml:2',
            'node attribute /driver',
            'there "ipmi", here "redfish"',
        ):
            self.assertIn(part, message)

    def test_secrets_are_not_shown(self):
        action = (
            '{{op: set-attribute, args: {{path: '
            '/driver_info/ipmi_password, value: {}}}}}'
        )
        ((_label, message),) = self.check(
            {'action': action.format('abc')}, {'action': action.format('xyz')}
        )
        self.assertNotIn('xyz', message)

    def test_each_kind_of_place(self):
        for op, first, second in (
            (
                'set-attribute',
                'path: /extra/a, value: 1',
                'path: extra.a, value: 2',
            ),
            (
                'set-attribute',
                'path: /extra, value: {a: 1}',
                'path: /extra/a, value: 2',
            ),
            ('set-plugin-data', 'path: /a, value: 1', 'path: /a, value: x'),
            (
                'set-port-attribute',
                'port_id: 52:54:00:aa:00:01, path: /extra/a, value: 1',
                'port_id: 52:54:00:AA:00:01, path: /extra/a, value: 2',
            ),
            ('set-capability', 'name: a, value: 1', 'name: a, value: 2'),
            (
                'set-traits',
                'names: [CUSTOM_A], prefix: CUSTOM_',
                'names: [], prefix: CUSTOM_',
            ),
        ):
            text = f'{{op: {op}, args: {{%s}}}}'
            self.assertEqual(
                1, self.conflicting(text % first, text % second), op
            )
            self.assertEqual(
                0, self.conflicting(text % first, text % first), op
            )

    def test_values_that_leave_the_same_do_not_conflict(self):
        for one, other in (
            (
                '{op: set-capability, args: {name: a, value: 1}}',
                '{op: set-capability, args: {name: a, value: " 1"}}',
            ),
            (
                '{op: set-attribute, args: {path: /maintenance, value: true}}',
                '{op: set-attribute, args: {path: /maintenance, value: "1"}}',
            ),
            (
                '{op: set-attribute, args: {path: /description, value: null}}',
                '{op: del-attribute, args: {path: /description}}',
            ),
        ):
            self.assertEqual(0, self.conflicting(one, other), one)

    def test_a_driver_of_old_rules_resets_the_interfaces(self):
        driver = '{op: inspector-set-attribute, args: {path: /driver, %s}}'
        interface = (
            '{op: set-attribute, args: {path: /boot_interface, value: ipxe}}'
        )
        resets = driver % 'value: redfish'
        keeps = driver % 'value: redfish, reset_interfaces: false'
        self.assertEqual(1, self.conflicting(resets, interface))
        self.assertEqual(0, self.conflicting(keeps, interface))

    def test_setting_against_removing(self):
        for one, other in (
            (
                '{op: set-attribute, args: {path: /extra/a, value: 1}}',
                '{op: del-attribute, args: {path: /extra/a}}',
            ),
            (
                '{op: add-trait, args: {name: CUSTOM_A}}',
                '{op: remove-trait, args: {name: CUSTOM_A}}',
            ),
            (
                '{op: add-trait, args: {name: CUSTOM_A}}',
                '{op: set-traits, args: {names: [], prefix: CUSTOM_}}',
            ),
        ):
            self.assertEqual(1, self.conflicting(one, other))

    def test_setting_takes_back_what_was_appended(self):
        for kind, where in (
            ('attribute', 'path: /extra/a'),
            ('plugin-data', 'path: /a'),
            ('port-attribute', 'port_id: 52:54:00:00:00:01, path: /extra/a'),
        ):
            extend = f'{{op: extend-{kind}, args: {{{where}, value: x}}}}'
            for value, later, earlier in (
                ('[]', 1, 0),
                ('[y]', 1, 0),
                ('[y, x]', 0, 0),
                ('{}', 1, 1),
                ('y', 1, 1),
                ('null', 1, 0),
                ('"{inventory.disks}"', 1, 0),
            ):
                other = (
                    f'{{op: set-{kind}, args: {{{where}, value: {value}}}}}'
                )
                self.assertEqual(
                    (later, earlier),
                    (
                        self.conflicting(extend, other),
                        self.conflicting(other, extend),
                    ),
                    other,
                )
            self.assertEqual(
                0, self.conflicting(extend, extend.replace('x}', 'y}'))
            )

    def test_what_may_keep_an_item_takes_nothing_back(self):
        extend = '{op: extend-attribute, args: {path: /extra/a, value: x}}'
        for other in (
            '{op: set-attribute, args: {path: /extra/a, '
            'value: "{node.extra[a] | unique}"}}',
            '{op: set-attribute, args: {path: /extra, value: {a: [x]}}}',
            '{op: set-attribute, args: {path: /extra/b, value: 1}}',
            '{op: set-attribute, args: {path: /extra/a/0, value: y}}',
            '{op: set-plugin-data, args: {path: /extra/a, value: 1}}',
        ):
            self.assertEqual(0, self.conflicting(extend, other), other)
        self.assertEqual(
            1,
            self.conflicting(
                extend,
                '{op: set-attribute, args: {path: /extra, value: {a: []}}}',
            ),
        )
        self.assertEqual(
            1,
            self.conflicting(
                extend, '{op: del-attribute, args: {path: /extra/a}}'
            ),
        )

    def test_a_mapping_around_a_list_may_be_emptied(self):
        extend = '{op: extend-attribute, args: {path: /extra/a, value: x}}'
        for other in (
            '{op: set-attribute, args: {path: /extra, value: {b: 1}}}',
            '{op: del-attribute, args: {path: /extra}}',
        ):
            self.assertEqual(0, self.conflicting(extend, other), other)

    def test_an_item_is_told_from_a_list(self):
        ((_label, message),) = self.check(
            {
                'action': '{op: extend-attribute, args: {path: /extra/a, '
                'value: x}}'
            },
            {
                'action': '{op: set-attribute, args: {path: /extra/a, '
                'value: [y]}}'
            },
        )
        self.assertIn('there "x" appended, here ["y"]', message)

    def test_what_does_not_meet_is_good(self):
        for one, other in (
            (
                '{op: set-attribute, args: {path: /extra/a, value: 1}}',
                '{op: set-plugin-data, args: {path: /extra/a, value: 2}}',
            ),
            (
                '{op: set-attribute, args: {path: /extra/a, value: {}}}',
                '{op: set-attribute, args: {path: /extra/a/b, value: 2}}',
            ),
            (
                '{op: add-trait, args: {name: CUSTOM_A}}',
                '{op: add-trait, args: {name: CUSTOM_B}}',
            ),
            (
                '{op: add-trait, args: {name: CUSTOM_A}}',
                '{op: set-traits, args: {names: [], prefix: HW_}}',
            ),
        ):
            self.assertEqual(0, self.conflicting(one, other))

    def test_items_of_a_loop_are_looked_at(self):
        looped = (
            '{op: set-attribute, args: {path: "{item.path}", '
            'value: "{item.value}"}, '
            'loop: [{path: /driver, value: ipmi}]}'
        )
        self.assertEqual(1, self.conflicting(looped, DRIVER.format('x')))
        self.assertEqual(0, self.conflicting(looped, DRIVER.format('ipmi')))

    def test_other_phases_priorities_scopes_and_modes_never_meet(self):
        for more in ('priority: 1', 'phase: preprocess', 'mode: "off"'):
            self.assertEqual(0, self.drivers('', '', more), more)
        self.assertEqual(0, self.drivers('', '', 'scope: a', 'scope: b'))
        self.assertEqual(1, self.drivers('', '', 'scope: a'))

    def test_conditions_that_exclude_each_other(self):
        for one, other in (
            (
                f'{{op: eq, args: {{values: [{MAKER}, Dell]}}}}',
                f'{{op: eq, args: {{values: [{MAKER}, HPE]}}}}',
            ),
            (
                f'{{op: eq, args: {{values: [{MAKER}, Dell]}}}}',
                f'{{op: contains, args: {{value: {MAKER}, regex: HP}}}}',
            ),
            (
                f'{{op: one-of, args: {{value: {MAKER}, values: [a, b]}}}}',
                f'{{op: one-of, args: {{value: {MAKER}, values: [c]}}}}',
            ),
            (
                f'{{op: contains, args: {{value: {MAKER}, '
                'regex: "^R6525 [(]x|R6525 .y$"}}',
                f'{{op: "!contains", args: {{value: {MAKER}, '
                'regex: "^R6525 [(]x|R6525 .y$"}}',
            ),
            (
                f'{{op: contains, args: {{value: {MAKER}, '
                "regex: '^R6525 \\(SKU=A;B\\)$'}}",
                f'{{op: contains, args: {{value: {MAKER}, '
                "regex: '^R6525 \\(SKU=B;B\\)$'}}",
            ),
            (
                f'{{op: matches, args: {{value: {MAKER}, '
                'regex: "R640|R740"}}',
                f'{{op: contains, args: {{value: {MAKER}, '
                'regex: "^(R650|R750)$"}}',
            ),
            (
                '{op: ge, args: {values: ["{node.name}", r12]}}',
                '{op: lt, args: {values: ["{node.name}", r12]}}',
            ),
            (
                f'{{op: contains, args: {{value: {MAKER}, regex: "a+"}}}}',
                f'{{op: "!contains", args: {{value: {MAKER}, regex: "a+"}}}}',
            ),
            (
                '{op: is-true, args: {value: "{node.auto_discovered}"}}',
                '{op: is-false, args: {value: "{node[auto_discovered]}"}}',
            ),
            (
                '{op: lt, args: {values: ["{inventory.memory.physical_mb}",'
                ' 5]}}',
                '{op: ge, args: {values: ["{inventory.memory.physical_mb}",'
                ' 5]}}',
            ),
            (
                '{op: le, args: {values: [5, '
                '"{inventory.memory.physical_mb}", 9]}}',
                '{op: lt, args: {values: [9, '
                '"{inventory[memory][physical_mb]}", 12]}}',
            ),
            (
                f'{{op: any-of, conditions: [{{op: eq, args: {{values: '
                f'[{MAKER}, a]}}}}, {{op: eq, args: {{values: [{MAKER}, '
                'b]}}]}',
                f'{{op: eq, args: {{values: [{MAKER}, c]}}}}',
            ),
            (
                f'{{op: none-of, conditions: [{{op: is-empty, args: '
                f'{{value: {MAKER}}}}}]}}',
                f'{{op: is-empty, args: {{value: {MAKER}}}}}',
            ),
        ):
            self.assertEqual(0, self.drivers(one, other), one)
            self.assertEqual(0, self.drivers(other, one), one)

    def test_conditions_that_may_hold_together(self):
        for one, other in (
            (
                f'{{op: eq, args: {{values: [{MAKER}, Dell]}}}}',
                f'{{op: contains, args: {{value: {MAKER}, regex: ell}}}}',
            ),
            (
                f'{{op: contains, args: {{value: {MAKER}, regex: ell}}}}',
                f'{{op: contains, args: {{value: {MAKER}, regex: Dell}}}}',
            ),
            (
                f'{{op: contains, args: {{value: {MAKER}, regex: "a.*b"}}}}',
                f'{{op: contains, args: {{value: {MAKER}, regex: "b"}}}}',
            ),
            (
                f'{{op: eq, args: {{values: [{MAKER}, a]}}}}',
                '{op: eq, args: {values: ["{node.name}", b]}}',
            ),
            (
                f'{{op: contains, args: {{value: {MAKER}, '
                'regex: PowerEdge}}',
                f'{{op: contains, args: {{value: {MAKER}, regex: R320}}}}',
            ),
            (
                f'{{op: contains, args: {{value: {MAKER}, '
                'regex: "^R640$|R740"}}',
                f'{{op: eq, args: {{values: [{MAKER}, xR740]}}}}',
            ),
            (
                '{op: eq, args: {values: ["{node.name}", 5]}}',
                '{op: matches, args: {value: "{node.name}", regex: "5.0"}}',
            ),
            (
                '{op: eq, args: {values: ["{node.name}", 5]}}',
                '{op: lt, args: {values: ["{node.name}", a]}}',
            ),
            (
                '{op: eq, args: {values: ["{node.name}", 5]}}',
                '{op: ne, args: {values: ["{node.name}", "5.0"]}}',
            ),
            (
                '{op: ge, args: {values: ["{node.name}", 5]}}',
                '{op: le, args: {values: ["{node.name}", 5]}}',
            ),
            (
                f'{{op: any-of, conditions: [{{op: eq, args: {{values: '
                f'[{MAKER}, a]}}}}, {{op: eq, args: {{values: [{MAKER}, '
                'b]}}]}',
                f'{{op: eq, args: {{values: [{MAKER}, b]}}}}',
            ),
        ):
            self.assertEqual(1, self.drivers(one, other), one)


SET = '{{op: set-plugin-data, args: {{path: {}, value: {}}}}}'
STATE = '{{op: {}, args: {{values: ["{{plugin_data.x}}", {}]}}}}'
MISSING = '{op: "!exists", args: {value: "{plugin_data.x}"}}'


class OneAfterTheOtherTestCase(base.CheckTestCase):
    """A rule runs on what the rule before it has left."""

    def conflicts(self, first, second):
        """Return the number of conflicts of two rules.

        :param first: conditions, actions, and perhaps more of a rule.
        """
        text = ''.join(
            RULE.format(
                description='x',
                conditions=conditions,
                action=', '.join(actions),
                more=''.join(more),
            )
            for conditions, actions, *more in (first, second)
        )
        return len(list(conflicts.check(self.rules(text))))

    def write_x(self, value, more):
        """Return an action with a loop, or with conditions."""
        args = f'{{path: /x, value: {value}}}'
        return f'{{op: set-plugin-data, args: {args}, {more}}}'

    def writes(self, value, *before):
        return [*before, SET.format('/a', value)]

    def test_a_rule_makes_the_condition_of_another_true(self):
        one = STATE.format('eq', 1)
        two = STATE.format('eq', 2)
        moves_on = self.writes(1, SET.format('/x', 2))
        self.assertEqual(
            1, self.conflicts((one, moves_on), (two, self.writes(2)))
        )
        stays = self.writes(1, SET.format('/y', 2))
        self.assertEqual(
            0, self.conflicts((one, stays), (two, self.writes(2)))
        )

    def test_a_rule_makes_the_condition_of_another_false(self):
        one = STATE.format('eq', 1)
        moves_on = self.writes(1, SET.format('/x', 2))
        for condition in (
            one,
            f'{{op: any-of, conditions: [{one}, {STATE.format("eq", 3)}]}}',
            '{op: eq, args: {values: ["{plugin_data.x | int}", 1]}}',
            MISSING,
        ):
            rule = (condition, self.writes(2))
            self.assertEqual(0, self.conflicts(('', moves_on), rule))
        removes = self.writes(1, '{op: unset-plugin-data, args: {path: /x}}')
        self.assertEqual(
            0, self.conflicts(('', removes), (one, self.writes(2)))
        )

    def test_rules_that_replace_values_of_one_field_stay_apart(self):
        condition = (
            '{{op: eq, args: {{values: ["{{plugin_data.x | '
            'default(plugin_data.y)}}", {}]}}}}'
        )
        first = condition.format(1), self.writes(1, SET.format('/x', 5))
        second = condition.format(2), self.writes(2, SET.format('/x', 6))
        self.assertEqual(0, self.conflicts(first, second))

    def test_a_rule_may_no_longer_match_after_another(self):
        fails = self.writes(1, '{op: fail, args: {msg: x}}')
        sets_y = self.writes(2, SET.format('/y', 1))
        self.assertEqual(
            1,
            self.conflicts(
                (self.compares('lt', 'xy'), fails),
                (self.compares('gt', 'yx'), sets_y),
            ),
        )

    def test_a_filter_reads_what_another_rule_writes(self):
        def reads(field, value):
            return f'{{op: eq, args: {{values: ["{{{field}}}", {value}]}}}}'

        copies_y = SET.format('/x', '"{plugin_data.y}"')
        for field, action, expected in (
            ('plugin_data.x | lower', copies_y, 1),
            ('plugin_data.x!s', copies_y, 1),
            ('plugin_data.x | lower', SET.format('/x', 'c'), 0),
            ('plugin_data.y | lower', SET.format('/x', 'c'), 0),
            ("plugin_data.x | get('k')", SET.format('/x/k', 'b'), 1),
            ('plugin_data.z | default(plugin_data.x)', copies_y, 1),
        ):
            self.assertEqual(
                expected,
                self.conflicts(
                    (reads(field, 'a'), self.writes(1, action)),
                    (reads(field, 'b'), self.writes(2)),
                ),
                (field, action),
            )

    def test_a_default_may_be_read_where_a_value_was_removed(self):
        condition = (
            '{{op: eq, args: {{values: ["{{plugin_data.x | '
            'default(plugin_data.y)}}", {}]}}}}'
        )
        removes = '{op: unset-plugin-data, args: {path: /x}}'
        first = condition.format(1), self.writes(1, removes)
        second = condition.format(2), self.writes(2, SET.format('/x', 6))
        self.assertEqual(1, self.conflicts(first, second))

    def test_a_rule_changes_what_another_reads_in_other_words(self):
        large = '{{op: eq, args: {{values: ["{{{}}}", {}]}}}}'
        for field, action in (
            # The place is inside the value that the field reads.
            (
                "node.extra.a | get('k')",
                'set-attribute, args: [/extra/a/k, 2]',
            ),
            # The path of the write depends on the machine.
            (
                'node.extra.a',
                'set-attribute, args: ["/extra/{plugin_data.name}", 2]',
            ),
            # A capability is a part of the properties of the node.
            (
                'node.properties.capabilities',
                'set-capability, args: {name: a, value: 2}',
            ),
        ):
            one, two = large.format(field, 1), large.format(field, 2)
            self.assertEqual(
                1,
                self.conflicts(
                    (one, self.writes(1, f'{{op: {action}}}')),
                    (two, self.writes(2)),
                ),
                action,
            )

    def test_a_trait_changes_no_attribute(self):
        site = '{{op: eq, args: {{values: ["{{node.extra.site}}", {}]}}}}'
        adds = self.writes(1, '{op: add-trait, args: {name: CUSTOM_A}}')
        self.assertEqual(
            0,
            self.conflicts(
                (site.format('a'), adds), (site.format('b'), self.writes(2))
            ),
        )

    def test_a_field_in_a_path_changes_only_what_is_at_its_beginning(self):
        large = '{{op: eq, args: {{values: ["{{{}}}", {}]}}}}'
        for field, path, expected in (
            ('node.driver', '/extra/{plugin_data.n}', 0),
            ('node.extra.a', '/extra/b/{plugin_data.n}', 0),
            ('node.extra.a', '/extra/{plugin_data.n}/b', 1),
            ('node.extra.a', '/extra/a/{plugin_data.n}', 1),
            ('node.extra', '/extra/a/x{plugin_data.n}', 1),
            ('node.extra.l[1]', '/extra/l/0/{plugin_data.n}', 1),
            ('node.extra.l[0].a', '/extra/l/-/a/{plugin_data.n}', 1),
            ('node.driver', 'extra/{plugin_data.n}', 1),
            ('node.driver', '/{plugin_data.n}', 1),
        ):
            one, two = large.format(field, 1), large.format(field, 2)
            action = f'{{op: set-attribute, args: ["{path}", 2]}}'
            self.assertEqual(
                expected,
                self.conflicts(
                    (one, self.writes(1, action)), (two, self.writes(2))
                ),
                (field, path),
            )

    def test_a_variable_reads_what_another_rule_writes(self):
        size = '{{op: eq, args: {{values: ["{{vars.size}}", {}]}}}}'
        own_vars = 'vars: {size: "{plugin_data.x}"}'
        moves_on = self.writes(1, SET.format('/x', 2))
        self.assertEqual(
            1,
            self.conflicts(
                (size.format(1), moves_on, own_vars),
                (size.format(2), self.writes(2), own_vars),
            ),
        )

    def test_a_value_that_was_written_parts_no_rules(self):
        one = self.compares('eq', ['x', 'y', '1'])
        two = self.compares('eq', ['x', 'z', '2'])
        moves_on = self.writes(1, SET.format('/x', 2))
        self.assertEqual(
            1, self.conflicts((one, moves_on), (two, self.writes(2)))
        )

    def test_a_rule_that_never_comes_second_may_be_made_to_match(self):
        one = STATE.format('eq', 1)
        sets_x = self.writes(2, SET.format('/x', 1))
        for condition, expected in ((STATE.format('ge', 0), 1), (one, 0)):
            self.assertEqual(
                expected,
                self.conflicts(
                    (one, self.writes(1, SET.format('/x', -1))),
                    (condition, sets_x),
                ),
                condition,
            )

    def test_of_two_that_exclude_each_other_the_order_chooses_one(self):
        first = self.writes(1, SET.format('/x', 1))
        second = self.writes(2, SET.format('/x', 2))
        self.assertEqual(
            1, self.conflicts((MISSING, first), (MISSING, second))
        )

    def test_no_rule_follows_one_that_fails(self):
        fails = self.writes(1, '{op: fail, args: {msg: x}}')
        rule = ('', self.writes(2))
        self.assertEqual(0, self.conflicts(('', fails), rule))
        self.assertEqual(1, self.conflicts(rule, ('', fails)))
        self.assertEqual(1, self.conflicts(('', fails, 'mode: audit'), rule))

    def compares(self, op, values, more=''):
        """Return a condition on the fields of plugin data x, y and z."""
        fields = {name: f'"{{plugin_data.{name}}}"' for name in 'xyz'}
        written = ', '.join(fields.get(value, value) for value in values)
        return f'{{op: "{op}", args: {{values: [{written}]{more}}}}}'

    def test_comparisons_of_several_fields_exclude_one_another(self):
        for first, second in (
            (('eq', 'xy'), ('lt', 'yx')),
            (('gt', 'xy'), ('lt', 'xyz')),
            (('!ne', 'xy'), ('!eq', 'yx')),
            (('!ge', 'xy'), ('gt', ['x', 'y', '5'])),
            (('eq', ['x', 'y', 'a']), ('!le', 'xy')),
            (('eq', ['x', 'y', '5']), ('eq', ['x', '6'])),
            (('eq', ['x', 'y', 'a']), ('eq', ['z', 'b', 'x'])),
            (('version-le', ['x', 'z', 'y']), ('version-gt', 'xy')),
            (('version-ge', ['"2"', 'x', 'y']), ('version-eq', ['y', '"3"'])),
            (('!version-le', 'xy'), ('version-eq', 'xy')),
        ):
            self.assertEqual(
                0,
                self.conflicts(
                    (self.compares(*first), self.writes(1)),
                    (self.compares(*second), self.writes(2)),
                ),
                (first, second),
            )

    def test_comparisons_of_several_fields_may_hold_together(self):
        as_text = ', force_strings: true'
        for first, second in (
            # The machine may have "5", 5 and "5.0".
            (('eq', 'xzy'), ('ne', 'xy')),
            # Two nulls are equal, and have no order.
            (('eq', 'xy'), ('!le', 'xy')),
            # A text has no order with a number.
            (('!lt', 'xy'), ('!ge', 'xy')),
            # "10" and "4" are in order as text.
            (('lt', ['x', 'y', '5']), ('eq', ['x', '10'])),
            # True is the text "True".
            (('eq', 'xy', as_text), ('ne', 'xy')),
            # It is enough that one pair differs.
            (('!eq', 'xyz'), ('eq', 'xy')),
        ):
            self.assertEqual(
                1,
                self.conflicts(
                    (self.compares(*first), self.writes(1)),
                    (self.compares(*second), self.writes(2)),
                ),
                (first, second),
            )

    def test_a_field_that_was_written_excludes_no_rule(self):
        sets_x = SET.format('/x', 5)
        differ, equal = self.compares('!eq', 'xy'), self.compares('eq', 'xy')
        # Where y is 5, the first rule makes x equal to it.
        self.assertEqual(
            1,
            self.conflicts(
                (differ, self.writes(1, sets_x)), (equal, self.writes(2))
            ),
        )
        # The second rule does so, if it runs first.
        self.assertEqual(
            1,
            self.conflicts(
                (equal, self.writes(1)), (differ, self.writes(2, sets_x))
            ),
        )
        # The second rule never follows the first one, which may not follow
        # the second one either.
        less = self.compares('le', 'yx')
        self.assertEqual(
            1,
            self.conflicts(
                (less, self.writes(1, SET.format('/x', 1))),
                (
                    STATE.format('eq', 2),
                    self.writes(2, SET.format('/x', 0)),
                ),
            ),
        )
        # y is not written.
        self.assertEqual(
            0,
            self.conflicts(
                (self.compares('eq', ['y', '1']), self.writes(1, sets_x)),
                (self.compares('eq', ['x', 'y', '2']), self.writes(2)),
            ),
        )
        # The part that compares x with 6 never holds.
        self.assertEqual(
            0,
            self.conflicts(
                ('', self.writes(1, sets_x)),
                (self.compares('eq', ['y', '6', 'x']), self.writes(2)),
            ),
        )

    def test_a_field_that_may_be_written_excludes_no_rule(self):
        one, two = STATE.format('eq', 1), STATE.format('eq', 2)
        missing_or_less = (
            f'{{op: any-of, conditions: [{MISSING}, '
            f'{self.compares("lt", "xy")}]}}'
        )
        for condition, action, other in (
            (one, SET.format('/x', '"{plugin_data.y}"'), two),
            (one, self.write_x(2, 'loop: "{ports}"'), two),
            (
                STATE.format('eq', 'p'),
                SET.format('/x', '"{plugin_data.y}"'),
                STATE.format('eq', 'q'),
            ),
            (one, SET.format('/x', 2), missing_or_less),
        ):
            self.assertEqual(
                1,
                self.conflicts(
                    (condition, self.writes(1, action)),
                    (other, self.writes(2)),
                ),
                (condition, action, other),
            )

    def test_a_group_may_hold_after_a_rule_that_it_excludes(self):
        large = STATE.format('ge', 1)
        small = f'{{op: none-of, conditions: [{large}]}}'
        one = STATE.format('eq', 1)
        for action, expected in (
            (SET.format('/x', '"{plugin_data.y}"'), 1),
            (SET.format('/y', 0), 0),
        ):
            self.assertEqual(
                expected,
                self.conflicts(
                    (small, self.writes(1)), (one, self.writes(2, action))
                ),
                action,
            )

    def test_an_action_sees_what_its_rule_has_written(self):
        one, two = STATE.format('eq', 1), STATE.format('eq', 2)
        writes_if_two = (
            '{op: set-plugin-data, args: {path: /a, value: 2}, '
            f'when: [{two}]}}'
        )
        for actions, expected in (
            ([SET.format('/x', 2), writes_if_two], 1),
            ([SET.format('/x', '"{plugin_data.y}"'), writes_if_two], 1),
            ([SET.format('/y', 2), writes_if_two], 0),
            ([writes_if_two, SET.format('/y', 2)], 0),
        ):
            self.assertEqual(
                expected,
                self.conflicts((one, self.writes(1)), ('', actions)),
                actions,
            )

    def test_what_may_not_be_written_decides_nothing(self):
        one = (STATE.format('eq', 1), self.writes(2))
        for action in (
            SET.format('/x', '"{plugin_data.y}"'),
            self.write_x(2, more='loop: "{ports}"'),
            self.write_x(2, more=f'when: [{STATE.format("eq", 3)}]'),
        ):
            self.assertEqual(
                1, self.conflicts(('', self.writes(1, action)), one), action
            )

    def test_the_action_that_writes_is_one_of_those_carried_out(self):
        one, two = STATE.format('eq', 1), STATE.format('eq', 2)

        def to(value, condition):
            return self.write_x(value, more=f'when: [{condition}]')

        self.assertEqual(
            1,
            self.conflicts(('', [to(2, one)]), ('', [to(3, two)])),
        )
        self.assertEqual(
            0,
            self.conflicts(('', [to(3, one)]), ('', [to(2, two)])),
        )

    def test_a_rule_that_is_decided_first_does_not_see_what_is_written(self):
        moves_on = self.writes(1, SET.format('/x', 2))
        action = (
            '{op: set-plugin-data, args: {path: /a, value: 2}, revert: true}'
        )
        self.assertEqual(
            1,
            self.conflicts(('', moves_on), (STATE.format('eq', 1), [action])),
        )
