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

"""What a service of Ironic needs before it can run rules."""

import functools
import os

from ironic.conf import CONF
from oslo_log import log
import psutil

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import tables
from ironic_inspection_rules.ruleset import builtin
from ironic_inspection_rules.ruleset import repository

LOG = log.getLogger(__name__)


class ObjectStore:
    """Stored rules, through the versioned object."""

    def revision(self, context) -> int:
        """Return a number that is another one after each change."""
        return rule_object.Rule.get_revision(context)

    def rules(self, context) -> list[dict]:
        """Return all stored rules in creation order."""
        return [rule.as_dict() for rule in rule_object.Rule.list(context)]


@functools.cache
def rules() -> repository.Repository:
    """Return the rules in force in this process; made at its start.

    What makes that impossible is logged in one clear line, and stops the
    service.

    :raises: :class:`.exceptions.DatabaseNotReady`,
        :class:`.exceptions.InvalidBuiltInRules` or
        :class:`.exceptions.PluginError`.
    """
    conf.register_opts(CONF)
    try:
        tables.check()
        return _repository()
    except exceptions.InspectionRulesError as exc:
        LOG.critical('%s', exc)
        _stop_master()
        raise


def _stop_master() -> None:
    """Stop the process that would start this one again and again.

    Ironic's launcher restarts a worker that does not come up, for ever.
    """
    parent = psutil.Process(os.getppid())
    if ': master process [' in ' '.join(parent.cmdline()):
        parent.terminate()


def _repository() -> repository.Repository:
    options = CONF.inspection_rules
    ops = registry.installed()
    built_in = builtin.load(options.built_in, ops) if options.built_in else ()
    return repository.Repository(
        ops, built_in, ObjectStore(), options.default_scope,
        options.mask_secrets)
