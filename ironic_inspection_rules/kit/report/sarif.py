# SPDX-License-Identifier: Apache-2.0

"""Formats findings as SARIF 2.1.0, which code review tools show inline."""

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

    Relative paths stay relative to the directory in which the tool ran.
    """
    # A result has the name of its check and the index of the check in "rules".
    checks = list(lint.DESCRIPTIONS)
    results = []
    for finding in findings:
        message = finding.message
        if finding.rule:
            message = f'{finding.rule}: {message}'
        results.append(
            {
                'ruleId': finding.check,
                'ruleIndex': checks.index(finding.check),
                'level': finding.level,
                'message': {'text': message},
                'locations': [_build_location(finding)],
            }
        )
    return {
        '$schema': _SCHEMA,
        'version': '2.1.0',
        'runs': [
            {
                'tool': {
                    'driver': {
                        'name': _DISTRIBUTION,
                        'version': importlib.metadata.version(_DISTRIBUTION),
                        'rules': [
                            {'id': check, 'shortDescription': {'text': text}}
                            for check, text in lint.DESCRIPTIONS.items()
                        ],
                    }
                },
                'columnKind': 'unicodeCodePoints',
                'results': results,
            }
        ],
    }


def _build_location(finding: lint.Finding) -> dict[str, typing.Any]:
    """Build the SARIF location of a finding: file, line and column.

    The file is written as a URI. For example, ``/tmp/a b.yaml`` becomes
    ``file:///tmp/a%20b.yaml``, and ``a b.yaml`` becomes ``a%20b.yaml``.
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
