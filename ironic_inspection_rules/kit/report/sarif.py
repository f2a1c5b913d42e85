# SPDX-License-Identifier: Apache-2.0

"""Findings in SARIF 2.1.0, which code review tools show beside the lines."""

import importlib.metadata
import pathlib
import typing
from urllib import parse as urlparse

from ironic_inspection_rules.kit.authoring import lint

_SCHEMA = ('https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/'
           'schemas/sarif-schema-2.1.0.json')
_DISTRIBUTION = 'ironic-inspection-rules'


def report(findings: typing.Iterable[lint.Finding]) -> dict[str, typing.Any]:
    """Return one SARIF log with one run.

    Paths are as the findings have them; a relative one is relative to the
    directory the tool ran in.
    """
    checks = list(lint.DESCRIPTIONS)
    results = []
    for found in findings:
        path = pathlib.PurePath(found.path)
        results.append({
            'ruleId': found.check,
            'ruleIndex': checks.index(found.check),
            'level': found.level,
            'message': {'text': f'{found.rule}: {found.message}'
                        if found.rule else found.message},
            'locations': [{'physicalLocation': {
                'artifactLocation': {
                    'uri': path.as_uri() if path.is_absolute()
                    else urlparse.quote(path.as_posix())},
                'region': {'startLine': found.line,
                           'startColumn': found.column}}}]})
    return {
        '$schema': _SCHEMA,
        'version': '2.1.0',
        'runs': [{
            'tool': {'driver': {
                'name': _DISTRIBUTION,
                'version': importlib.metadata.version(_DISTRIBUTION),
                'rules': [{'id': check, 'shortDescription': {'text': text}}
                          for check, text in lint.DESCRIPTIONS.items()],
            }},
            'columnKind': 'unicodeCodePoints',
            'results': results}]}
