# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
