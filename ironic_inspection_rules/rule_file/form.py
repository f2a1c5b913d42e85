# SPDX-License-Identifier: Apache-2.0

"""Finds the values in a file that are rules.

The position of a value determines whether it is a rule. A document is one of
these:

* a list of rules;
* a mapping with ``actions``, which is one rule;
* a mapping with lists of rules as ``rules`` or ``inspection_rules``, as in
  requests and answers of the API. It may have other members of these, and
  ``tables``. It may also have only ``tables``;
* any other mapping of names to rules and lists of rules, e.g. a file of
  Ansible variables, in which text may refer to other variables.
"""

import re

import yaml

from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import yaml_text

LISTS = ('rules', 'inspection_rules')
"""The members of a document that contain its rules."""

TABLES = 'tables'
"""The member of a document that contains its tables by name."""

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
"""Members that are allowed next to these, and are ignored."""

# A reference to an Ansible variable, which is a rule of the same file.
_ANSIBLE_VARIABLE = re.compile(r'\{\{\s*(\w+)\s*\}\}')


def find_rule_nodes(node: yaml.Node) -> list[yaml.Node]:
    """Return the nodes of a document that are in the position of rules.

    A document is a list of rules, ``[{actions: […]}]``; one rule, ``{actions:
    […]}``; a mapping with a list of rules, ``{rules: [{actions: […]}]}``; or a
    file of variables that are rules. The rules are validated later.

    :param node: the root of the document.
    :raises: MarkedYAMLError for a Kubernetes object, a duplicate name, an
        unknown member, a member that is not a list of rules, and a variable
        that may be an invalid rule.
    """
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if node.tag == yaml_text.NULL and not node.value:
        # The document is empty.
        return []
    if not isinstance(node, yaml.MappingNode):
        # This is e.g. plain text. Validation reports that it is not a mapping.
        return [node]
    yaml_text.check_keys(node)
    members = {key.value: value for key, value in node.value}
    if 'apiVersion' in members and 'kind' in members:
        raise _kubernetes_error(node, members)
    if _find_actions(node) is not None:
        # The document is one rule, without a list around it.
        return [node]
    # The rules may be under "rules" or "inspection_rules".
    has_list = not members.keys().isdisjoint(LISTS)
    if has_list or _has_tables_alone(members):
        return _find_rules_in_lists(node)
    # This is a file of variables. If none of them is a rule, the whole mapping
    # is treated as one, so that its errors are reported.
    return _find_rules_of_variables(node) or [node]


def find_table_nodes(
    node: yaml.Node,
) -> list[tuple[yaml.Node, yaml.Node]] | None:
    """Return the tables of a document, as pairs of a name and a node.

    For example, ``{rules: [], tables: {racks: {…}}}`` has the table "racks".
    The nodes are checked later.

    :param node: the root of a document that :func:`find_rule_nodes` accepts.
    :returns: an empty list for an empty mapping, which says that there are no
        tables; None if the document does not define tables.
    :raises: MarkedYAMLError if ``tables`` is not a mapping, or has a name
        twice.
    """
    if not isinstance(node, yaml.MappingNode):
        return None
    if _find_actions(node) is not None:
        # The document is a single rule, and rules have no member "tables".
        return None
    members = {key.value: value for key, value in node.value}
    has_list = not members.keys().isdisjoint(LISTS)
    if not has_list and not _has_tables_alone(members):
        # In a file of variables, "tables" is the name of a rule.
        return None
    member = members.get(TABLES)
    if member is None or member.tag == yaml_text.NULL:
        # There are only rules, or "tables" has no value.
        return None
    if not isinstance(member, yaml.MappingNode):
        raise yaml.MarkedYAMLError(
            problem=_('expected a mapping of names to tables under "%s"')
            % TABLES,
            problem_mark=member.start_mark,
        )
    yaml_text.check_keys(member)
    return list(member.value)


def _has_tables_alone(members: dict[str, yaml.Node]) -> bool:
    """Return whether a document without a list of rules has tables.

    For example, ``{tables: {racks: {…}}}`` has tables. ``{tables: {actions:
    […]}}`` has none: it is a file of variables with a rule named "tables".

    :param members: the nodes of the document by name.
    """
    member = members.get(TABLES)
    return isinstance(member, yaml.MappingNode) and not _is_named_rule(member)


def _find_rules_in_lists(node: yaml.MappingNode) -> list[yaml.Node]:
    """Return the rules of a document with ``rules`` or ``inspection_rules``.

    Both requests to the API and its answers have these members, and a file
    may contain either of them.

    :returns: the items of these lists; none if the document has only tables.
    :raises: MarkedYAMLError for an unknown member, and for a member that is
        not a list.
    """
    unknown = [
        key
        for key, _value in node.value
        if key.value not in (*LISTS, TABLES, *REQUEST, *ANSWER)
    ]
    if unknown:
        # Accept members of answers, but do not suggest them to authors.
        suggested = (*LISTS, TABLES, *REQUEST)
        raise yaml.MarkedYAMLError(
            problem=suggestion.all_unknown(
                _('member of the file'),
                [key.value for key in unknown],
                suggested,
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


def _find_rules_of_variables(node: yaml.MappingNode) -> list[yaml.Node]:
    """Return the rules of a file of variables, e.g. of Ansible.

    A variable is a rule or a list of rules: ``rack_rule: {actions: […]}``, or
    ``my_rules: [{actions: […]}, "{{ rack_rule }}"]``. Other variables may be
    texts, numbers and lists of them.

    :returns: an empty list if no variable is a rule.
    :raises: MarkedYAMLError for a variable of another type in a file with
        rules, because it may be an invalid rule.
    """
    names = {key.value for key, _value in node.value}
    rules: list[yaml.Node] = []
    # The names of variables that may be invalid rules.
    doubtful: list[yaml.Node] = []
    for key, value in node.value:
        if _is_named_rule(value):
            rules.append(value)
        elif _is_list_with_rule(value):
            # Skip references such as "{{ rack_rule }}", because that rule is
            # read under its own name.
            rules += [
                item
                for item in value.value
                if not _refers_to_variable(item, names)
            ]
        elif not _is_scalar_or_list_of_scalars(value):
            doubtful.append(key)
    if rules and doubtful:
        raise yaml.MarkedYAMLError(
            problem=_(
                '"%s" is neither a rule nor a list of rules, as others '
                'in this file are'
            )
            % doubtful[0].value,
            problem_mark=doubtful[0].start_mark,
        )
    return rules


def _is_named_rule(node: yaml.Node) -> bool:
    """Return whether a variable is a rule, i.e. a mapping with actions.

    For example, ``{actions: [{op: fail}]}`` is a rule. ``actions`` may also be
    null, because the API returns this for a sensitive rule.
    """
    actions = _find_actions(node)
    if actions is None:
        # It is not a mapping, or has no "actions".
        return False
    is_list = isinstance(actions, yaml.SequenceNode)
    return is_list or actions.tag == yaml_text.NULL


def _is_list_with_rule(node: yaml.Node) -> bool:
    """Return whether a variable is a list that contains a rule."""
    if not isinstance(node, yaml.SequenceNode):
        return False
    return any(map(_is_named_rule, node.value))


def _is_scalar_or_list_of_scalars(node: yaml.Node) -> bool:
    """Return whether a variable is a text, a number or a list of them."""
    items = [node]
    if isinstance(node, yaml.SequenceNode):
        items = node.value
    return all(isinstance(item, yaml.ScalarNode) for item in items)


def _find_actions(node: yaml.Node) -> yaml.Node | None:
    """Return the node under ``actions`` of a mapping, or None.

    With a merge key, ``<<: *base``, the node may be in another mapping. If
    there are several, ``<<: [*base, *other]``, use the first that has it.

    :param node: any node; only a mapping has actions.
    """
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if key.value == 'actions':
            return value
    for key, value in node.value:
        if key.tag != yaml_text.MERGE:
            continue
        merged_mappings = [value]
        if isinstance(value, yaml.SequenceNode):
            merged_mappings = value.value
        for mapping in merged_mappings:
            actions = _find_actions(mapping)
            if actions is not None:
                return actions
    return None


def _refers_to_variable(node: yaml.Node, names: set[str]) -> bool:
    """Return whether a node is the text ``{{ name }}`` of a known variable.

    :param names: the variables of the file.
    """
    if not isinstance(node, yaml.ScalarNode):
        return False
    reference = _ANSIBLE_VARIABLE.fullmatch(node.value)
    return reference is not None and reference[1] in names


def _kubernetes_error(
    node: yaml.MappingNode, members: dict[str, yaml.Node]
) -> yaml.MarkedYAMLError:
    """Build the error for a file that is a Kubernetes object.

    A ConfigMap or a Secret may contain a file of rules as text, e.g. in
    ``data.rules.yaml``. The error tells the user to write that text to a file.
    In ``data`` of a Secret, the text is encoded in base64.

    :param members: the nodes of the mapping by name.
    """
    kind = members['kind'].value
    text = _('this is a %s of Kubernetes, not a file of rules') % kind
    names_of_texts = []
    for member in ('data', 'stringData'):
        data = members.get(member)
        if isinstance(data, yaml.MappingNode):
            for key, _value in data.value:
                name = f'{member}.{key.value}'
                if kind == 'Secret' and member == 'data':
                    name = _('%s (decoded from base64)') % name
                names_of_texts.append(name)
    if names_of_texts:
        text += '; ' + _('write the text of %s to a file and give that') % (
            _(' or ').join(names_of_texts)
        )
    return yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)
