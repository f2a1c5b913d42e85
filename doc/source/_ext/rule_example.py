# SPDX-License-Identifier: Apache-2.0

"""A case of the test suite, shown as a part of a rule.

::

    .. rule-example:: comparison
       :case: enough memory

What is given and what comes out are comments, so that the rest can be copied
into a file of rules.
"""

from collections.abc import Iterator
import typing

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import docutils
import yaml

from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.tests.corpus import case as corpus

_GIVEN = ('node', 'inventory', 'plugin_data', 'ports', 'port_groups', 'scope')
_RULE = ('phase', 'scope', 'priority', 'conditions', 'actions')
_RESULT = ('holds', 'matched', 'changes', 'after', 'gone', 'notes', 'error',
           'fails')


class RuleExample(docutils.SphinxDirective):
    """The directive; its argument is the file, its option the case."""

    required_arguments = 1
    option_spec: typing.ClassVar = {'case': directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        wanted = (self.arguments[0], self.options['case'])
        found = [each for each in corpus.load()
                 if (each.file, each.name) == wanted]
        if not found:
            raise self.error(f'no case "{wanted[1]}" in {wanted[0]}.yaml')
        self.env.note_dependency(
            corpus.__file__.replace('case.py', f'{wanted[0]}.yaml'))
        text = '\n'.join(_lines(found[0]))
        block = nodes.literal_block(text, text, language='yaml')
        self.set_source_info(block)
        return [block]


def _lines(case: corpus.Case) -> Iterator[str]:
    yield from _comments(case, _GIVEN)
    rules = [_written(rule, case) for rule in case.rules]
    yield _yaml(rules if len(rules) > 1 else rules[0])
    yield from _comments(case, _RESULT)


def _comments(case: corpus.Case, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = case.get(name)
        if value is None:
            continue
        if isinstance(value, list | dict) and value:
            yield f'# {name}:'
            for line in _yaml(value).splitlines():
                yield f'#   {line}'
        else:
            yield f'# {name}: {_yaml(value)}'


def _written(rule: corpus.Json, case: corpus.Case) -> corpus.Json:
    """Return what the case says of a rule, its arguments by name."""
    said = {*case.get('rule', {}), *case.content,
            *(f'{name}s' for name in case.content)}
    written = {name: rule[name] for name in _RULE
               if name in rule and ('rules' in case.content or name in said)}
    for name, ops in (('conditions', registry.installed().conditions),
                      ('actions', registry.installed().actions)):
        if name in written:
            written[name] = [_by_name(each, ops) for each in written[name]]
    return written


def _by_name(operation: corpus.Json,
             ops: typing.Mapping[str, registry.Op]) -> corpus.Json:
    op = ops[operation['op'].removeprefix('!').strip()]
    if not isinstance(operation.get('args'), list):
        return operation
    return {**operation, 'args': op.signature.bind(operation['args'])[0]}


def _yaml(value: typing.Any) -> str:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True,
                          width=float('inf'), default_flow_style=None)
    return text.removesuffix('...\n').strip()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive('rule-example', RuleExample)
    return {'parallel_read_safe': True}
