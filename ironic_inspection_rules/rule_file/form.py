# SPDX-License-Identifier: Apache-2.0

"""Finds the rules and tables in a YAML document, by its form.

A document with rules has one of these forms:

* a list of rules: ``[{actions: […]}]``;
* one rule, which is a mapping with actions: ``{actions: […]}``;
* a request or an answer of the API, which is a mapping with lists of rules, or
  with tables, or with both: ``{rules: [{actions: […]}], tables: {…}}``;
* a file of Ansible variables, which is any other mapping. A variable may be a
  rule or a list of rules: ``{my_rules: [{actions: […]}, "{{ old_rule }}"]}``.
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

# Further members that a request or an answer of the API may have. They are
# allowed in a file, and ignored.
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

# A reference to an Ansible variable: "{{ rack_rule }}".
_ANSIBLE_VARIABLE = re.compile(r'\{\{\s*(\w+)\s*\}\}')


def find_rule_nodes(node: yaml.Node) -> list[yaml.Node]:
    """Return the nodes of a document that are in the place of rules.

    The docstring of this module lists the forms of documents. The rules are
    validated later, so that their errors are reported like other errors of
    rules.

    :param node: the root of the document.
    :raises: MarkedYAMLError for a Kubernetes object, a duplicate name, an
        unknown member, a member that is not a list of rules, and a variable
        that may be an invalid rule.
    """
    if isinstance(node, yaml.SequenceNode):
        # This is a list of rules.
        return list(node.value)
    if node.tag == yaml_text.NULL and not node.value:
        # The document is empty.
        return []
    if not isinstance(node, yaml.MappingNode):
        # This is text or a number. Treat it as a rule, because validation
        # reports that a rule must be a mapping.
        return [node]
    yaml_text.check_keys(node)
    members = {key.value: value for key, value in node.value}
    if 'apiVersion' in members and 'kind' in members:
        raise _kubernetes_error(node, members)
    if _find_actions(node) is not None:
        # This is one rule.
        return [node]
    # A request or an answer of the API has its rules under "rules" or
    # "inspection_rules", or has only tables.
    has_list = not members.keys().isdisjoint(LISTS)
    if has_list or _has_tables_alone(members):
        return _find_rules_in_lists(node)
    # This is a file of variables. If none of them is a rule, treat the whole
    # mapping as a rule, because validation then reports its errors.
    rules_of_variables = _find_rules_of_variables(node)
    return rules_of_variables or [node]


def find_table_nodes(
    node: yaml.Node,
) -> list[tuple[yaml.Node, yaml.Node]] | None:
    """Return the tables under ``tables`` in a document, with their names.

    For example, ``{rules: [], tables: {racks: {…}}}`` has the table "racks".
    The tables are checked later.

    :param node: the root of a document that :func:`find_rule_nodes` accepts.
    :returns: pairs of two nodes, the name and the table. An empty list if
        ``tables`` is an empty mapping; None if the document does not define
        tables.
    :raises: MarkedYAMLError if ``tables`` is not a mapping, or has a name
        twice.
    """
    if not isinstance(node, yaml.MappingNode):
        return None
    if _find_actions(node) is not None:
        # The document is one rule. A rule has no tables.
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
    """Return the rules of a document that is a request or an answer.

    Its rules are the items of the lists ``rules`` and ``inspection_rules``.

    :returns: an empty list if the document has only tables.
    :raises: MarkedYAMLError if the document has an unknown member, or if one
        of these two members is not a list.
    """
    allowed = (*LISTS, TABLES, *REQUEST, *ANSWER)
    unknown = [key for key, _value in node.value if key.value not in allowed]
    if unknown:
        # The message suggests a member with a similar name. Members of answers
        # are allowed, but authors should not write them.
        suggested = (*LISTS, TABLES, *REQUEST)
        raise yaml.MarkedYAMLError(
            problem=suggestion.all_unknown_message(
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
    """Return the rules of a file of Ansible variables.

    - A variable may be a rule: ``rack_rule: {actions: […]}``.
    - A variable may be a list of rules, and of references to other rules:
      ``my_rules: [{actions: […]}, "{{ rack_rule }}"]``.
    - A text, a number, or a list of them is ignored.
    - Any other variable may be an invalid rule. It is an error if the file has
      rules.

    :returns: an empty list if no variable is a rule. The caller then treats
        the whole file as one rule, which is invalid.
    :raises: MarkedYAMLError at the first variable that may be an invalid rule.
    """
    names_of_variables = {key.value for key, _value in node.value}
    rules: list[yaml.Node] = []
    # The names of variables that may be invalid rules.
    doubtful: list[yaml.Node] = []
    for key, value in node.value:
        if _is_named_rule(value):
            rules.append(value)
        elif _is_list_with_rule(value):
            # Skip references such as "{{ rack_rule }}", because the variable
            # "rack_rule" is read as well.
            rules += [
                item
                for item in value.value
                if not _refers_to_variable(item, names_of_variables)
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
        # The variable is not a mapping, or has no member "actions".
        return False
    is_list = isinstance(actions, yaml.SequenceNode)
    is_null = actions.tag == yaml_text.NULL
    return is_list or is_null


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

    If the mapping itself has no ``actions``, search the mappings that its
    merge keys refer to: one in ``<<: *base``, several in ``<<: [*base,
    *other]``. The first of them that has ``actions`` counts.

    :param node: any node; only a mapping has actions.
    """
    if not isinstance(node, yaml.MappingNode):
        return None
    # First search the mapping itself.
    for key, value in node.value:
        if key.value == 'actions':
            return value
    # Then search the merged mappings. They may have merge keys of their own.
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
    """Return whether a node is the text ``{{ name }}`` with a known name.

    :param names: the names of the variables of the file.
    """
    if not isinstance(node, yaml.ScalarNode):
        return False
    reference = _ANSIBLE_VARIABLE.fullmatch(node.value)
    return reference is not None and reference[1] in names


def _kubernetes_error(
    node: yaml.MappingNode, members: dict[str, yaml.Node]
) -> yaml.MarkedYAMLError:
    """Build the error for a document that is a Kubernetes object.

    A ConfigMap or a Secret may contain a file of rules as text, in its members
    ``data`` and ``stringData``: ``{kind: ConfigMap, data: {rules.yaml: …}}``.
    The error then asks for the text of ``data.rules.yaml``. In ``data`` of a
    Secret, the text is encoded in base64.

    :param node: the root of the document.
    :param members: the members of the document by name.
    """
    kind = members['kind'].value
    message = _('this is a %s of Kubernetes, not a file of rules') % kind
    # Where the object has texts, e.g. "data.rules.yaml".
    places_of_texts = []
    for member in ('data', 'stringData'):
        data = members.get(member)
        if not isinstance(data, yaml.MappingNode):
            continue
        for key, _value in data.value:
            place = f'{member}.{key.value}'
            if kind == 'Secret' and member == 'data':
                place = _('%s (decoded from base64)') % place
            places_of_texts.append(place)
    if places_of_texts:
        message += '; ' + _('write the text of %s to a file and give that') % (
            _(' or ').join(places_of_texts)
        )
    return yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark)
