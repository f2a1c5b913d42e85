#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0

DOCUMENTATION = r"""
module: rule_set_info
short_description: Show the inspection rules of an Ironic
description:
  - Returns the rules in force, built-in ones included, or those of an older
    revision.
version_added: 1.0.0
author: ironic-inspection-rules developers
extends_documentation_fragment: ironic.inspection_rules.cloud
options:
  revision:
    description: Number of a revision of the stored rules. Unless given, the
      rules in force are shown.
    type: int
attributes:
  check_mode:
    description: Changes nothing, ever.
    support: full
seealso:
  - module: ironic.inspection_rules.rule_set
"""

EXAMPLES = r"""
- name: Read the rules in force
  ironic.inspection_rules.rule_set_info:
    cloud: production
  register: in_force

- name: Show who they are
  ansible.builtin.debug:
    msg: "{{ in_force.rules | map(attribute='description') }}"
"""

RETURN = r"""
revision:
  description: Number of the revision; null where no rule was ever stored, or
    where its record is no longer kept.
  returned: success
  type: int
rules:
  description: The rules as the API shows them. What sensitive ones hold is
    null.
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.ironic.inspection_rules.plugins.module_utils import cloud  # fmt: skip

if not cloud.MISSING:
    from ironic_inspection_rules.kit.client import inspection_rule
    from ironic_inspection_rules.kit.client import rule_set


def main():
    module = cloud.module({'revision': {'type': 'int'}})
    revision = module.params['revision']
    baremetal = cloud.connect(module)
    with cloud.explained(module, baremetal):
        if revision is None:
            newest = next(
                rule_set.inspection_rule_revisions(baremetal, limit=1), {}
            )
            revision = newest.get('revision')
            rules = list(
                inspection_rule.inspection_rules(baremetal, details=True)
            )
        else:
            rules = rule_set.get_inspection_rule_revision(baremetal, revision)[
                'rules'
            ]
    module.exit_json(changed=False, revision=revision, rules=rules)


if __name__ == '__main__':
    main()
