# SPDX-License-Identifier: Apache-2.0

"""A module that shows nothing of sensitive rules.

Ansible prints the options of a module with C(-vvv), also when the module
fails, and writes them to the log of the host.
"""

from ansible.module_utils import basic
from ansible.module_utils.common import parameters

HIDDEN = ('conditions', 'actions', 'vars')
"""What a sensitive rule shows to nobody."""

MASK = 'VALUE_SPECIFIED_IN_NO_LOG_PARAMETER'
"""What Ansible shows of an option that must not be logged."""

_OPEN = (None, False, 0, '', '0', 'false', 'no', 'off', 'n', 'f')
"""What C(sensitive) says of a rule that may be shown."""

_SHORTEST = 4
"""Characters of a text that is masked in other texts, where a shorter one
would be a part of many words."""


def is_sensitive(rule):
    """Return whether a rule must not be shown, in doubt also a bad one."""
    if not isinstance(rule, dict):
        return 'sensitive' in str(rule)
    value = rule.get('sensitive')
    return (value.lower() if isinstance(value, str) else value) not in _OPEN


def shown(rules):
    """Return rules as they may be shown: parts of sensitive ones masked."""
    if not isinstance(rules, list):
        return MASK if is_sensitive(rules) else rules
    return [_masked(rule) if is_sensitive(rule) else rule for rule in rules]


def _masked(rule):
    if not isinstance(rule, dict):
        return MASK
    return {
        name: MASK if name in HIDDEN else value for name, value in rule.items()
    }


def texts(rules):
    """Return the texts in the hidden parts of sensitive rules."""
    found = set()
    ahead = [
        rule.get(name)
        for rule in rules
        if isinstance(rule, dict) and is_sensitive(rule)
        for name in HIDDEN
    ]
    while ahead:
        value = ahead.pop()
        if isinstance(value, dict):
            # The name of an op is no secret.
            ahead += [item for name, item in value.items() if name != 'op']
        elif isinstance(value, (list, tuple)):
            ahead += value
        elif isinstance(value, str) and len(value) >= _SHORTEST:
            found.add(value)
    return found


class HidingModule(basic.AnsibleModule):
    """A module whose option C(rules) may have sensitive rules."""

    def hide(self, rules):
        """Mask what sensitive rules have, in all that the module returns."""
        self.no_log_values.update(texts(rules))

    def warn(self, warning, **kwargs):
        # Ansible masks all that a module returns, but warnings.
        super().warn(
            parameters.remove_values(warning, self.no_log_values), **kwargs
        )

    def exit_json(self, **kwargs):
        super().exit_json(invocation=self._invocation(), **kwargs)

    def fail_json(self, msg, **kwargs):
        super().fail_json(msg, invocation=self._invocation(), **kwargs)

    def _invocation(self):
        return {'module_args': self._shown_params()}

    def _shown_params(self):
        return {**self.params, 'rules': shown(self.params.get('rules'))}

    def _load_params(self):
        # The options are checked, and may be refused, right after this.
        super()._load_params()
        rules = self.params.get('rules')
        self.hide(rules if isinstance(rules, list) else [])

    def _log_invocation(self):
        params = self.params
        self.params = self._shown_params()
        try:
            super()._log_invocation()
        finally:
            self.params = params
