#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0

DOCUMENTATION = r"""
module: rule_set
short_description: Make the inspection rules of an Ironic those of files
description:
  - Puts all rules and tables in one transaction, or none of them, as
    C(openstack baremetal inspection rule apply) does.
  - With C(--check) Ironic itself says what would be done, and does nothing;
    with C(--diff) the plan is shown.
  - What C(ironic-inspection-rules lint) warns of in the rules is a warning
    of the module.
  - Of sensitive rules, conditions, actions and vars are masked in all that
    the module returns and logs.
version_added: 1.0.0
author: ironic-inspection-rules developers
extends_documentation_fragment: ironic.inspection_rules.cloud
options:
  src:
    description: Files of rules, YAML or JSON, or folders with such files, on
      the host that the module runs on. Rules of equal priority run in this
      order. Tables of these files are put with the rules; files without the
      member C(tables) leave the stored tables as they are.
    type: list
    elements: path
    aliases: [path]
  rules:
    description: The rules themselves. Write C(!unsafe) before a value with
      two braces in a row, which are Ansible's else.
    type: list
    elements: dict
  prune:
    description: Whether stored rules that are not named are removed, and
      stored tables where the files have the member C(tables).
    type: bool
    default: false
  message:
    description: What the new revision of the rule set says of the change.
    type: str
attributes:
  check_mode:
    description: Ironic plans the change and does not carry it out.
    support: full
  diff_mode:
    description: Shows the plan, in which sensitive rules stay hidden.
    support: full
seealso:
  - module: ironic.inspection_rules.rule_set_info
"""

EXAMPLES = r"""
- name: Keep the rules of this repository in force, and no others
  ironic.inspection_rules.rule_set:
    cloud: production
    src: "{{ playbook_dir }}/rules"
    prune: true
    message: "{{ lookup('pipe', 'git rev-parse HEAD') }}"
  delegate_to: localhost
  run_once: true

- name: Tag big machines
  ironic.inspection_rules.rule_set:
    cloud: production
    rules:
      - description: Tag big machines
        conditions:
          - op: ge
            args: {values: ['{inventory[cpu][count]}', 64]}
        actions:
          - op: add-trait
            args: {name: CUSTOM_BIG}
"""

RETURN = r"""
revision:
  description: The revision that the rule set has now; none, with a warning,
    if Ironic's answer has no number. In check mode the one that the change
    was planned on.
  returned: success
  type: int
rules:
  description: What was done to each rule, or would be.
  returned: success
  type: list
  elements: dict
  contains:
    uuid:
      description: UUID of the rule; not known before a new rule is made.
      type: str
    description:
      description: Description of the rule.
      type: str
    outcome:
      description: V(created), V(updated), V(moved), V(deleted) or
        V(unchanged).
      type: str
    fields:
      description: Names of the fields that differ.
      type: list
      elements: str
tables:
  description: What was done to each table, or would be.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the table.
      type: str
    outcome:
      description: V(created), V(updated), V(deleted) or V(unchanged).
      type: str
    fields:
      description: Names of the members that differ, besides rows.
      type: list
      elements: str
    rows:
      description: How many rows are C(new), C(changed) and C(gone).
      type: dict
"""

import json

from ansible_collections.ironic.inspection_rules.plugins.module_utils import cloud  # fmt: skip
from ansible_collections.ironic.inspection_rules.plugins.module_utils import hiding  # fmt: skip

if not cloud.MISSING:
    from ironic_inspection_rules.kit.authoring import lint
    from ironic_inspection_rules.kit.client import inspection_rule
    from ironic_inspection_rules.kit.client import rule_set
    from ironic_inspection_rules.engine.language import registry
    from ironic_inspection_rules.rule_file import document
    from ironic_inspection_rules.rule_file import file_set
    from ironic_inspection_rules.rule_set import replacement
    from ironic_inspection_rules.rule_set import table_change

_SHOWN = ('uuid', 'description', 'outcome', 'fields')
_SHOWN_OF_TABLES = ('name', 'outcome', 'fields', 'rows')


def _read(module):
    """Return the rules that are given, with their places."""
    if module.params['rules'] is None:
        return file_set.load_all(module.params['src'])
    return file_set.of_documents(
        [document.parse('rules', json.dumps(module.params['rules']))]
    )


def _warn(module, files):
    hidden = {
        (rule.source.path, rule.label)
        for rule in files.written
        if hiding.is_sensitive(rule.entry)
    }
    for each in lint.sort_findings(
        lint.lint_documents(
            files.documents, registry.installed(), given_tables=files.tables
        )
    ):
        if each.level == lint.WARNING:
            message = each.message
            if (each.path, each.rule) in hidden:
                # The message itself quotes the rule.
                message = lint.DESCRIPTIONS[each.check]
            module.warn(
                f'{each.path}:{each.line}:{each.column}: '
                f'{each.rule or "the file"}: {message}'
            )


def _diff(plan):
    """Return a plan in the form that Ansible shows with --diff."""
    if not plan.changes:
        return {}
    lines = []
    # The part on rules may say that there is nothing to do, which is wrong
    # where only tables change.
    if any(step['outcome'] != replacement.UNCHANGED for step in plan.steps):
        lines += replacement.plan_lines(plan.steps)
    lines += table_change.plan_lines(plan.tables)
    return {'prepared': ''.join(f'{line}\n' for line in lines)}


def main():
    module = cloud.module(
        {
            'src': {'type': 'list', 'elements': 'path', 'aliases': ['path']},
            'rules': {'type': 'list', 'elements': 'dict'},
            'prune': {'type': 'bool', 'default': False},
            'message': {},
        },
        hiding.HidingModule,
        mutually_exclusive=[('src', 'rules')],
        required_one_of=[('src', 'rules')],
    )
    baremetal = cloud.connect(module)
    with cloud.explained(module, baremetal):
        files = _read(module)
        module.hide(files.rules)
        _warn(module, files)
    with cloud.explained(module, baremetal, files):
        prune = module.params['prune']
        tables = files.tables.entries
        plan = rule_set.plan(baremetal, files.rules, prune, tables)
        done = {
            'revision': plan.revision,
            'rules': plan.steps,
            'tables': plan.tables,
        }
        diff = _diff(plan)
        if plan.changes and not module.check_mode:
            done = rule_set.replace_inspection_rules(
                baremetal,
                files.rules,
                plan.revision,
                module.params['message'],
                prune=prune,
                tables=tables,
            )
        if module.check_mode:
            warnings = inspection_rule.warnings(baremetal)
        else:
            warnings = inspection_rule.warnings_of_rules_in_force(baremetal)
    # The rules are in force, unless in check mode: nothing below may fail the
    # module, whatever the answer of Ironic lacks.
    revision = rule_set.revision_of(done)
    if revision is None:
        warnings = [rule_set.REVISION_UNKNOWN, *warnings]
    rules = done.get('rules')
    tables = done.get('tables') or ()
    if not rule_set.has_complete_steps(done):
        warnings = [rule_set.CHANGES_UNKNOWN, *warnings]
        # Ironic accepted the revision of the plan, so these are its changes.
        rules = plan.steps
        tables = plan.tables
    for warning in warnings:
        module.warn(warning)
    module.exit_json(
        changed=bool(plan.changes),
        revision=revision,
        rules=[{name: rule.get(name) for name in _SHOWN} for rule in rules],
        tables=[
            {name: table.get(name) for name in _SHOWN_OF_TABLES}
            for table in tables
        ],
        diff=diff,
    )


if __name__ == '__main__':
    main()
