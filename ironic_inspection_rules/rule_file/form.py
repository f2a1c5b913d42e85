# SPDX-License-Identifier: Apache-2.0

"""Forms of a file of rules: which of its values are rules.

What is a rule is decided by where it stands. A document is

* a list of rules,
* a mapping with ``actions``: one rule,
* a mapping with ``rules`` or ``inspection_rules``, as requests and answers of
  the API have them: a list of rules, with other members of these, and
  ``tables``; or with ``tables`` alone,
* any other mapping of names to rules and lists of rules, such as a file of
  variables of Ansible, where text refers to other variables.
"""

import re

import yaml

from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import yaml_text

LISTS = ('rules', 'inspection_rules')
"""Members of a document that have its rules."""

TABLES = 'tables'
"""Member of a document that has its tables by name."""

REQUEST = ('message', 'revision')
ANSWER = (
    'changes',
    'created_at',
    'links',
    'next',
    'project_id',
    'user_id',
    'warnings',
)
"""Members that may stand beside these, and are not read."""

# A variable of Ansible, which stands for a rule of the same file.
_REFERENCE = re.compile(r'\{\{\s*(\w+)\s*\}\}')


def entries(node: yaml.Node) -> list[yaml.Node]:
    """Return the rules of a document.

    :returns: nodes that stand where rules do, whatever they are.
    :raises: MarkedYAMLError where a member is unknown or has no list.
    """
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if node.tag == yaml_text.NULL and not node.value:
        return []
    if not isinstance(node, yaml.MappingNode):
        return [node]
    yaml_text.check_names(node)
    members = {key.value: value for key, value in node.value}
    if 'apiVersion' in members and 'kind' in members:
        raise _of_kubernetes(node, members)
    if _actions(node) is not None:
        return [node]
    if not members.keys().isdisjoint(LISTS) or _has_tables(members):
        return _listed(node)
    return _named(node) or [node]


def tables(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    """Return the tables of a document, whose entries were read.

    :returns: pairs of a name and what stands there, whatever it is.
    :raises: MarkedYAMLError where the member is no mapping.
    """
    if not isinstance(node, yaml.MappingNode) or _actions(node) is not None:
        return []
    members = {key.value: value for key, value in node.value}
    if members.keys().isdisjoint(LISTS) and not _has_tables(members):
        return []
    member = members.get(TABLES)
    if member is None or member.tag == yaml_text.NULL:
        return []
    if not isinstance(member, yaml.MappingNode):
        raise yaml.MarkedYAMLError(
            problem=_('expected a mapping of names to tables under "%s"')
            % TABLES,
            problem_mark=member.start_mark,
        )
    yaml_text.check_names(member)
    return list(member.value)


def has_tables(node: yaml.Node) -> bool:
    """Return whether a document says which tables there are, if only none."""
    if not isinstance(node, yaml.MappingNode) or _actions(node) is not None:
        return False
    for key, value in node.value:
        if key.value == TABLES and isinstance(value, yaml.MappingNode):
            return True
    return False


def _has_tables(members: dict[str, yaml.Node]) -> bool:
    """Return whether a document without a list of rules has tables.

    A file of variables may call its rules so.
    """
    member = members.get(TABLES)
    return isinstance(member, yaml.MappingNode) and not _is_named_rule(member)


def _listed(node: yaml.MappingNode) -> list[yaml.Node]:
    """Return the rules of a document that has them in a list."""
    unknown = [
        key
        for key, _value in node.value
        if key.value not in (*LISTS, TABLES, *REQUEST, *ANSWER)
    ]
    if unknown:
        raise yaml.MarkedYAMLError(
            problem=suggestion.all_unknown(
                _('member of the file'),
                [key.value for key in unknown],
                (*LISTS, TABLES, *REQUEST),
            ),
            problem_mark=unknown[0].start_mark,
        )
    rules: list[yaml.Node] = []
    for key, value in node.value:
        if key.value not in LISTS or value.tag == yaml_text.NULL:
            continue
        if not isinstance(value, yaml.SequenceNode):
            raise yaml.MarkedYAMLError(
                problem=_('expected a list of rules under "%s"') % key.value,
                problem_mark=value.start_mark,
            )
        rules += value.value
    return rules


def _named(node: yaml.MappingNode) -> list[yaml.Node]:
    """Return the rules of a document that has them by name.

    Variables that are no rules are text, numbers and lists of these.

    :returns: no rules if there are none by name.
    """
    names = {key.value for key, _value in node.value}
    rules: list[yaml.Node] = []
    others: list[yaml.Node] = []
    for key, value in node.value:
        if _is_named_rule(value):
            rules.append(value)
        elif isinstance(value, yaml.MappingNode):
            others.append(key)
        elif isinstance(value, yaml.SequenceNode):
            if any(map(_is_named_rule, value.value)):
                rules += [
                    item for item in value.value if not _refers(item, names)
                ]
            elif not _has_only_scalars(value):
                others.append(key)
    if rules and others:
        raise yaml.MarkedYAMLError(
            problem=_(
                '"%s" is neither a rule nor a list of rules, as others '
                'in this file are'
            )
            % others[0].value,
            problem_mark=others[0].start_mark,
        )
    return rules


def _has_only_scalars(node: yaml.SequenceNode) -> bool:
    return all(isinstance(item, yaml.ScalarNode) for item in node.value)


def _is_named_rule(node: yaml.Node) -> bool:
    """Return whether a mapping has a list of actions.

    A variable may have something else that it calls so. Of a sensitive rule
    the API shows null.
    """
    actions = _actions(node)
    if actions is None:
        return False
    return (
        isinstance(actions, yaml.SequenceNode) or actions.tag == yaml_text.NULL
    )


def _actions(node: yaml.Node) -> yaml.Node | None:
    """Return the value of ``actions``, which may be merged into a mapping."""
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if key.value == 'actions':
            return value
    for key, value in node.value:
        if key.tag != yaml_text.MERGE:
            continue
        merged = [value]
        if isinstance(value, yaml.SequenceNode):
            merged = value.value
        for mapping in merged:
            actions = _actions(mapping)
            if actions is not None:
                return actions
    return None


def _refers(node: yaml.Node, names: set[str]) -> bool:
    """Return whether text stands for another variable of the file."""
    if not isinstance(node, yaml.ScalarNode):
        return False
    reference = _REFERENCE.fullmatch(node.value)
    return reference is not None and reference[1] in names


def _of_kubernetes(
    node: yaml.MappingNode, members: dict[str, yaml.Node]
) -> yaml.MarkedYAMLError:
    """Return the error for an object of Kubernetes, such as a ConfigMap."""
    text = _('this is a %s of Kubernetes, not a file of rules') % (
        members['kind'].value
    )
    inside = []
    for name in ('data', 'stringData'):
        data = members.get(name)
        if isinstance(data, yaml.MappingNode):
            inside += [f'{name}.{key.value}' for key, _value in data.value]
    if inside:
        text += '; ' + _('write the text of %s to a file and give that') % (
            _(' or ').join(inside)
        )
    return yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)
