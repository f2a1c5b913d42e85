# SPDX-License-Identifier: Apache-2.0

"""Formats findings of lint as SARIF, which code review tools show inline.

SARIF 2.1.0 is a JSON format for the results of tools. A *log* has *runs* of a
tool. A run describes the checks of the tool, which SARIF calls rules, and has
the *results*, which are the findings. A result names its check twice: by
``ruleId``, and by ``ruleIndex``, the position in the list of checks.
"""

import importlib.metadata
import pathlib
import typing
from urllib import parse as urlparse

from ironic_inspection_rules.kit.authoring import lint

_SCHEMA = (
    'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/'
    'schemas/sarif-schema-2.1.0.json'
)
_DISTRIBUTION = 'ironic-inspection-rules'


def build_log(
    findings: typing.Iterable[lint.Finding],
) -> dict[str, typing.Any]:
    """Build a SARIF log with one run from the findings of lint.

    :returns: the log as JSON data, see the module.
    """
    checks = [
        {'id': check, 'shortDescription': {'text': description}}
        for check, description in lint.DESCRIPTIONS.items()
    ]
    names_of_checks = list(lint.DESCRIPTIONS)
    results = []
    for finding in findings:
        message = finding.message
        # A finding about a whole file has no inspection rule.
        if finding.rule:
            message = f'{finding.rule}: {message}'
        results.append(
            {
                'ruleId': finding.check,
                'ruleIndex': names_of_checks.index(finding.check),
                'level': finding.level,
                'message': {'text': message},
                'locations': [_build_location(finding)],
            }
        )
    tool = {
        'name': _DISTRIBUTION,
        'version': importlib.metadata.version(_DISTRIBUTION),
        'rules': checks,
    }
    run = {
        'tool': {'driver': tool},
        # Columns of a location are counted in characters.
        'columnKind': 'unicodeCodePoints',
        'results': results,
    }
    return {'$schema': _SCHEMA, 'version': '2.1.0', 'runs': [run]}


def _build_location(finding: lint.Finding) -> dict[str, typing.Any]:
    """Build the SARIF location of a finding: file, line and column.

    SARIF has files as URIs. ``/tmp/a b.yaml`` becomes
    ``file:///tmp/a%20b.yaml``. A relative path stays relative: ``a b.yaml``
    becomes ``a%20b.yaml``.
    """
    path = pathlib.PurePath(finding.path)
    if path.is_absolute():
        uri = path.as_uri()
    else:
        uri = urlparse.quote(path.as_posix())
    return {
        'physicalLocation': {
            'artifactLocation': {'uri': uri},
            'region': {
                'startLine': finding.line,
                'startColumn': finding.column,
            },
        }
    }
