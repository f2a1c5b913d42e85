# SPDX-License-Identifier: Apache-2.0

"""Build the JSON Schema of rule files, which editors use.

The schema checks what validation checks, as far as JSON Schema can express it.
The tests of this module list under ``EXCEPTIONS`` what only validation can
check. Besides, it has the texts and values that editors offer.

An operation is a condition or an action. Its ``op`` is the name of a plugin,
e.g. ``eq``, and decides which ``args`` are allowed. Therefore the schema has
one branch per op: ``{'if': <the op is eq>, 'then': <the arguments of eq>}``.
A group is a condition that contains conditions, e.g. ``any-of``. Parts that
are used several times are definitions, to which ``$ref`` refers by name.
"""

from collections.abc import Iterable, Iterator, Mapping
import re
import types
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import action
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import column_type
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema as form
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_members
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import filter_schema
from ironic_inspection_rules.rule_file import form as rule_form
from ironic_inspection_rules.rule_file import table_file

Schema = form.Schema

DESCRIPTIONS = {
    'op': _('What is checked or done.'),
    'args': _('The arguments of the op by name.'),
    'loop': _('A list, or a field that is one: once for each {item}.'),
    'multiple': _('For how many items of the loop it must hold.'),
    'conditions': _('The conditions that the group is made of.'),
    'when': _(
        'The action is carried out only where all of these hold; in a '
        'loop asked for each {item}.'
    ),
    'revert': _('Whether the action is undone where the rule does not match.'),
    'path': _('Where: a pointer such as /extra/rack; /- appends to a list.'),
    'value': _('The value; text that is exactly one {field} keeps its type.'),
    'values': _('The values, which may be {fields}.'),
    'regex': _('A regular expression of Python.'),
    'address': _('An IP address, mostly a {field}.'),
    'subnet': _('A subnet, such as 10.0.0.0/8 or fd00::/8.'),
    'force_strings': _('Whether all values are compared as text.'),
    'msg': _('The message; may hold {fields}.'),
    'maintenance': _('Whether the node is also put into maintenance.'),
    'level': _('debug, info, warning, error or critical.'),
    'unique': _('Whether a value that is in the list is left out.'),
    'cleanup': _('What is set where the rule does not match.'),
    'port_id': _('The MAC address or UUID of a port.'),
    'name': _('The name of a trait or a capability.'),
    'names': _('Names of traits.'),
    'prefix': _('Only traits that begin with it are replaced.'),
    'url': _('An http or https URL.'),
    'headers': _('Headers of the request by name.'),
    'proxies': _('Proxies by scheme.'),
    'timeout': _('Seconds to wait for an answer.'),
    'retries': _('How often it is tried again.'),
    'backoff_factor': _('Seconds between tries, doubled each time.'),
}
"""Texts that editors show for conditions, actions and their arguments."""

_HIDDEN_PREFIX = 'inspector-'
"""Prefix of the ops of ironic-inspector. Editors do not offer these ops,
because new rules should not use them."""

_ONE_FIELD = r'^\{(?!\{)[\s\S]*\}' + form.END
"""Pattern of a field without text around it."""

_NEGATION = r'!?\s*'
"""Pattern of what may precede the op of a condition."""

_IS_RULE: Schema = {
    'if': {'type': 'object', 'required': ['actions']},
    'then': {'$ref': '#/definitions/rule'},
}
"""Schema which requires that a mapping with actions is a rule. Code that uses
it adds an ``else`` for all other values."""


def _refer_to(name: str) -> Schema:
    """Return a reference to a definition of the schema."""
    return {'$ref': f'#/definitions/{name}'}


def schema(
    ops: registry.Registry,
    built_in: bool = False,
    tables: table.Tables = types.MappingProxyType({}),
) -> Schema:
    """Return the JSON Schema of rule files.

    :param built_in: whether the files contain built-in rules, which may have
        names instead of UUIDs, and any priority.
    :param tables: the tables whose columns editors complete.
    :raises: :class:`.exceptions.PluginError` if an op fails when it declares
        its arguments.
    """
    return {
        # Language servers for YAML support this draft best.
        '$schema': 'http://json-schema.org/draft-07/schema#',
        'title': _('Inspection rules'),
        'if': {'type': 'array'},
        'then': {'items': _refer_to('rule')},
        'else': {**_IS_RULE, 'else': _several_rules_schema(tables)},
        'definitions': {
            'rule': _rule_schema(built_in, tables),
            'table': _table_schema(),
            'named': _named_schema(),
            **_operation_schemas(ops),
        },
    }


def _several_rules_schema(tables: table.Tables) -> Schema:
    """Return the schema of a mapping that contains rules, but is not a rule.

    There are two kinds. A request or an answer of the API has a list of rules
    or only tables, besides a few other fields. Any other mapping maps names to
    rules.

    :param tables: the tables whose columns editors complete.
    """
    has_tables_only = {
        'required': [rule_form.TABLES],
        'properties': {
            rule_form.TABLES: {
                # A rule may also have this name. The file then maps names to
                # rules.
                'type': 'object',
                'not': {'required': ['actions']},
            }
        },
    }
    # A mapping of the first kind has one of these lists, or only tables.
    has_list = [{'required': [name]} for name in rule_form.LISTS]
    other_names = (*rule_form.REQUEST, *rule_form.ANSWER)
    rules = {'type': ['array', 'null'], 'items': _refer_to('rule')}
    of_tables = {
        'type': ['object', 'null'],
        'properties': {
            name: _known_table_schema(known) for name, known in tables.items()
        },
        'additionalProperties': _refer_to('table'),
    }
    return {
        'if': {'type': 'object', 'anyOf': [*has_list, has_tables_only]},
        'then': {
            'additionalProperties': False,
            'properties': {
                **dict.fromkeys(other_names, True),
                rule_form.TABLES: of_tables,
                **dict.fromkeys(rule_form.LISTS, rules),
            },
        },
        'else': {
            'type': 'object',
            'minProperties': 1,
            'additionalProperties': _refer_to('named'),
        },
    }


def _named_schema() -> Schema:
    """Return the schema of one value in a file that maps names to rules.

    The value is a rule or a list of rules. Such a list may contain texts that
    stand for rules, e.g. ``{{ my_rule }}`` in a file of Ansible. Any other
    list or scalar is ignored.
    """
    items = {'if': {'type': 'string'}, 'else': _refer_to('rule')}
    return {
        **_IS_RULE,
        'else': {
            # A mapping without actions is neither a rule nor ignored.
            'not': {'type': 'object'},
            'if': {'type': 'array', 'contains': _IS_RULE['if']},
            'then': {'items': items},
        },
    }


def _table_schema() -> Schema:
    """Return the schema of a table; its rows may have any columns.

    A table has either a file with rows or the rows themselves. Its ``key``
    identifies a row, and its ``of`` gives the key of a machine.
    """
    text = {'type': 'string', 'minLength': 1}
    template = {'type': 'string', 'pattern': '[{]'}
    return {
        'type': 'object',
        'additionalProperties': False,
        'required': ['key'],
        'oneOf': [{'required': [name]} for name in (table_file.FILE, 'rows')],
        'properties': {
            'key': {
                **text,
                'description': _(
                    'Of a row: the name of a column, or a '
                    'template over columns.'
                ),
            },
            'of': {
                'type': ['string', 'null'],
                'minLength': 1,
                'description': _(
                    'The same of a machine: a template over its data.'
                ),
            },
            table_file.FILE: {
                **text,
                'description': _(
                    'File with the rows beside this one: CSV, YAML or JSON.'
                ),
            },
            'rows': {
                'type': 'array',
                'items': {'type': 'object'},
                'maxItems': table_members.MOST_ROWS,
                'description': _('The rows, instead of a file.'),
            },
            'types': {
                'type': ['object', 'null'],
                'description': _('Types of columns; CSV is text.'),
                'additionalProperties': {'enum': list(column_type.TYPES)},
            },
            'secret': {
                'type': ['array', 'null'],
                'items': text,
                'uniqueItems': True,
                'description': _('Columns that only sensitive rules read.'),
            },
            'expect': {
                'type': ['object', 'null'],
                'description': _(
                    'What a machine has, by column: templates over its data.'
                ),
                'additionalProperties': template,
            },
        },
    }


def _known_table_schema(known: table.Table) -> Schema:
    """Return the schema of a table whose columns are known.

    Editors complete the known columns. Other columns are accepted, because the
    file with the rows may have gained columns in the meantime.
    """
    columns = sorted(known.known_columns)
    named: Schema = {'properties': dict.fromkeys(columns, True)}
    return {
        'allOf': [_refer_to('table')],
        'properties': {
            'key': {'examples': columns},
            'types': named,
            'secret': {'items': {'examples': columns}},
            'expect': named,
        },
    }


def _list_fields_of(tables: table.Tables) -> list[str]:
    """List the fields over tables that editors offer.

    Examples are ``{tables.racks | row}`` and ``{tables.racks | row |
    get('/room')}``. If a table does not say which key a machine has, the
    filter is ``row(KEY)``.
    """
    fields = []
    for name, named_table in tables.items():
        row = f'{interpolation.TABLES}.{name} | row'
        if not named_table.has_of:
            row += '(KEY)'
        fields.append(f'{{{row}}}')
        for column in sorted(named_table.known_columns):
            path = data_path.pointer([column])
            fields.append(f"{{{row} | get('{path}')}}")
    return fields


def _rule_schema(built_in: bool, tables: table.Tables) -> Schema:
    """Return the schema of a rule, with the texts that editors show.

    :param built_in: whether the schema is for a built-in rule.
    :param tables: the tables whose rows editors offer as values.
    """
    rule_schema = form.rule(built_in)
    fields = dict(rule_schema['properties'])
    if tables:
        fields[model.VARS] = {
            **fields[model.VARS],
            'additionalProperties': {'examples': _list_fields_of(tables)},
        }
    if built_in:
        fields['uuid'] = {'type': ['string', 'null']}
    # The items of both lists have definitions of their own.
    for name, item in (('conditions', 'condition'), ('actions', 'action')):
        fields[name] = {**fields[name], 'items': _refer_to(item)}
    properties = {}
    for name in model.WRITABLE:
        description = model.SETTABLE[name].metadata['help']
        properties[name] = {'description': description, **fields[name]}
    is_early = {
        'properties': {'phase': {'const': model.EARLY}},
        'required': ['phase'],
    }
    # The node is unknown in the early phase. Therefore a rule cannot have a
    # scope, and cannot use actions that need the node.
    early_properties = {
        'scope': {'enum': ['', None]},
        'actions': {'items': _refer_to('earlyAction')},
    }
    early = {'if': is_early, 'then': {'properties': early_properties}}
    return {**rule_schema, 'allOf': [early], 'properties': properties}


def _operation_schemas(ops: registry.Registry) -> dict[str, Schema]:
    """Return the definitions to which conditions and actions refer, by name.

    There are definitions for conditions (one per depth of groups), for
    actions, for the arguments of all ops, and for traits and texts in
    arguments.
    """
    # All conditions except groups.
    singles = {
        name: op
        for name, op in ops.conditions.items()
        if not isinstance(op.plugin, plugin.ConditionGroup)
    }
    early_actions = {
        name: op
        for name, op in ops.actions.items()
        if op.plugin.SUPPORTS_EARLY
    }
    # There is one branch per op: if the operation has this op, its arguments
    # must match the schema of the op.
    condition_calls = [
        {
            'if': _op_schema([name], sign=_NEGATION),
            'then': _arguments_schema(op),
        }
        for name, op in singles.items()
    ]
    action_calls = [
        {
            # Actions cannot be negated.
            'if': _op_schema([name], sign=''),
            'then': {**_arguments_schema(op), **_revert_schema(op)},
        }
        for name, op in ops.actions.items()
    ]
    definitions = {
        # Schemas of values in arguments: a value that contains a field, a text
        # with fields, and the name of a trait.
        'varies': form.VARYING,
        'written': filter_schema.text_with_fields(registry.filters()),
        'trait': _trait_schema(),
        # Schemas that select the arguments by the op.
        'conditionArgs': {'allOf': condition_calls},
        'actionArgs': {'allOf': action_calls},
        # Fewer actions are available in the early phase.
        'action': _action_schema(ops.actions),
        'earlyAction': _action_schema(early_actions),
    }
    # JSON Schema cannot count, so every depth of groups has its own
    # definition, with the depth in its name.
    for depth in range(form.DEEPEST_GROUP):
        definitions[_condition_name(depth)] = _condition_schema(
            ops.conditions, depth
        )
    definitions[_condition_name(form.DEEPEST_GROUP)] = _condition_schema(
        singles, form.DEEPEST_GROUP
    )
    return definitions


def _trait_schema() -> Schema:
    """Return the schema of the name of a trait."""
    custom_trait = {
        'type': 'string',
        'maxLength': trait_names.MAX_LENGTH,
        'pattern': f'^CUSTOM_[A-Z0-9_]+{form.END}',
    }
    standard_trait = {'enum': sorted(trait_names.STANDARD)}
    return form.any_of(custom_trait, standard_trait)


def _condition_name(depth: int) -> str:
    """Return the name of the definition of a condition.

    It is ``condition`` outside of groups, and e.g. ``condition2`` inside two
    nested groups.

    :param depth: the number of groups around the condition.
    """
    if depth == 0:
        return 'condition'
    return f'condition{depth}'


def _action_schema(ops: Mapping[str, registry.Op]) -> Schema:
    """Return the schema of an action that uses one of the given ops.

    :param ops: all actions, or the actions of the early phase.
    """
    when = {
        **form.ACTION['properties']['when'],
        'items': _refer_to('condition'),
    }
    return {
        **_describe_operation(form.ACTION, ops, sign='', when=when),
        'allOf': [_refer_to('actionArgs')],
    }


def _op_schema(names: Iterable[str], sign: str) -> Schema:
    """Return a schema that matches an operation with one of the given ops.

    It is used as the ``if`` of another schema. For example, if the op is
    ``eq``, the arguments must be the arguments of ``eq``.

    :param sign: the pattern of what may precede the op, e.g. the ``!`` of a
        negated condition.
    """
    op = form.text_matching(rf'\s*{sign}{form.match_names(names)}\s*')
    return {'properties': {'op': op}, 'required': ['op']}


def _describe_operation(
    shape: Schema, ops: Mapping[str, registry.Op], sign: str, **fields: Schema
) -> Schema:
    """Add to the schema of an operation what editors show and offer.

    :param shape: the schema that all operations of the kind share.
    :param ops: the ops that the operation may have.
    :param sign: the pattern of what may precede the op.
    :param fields: schemas that replace fields of the shape.
    """
    # Editors offer every "const" as a value. The pattern also accepts ops with
    # a sign or with spaces.
    offered = []
    for name, op in ops.items():
        if not name.startswith(_HIDDEN_PREFIX):
            offered.append({'const': name, 'description': _summarize(op)})
    op_text = form.text_matching(rf'\s*{sign}{form.match_names(ops)}\s*')
    fields['op'] = {'anyOf': [*offered, op_text]}
    fields['loop'] = {
        **shape['properties']['loop'],
        'allOf': [_refer_to('written'), {'pattern': _ONE_FIELD}],
    }
    properties = {}
    for name, field in {**shape['properties'], **fields}.items():
        properties[name] = {'description': DESCRIPTIONS[name], **field}
    return {**shape, 'properties': properties}


def _summarize(op: registry.Op) -> str:
    """Return the first paragraph of a plugin's docstring as plain text.

    The docstring "``eq``: all values are equal." becomes "All values are
    equal.".
    """
    docstring = (type(op.plugin).__doc__ or '').strip()
    paragraph, _blank, _rest = docstring.partition('\n\n')
    text = ' '.join(paragraph.split())
    # Remove the name of the op, because editors show it anyway.
    text = re.sub(r'^``[^`]+``:\s*', '', text)
    text = text.replace('``', '"')
    return text[:1].upper() + text[1:]


def _condition_schema(ops: Mapping[str, registry.Op], depth: int) -> Schema:
    """Return the schema of a condition at some depth of groups.

    Only a group may have conditions of its own. These have the schema of the
    next depth.

    :param ops: the ops that the condition may have. At the last depth they
        must not include groups.
    :param depth: the number of groups around the condition.
    """
    groups = [
        name
        for name, op in ops.items()
        if isinstance(op.plugin, plugin.ConditionGroup)
    ]
    parts: list[Schema] = [_refer_to('conditionArgs')]
    fields: dict[str, Schema] = {}
    if groups:
        fields['conditions'] = {}
        conditions = {
            **form.GROUP['properties']['conditions'],
            'items': _refer_to(_condition_name(depth + 1)),
        }
        of_group = {
            'required': form.GROUP['required'],
            'properties': {'args': False, 'conditions': conditions},
        }
        parts.append(
            {
                'if': _op_schema(groups, sign=_NEGATION),
                'then': of_group,
                'else': {'properties': {'conditions': False}},
            }
        )
    described = _describe_operation(
        form.CONDITION, ops, sign=_NEGATION, **fields
    )
    return {**described, 'allOf': parts}


class _Case(typing.NamedTuple):
    """Schemas of arguments that depend on the values of other arguments.

    For example, if ``path`` is ``/retired``, then ``value`` must be a boolean.

    :ivar where: schemas of the arguments that decide, e.g. ``path``, by name.
    :ivar then: schemas of the arguments that depend on them, by name.
    """

    where: Schema
    then: Schema

    def by_name(self) -> Schema:
        """Return the schema of the case for arguments in a mapping.

        The mapping ``{path: /retired, value: true}`` has the arguments by
        name.
        """
        return {
            'if': {'properties': self.where, 'required': [*self.where]},
            'then': {'properties': self.then},
        }

    def by_place(self, declared: Iterable[arguments.Argument]) -> Schema:
        """Return the schema of the case for arguments in a list.

        The list ``[/retired, true]`` has the arguments in the order of the op.

        :param declared: the arguments of the op, in their order.
        """
        names = [argument.name for argument in declared]
        return {
            'if': {'items': [self.where.get(name, True) for name in names]},
            'then': {'items': [self.then.get(name, True) for name in names]},
        }


def _find_cases(op: registry.Op) -> list[_Case]:
    """Return the cases of an op whose values depend on the path.

    For example, ``set-attribute`` declares a type for every attribute, so one
    case says that ``value`` and ``cleanup`` are booleans if ``path`` is
    ``/retired``.

    :returns: an empty list for most ops.
    :raises: :class:`.exceptions.PluginError` if the op fails when it declares
        its cases.
    """
    try:
        declared = op.cases()
    except exceptions.PluginFailed as exc:
        raise exceptions.PluginError(
            _('"%(op)s": %(error)s') % {'op': op.name, 'error': exc}
        ) from exc
    cases = []
    for path, value, cleanup in declared:
        where = {'path': {'type': 'string', 'pattern': path}}
        cases.append(_Case(where, {'value': value, 'cleanup': cleanup}))
    return cases


def _arguments_schema(op: registry.Op) -> Schema:
    """Return the schema of the arguments of an op that is not a group.

    The arguments are a mapping or a list. A list is deprecated for most ops.
    """
    declared = op.signature.arguments
    required = [argument.name for argument in declared if argument.required]
    cases = _find_cases(op)
    mapping: Schema = {
        'type': 'object',
        'additionalProperties': False,
        'required': required,
        'properties': {
            argument.name: _argument_schema(op, argument)
            for argument in declared
        },
    }
    if cases:
        mapping['allOf'] = [case.by_name() for case in cases]
    forms = [mapping, *_list_schemas(op, cases)]
    required_fields = ['args']
    # If no argument is required, "args" may be null or missing.
    if not required:
        forms.append(form.NULL)
        required_fields = []
    args = {'description': str(op.signature), 'anyOf': forms}
    return {'required': required_fields, 'properties': {'args': args}}


def _list_schemas(op: registry.Op, cases: list[_Case]) -> Iterator[Schema]:
    """Yield the schema of a list of arguments, if the op accepts a list.

    - An op with a required keyword-only argument accepts no list.
    - An op with any number of values, e.g. ``eq``, accepts a list of them.
    - Other ops accept their arguments in order, which is deprecated.

    :param cases: the cases of the op; see :func:`_find_cases`.
    """
    declared = op.signature.arguments
    needs_names = any(
        argument.required and argument.keyword_only for argument in declared
    )
    if needs_names:
        # A list has no place for a required argument that is keyword-only.
        return
    positional = [
        argument for argument in declared if not argument.keyword_only
    ]
    if positional and positional[0].variadic:
        yield _variadic_list_schema(op, positional[0])
        return
    listed: Schema = {
        'type': 'array',
        'maxItems': len(positional),
        'deprecated': True,
        'minItems': sum(argument.required for argument in positional),
    }
    if positional:
        listed['items'] = [
            _argument_schema(op, argument) for argument in positional
        ]
    if cases:
        listed['allOf'] = [case.by_place(positional) for case in cases]
    yield listed


def _variadic_list_schema(
    op: registry.Op, argument: arguments.Argument
) -> Schema:
    """Return the schema of a list whose items are the values of one argument.

    Both ``[a, b]`` and ``[[a, b]]`` have the values a and b.
    """
    listed: Schema = {
        'type': 'array',
        'minItems': 1,
        # This is a single inner list without values.
        'not': {'const': [[]]},
    }
    item_schemas = op.plugin.SCHEMAS.get(argument.name)
    if item_schemas is not None:
        items = {'items': form.any_of(*item_schemas, form.VARIES)}
        inner_list = {'type': 'array', **items}
        listed['anyOf'] = [items, {'maxItems': 1, 'items': inner_list}]
    return listed


def _revert_schema(op: registry.Op) -> Schema:
    """Return the schema of ``revert`` for actions with the given op.

    An action that cannot be undone must not set ``revert``. An action with a
    ``cleanup`` is always undone, so ``revert: false`` would contradict it. For
    other actions the schema is empty.
    """
    parts: list[Schema] = []
    if op.plugin.revert is None:
        revert = form.any_of(form.FALSE, form.NULL)
        parts.append({'properties': {'revert': revert}})
    names = [argument.name for argument in op.signature.arguments]
    if action.CLEANUP in names:
        is_given = {'not': form.NULL}
        by_name = {
            'type': 'object',
            'required': [action.CLEANUP],
            'properties': {action.CLEANUP: is_given},
        }
        index = names.index(action.CLEANUP)
        by_place = {
            'type': 'array',
            'minItems': index + 1,
            'items': [*[True] * index, is_given],
        }
        has_cleanup = {'args': {'anyOf': [by_name, by_place]}}
        revert = form.any_of(form.TRUE, form.NULL)
        parts.append(
            {
                'if': {'required': ['args'], 'properties': has_cleanup},
                'then': {'properties': {'revert': revert}},
            }
        )
    if not parts:
        return {}
    return {'allOf': parts}


def _argument_schema(op: registry.Op, argument: arguments.Argument) -> Schema:
    """Return the schema of one argument of an op, with a text for editors.

    - A literal argument may have any value, and its braces are not fields.
    - Any other argument may have fields, with known filters.
    - A regular expression may have braces that are not fields.
    - A path must not contain a negative index.
    """
    schema: Schema = {}
    # The value of a literal argument is used unchanged, so braces in it are
    # not fields.
    if argument.name not in op.plugin.LITERAL:
        schema = _template_schema(op, argument)
        # Braces in a regular expression are usually quantifiers, not fields.
        if argument.type is not pattern.Pattern:
            schema = {'allOf': [_refer_to('written')], **schema}
    if argument.type is data_path.Path:
        # Validation refuses a path such as "/extra/list/-1".
        schema['not'] = {'type': 'string', 'pattern': form.NEGATIVE_INDEX}
    if op.name.startswith(_HIDDEN_PREFIX):
        # Language servers accept the name, but do not complete it.
        schema['doNotSuggest'] = True
    description = DESCRIPTIONS.get(argument.name)
    if not description:
        return schema
    return {'description': description, **schema}


def _template_schema(op: registry.Op, argument: arguments.Argument) -> Schema:
    """Return the schema of an argument that may contain fields.

    The schema accepts the values that the op declares, or else the values of
    the argument's type. It also accepts any value with a field, because a
    field can have any value on a machine. If nothing is known about the type,
    the schema accepts everything.
    """
    declared = op.plugin.SCHEMAS.get(argument.name)
    if declared is not None and argument.variadic:
        # A field may stand for one value, as in ["{node.name}", a], or for all
        # values, as in "{node.extra.names}".
        return form.any_of(
            {'type': 'array', 'items': form.any_of(*declared, form.VARIES)},
            {'type': 'string', 'pattern': form.FIELD},
        )
    if declared is None and argument.type is pattern.Pattern:
        # Its braces are quantifiers, so any text is accepted.
        return {'type': 'string'}
    if declared is None and argument.type in arguments.TYPES:
        declared = arguments.TYPES[argument.type].schemas
    if declared is None:
        return {}
    schemas = [*declared]
    if not argument.required and form.NULL not in schemas:
        schemas.append(form.NULL)
    if argument.type in (list, typing.Any):
        # Any part of the value may contain a field.
        schemas.append(form.VARIES)
    else:
        schemas.append(form.VARIES_TEXT)
    return form.any_of(*schemas)
