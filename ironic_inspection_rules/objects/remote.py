# SPDX-License-Identifier: Apache-2.0

"""The objects that an API without a database asks a conductor for."""

from ironic_inspection_rules.objects import machine
from ironic_inspection_rules.objects import request
from ironic_inspection_rules.objects import rule
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.objects import run

CLASSES = (machine.InspectedMachine, request.InspectionRequest, rule.Rule,
           rule_statistics.RuleStatistics, run.InspectionRun)
"""To import them is to register them."""
