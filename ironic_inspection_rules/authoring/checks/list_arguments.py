# SPDX-License-Identifier: Apache-2.0

"""Arguments in the form that Ironic deprecates since release 39."""

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.i18n import _


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find arguments without names."""
    if rule.written.is_old:
        return
    for operation in rule.operations:
        args = operation.written.get('args')
        if not isinstance(args, list):
            continue
        names = ', '.join(
            f'{name}: …' for name in operation.arguments_given)
        yield f'{operation.pointer}/args', _(
            'a list of arguments is deprecated since Ironic 39, a later '
            'release refuses it; name them: {%s}') % names
