# SPDX-License-Identifier: Apache-2.0

"""The attributes of nodes and ports that rules may change, and their values.

These are the attributes that a PATCH of Ironic's own API may change. A test
compares the two.

An attribute has a kind, e.g. "true or false", which converts the values of
rules, and a default, which it gets when it is set to null or removed. An
attribute without a default, e.g. ``driver``, cannot be removed. Only
attributes of the kind "a mapping", e.g. ``extra``, may contain other values:
``/driver`` leads to an attribute, and ``/extra/rack`` into one.
"""

import re
import typing

from oslo_utils import netutils
from oslo_utils import strutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import schema as engine_schema
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table_members
from ironic_inspection_rules.i18n import _

NAME_KIND = 'letters, digits, "-", ".", "_" and "~", and no UUID'
"""The kind of the name of a node."""

NODE_NAME = '[A-Za-z0-9._~-]+'
"""A pattern of text that consists of those characters."""

UUID_LIKE = '-*(?:[0-9A-Fa-f]-*){32}'
"""A pattern of text of those characters that Ironic recognizes as a UUID."""

TEXT_KINDS = ('a string', NAME_KIND)
"""The kinds that also accept numbers and have a maximum length."""


class Attribute(typing.NamedTuple):
    """An attribute of a node or a port that rules may change.

    :ivar kind: the kind of its values, e.g. ``a string``; one of
        :data:`KINDS`.
    :ivar default: its value after it was removed or set to null; ``...`` if it
        cannot be removed.
    :ivar longest: the maximum length of text.
    """

    kind: str
    default: typing.Any = None
    longest: int = 255

    @property
    def is_removable(self) -> bool:
        """Whether the attribute can be removed or set to null."""
        return self.default is not ...

    def read(self, value: typing.Any) -> typing.Any:
        """Convert a value to the attribute's kind; null gives its default.

        For example, a boolean attribute reads ``'yes'`` as True.

        :param value: a value of a rule.
        :raises: :class:`.exceptions.OperationError` if the value is of
            another kind, is too long, is null although the attribute cannot be
            removed, or is a text that the database cannot store.
        """
        if value is None:
            if not self.is_removable:
                raise exceptions.OperationError(_('cannot be removed'))
            return self.default
        try:
            converted = KINDS[self.kind].read(value)
        except (TypeError, ValueError) as exc:
            raise exceptions.OperationError(
                _('must be %s') % self.kind
            ) from exc
        if not isinstance(converted, str):
            return converted
        # Only texts have a maximum length.
        if len(converted) > self.longest:
            raise exceptions.OperationError(
                _('must not be longer than %d characters') % self.longest
            )
        if table_members.UNSTORABLE.search(converted):
            # The text has characters that its database column cannot store.
            # Texts in a mapping may have them, because JSON escapes them.
            raise exceptions.OperationError(engine_schema.UNSTORABLE)
        return converted


def _read_text(value: typing.Any) -> str:
    """Return text as it is, and a number as its text.

    :raises: TypeError for any other value.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    return str(value)


def _read_node_name(value: typing.Any) -> str:
    """Return a name that a node may have in Ironic.

    A UUID is not allowed, because it would look like the UUID of a node.

    :raises: TypeError or ValueError for any other value.
    """
    name = _read_text(value)
    if not re.fullmatch(NODE_NAME, name) or uuidutils.is_uuid_like(name):
        raise ValueError
    return name


def _read_truth(value: typing.Any) -> bool:
    """Read a boolean, including words such as "yes" and "off".

    :raises: TypeError or ValueError for any other value.
    """
    if not isinstance(value, bool | str):
        raise TypeError
    return bool(strutils.bool_from_string(value, strict=True))


def _read_mapping(value: typing.Any) -> dict[str, typing.Any]:
    """Return a mapping as it is.

    :raises: TypeError for any other value.
    """
    if not isinstance(value, dict):
        raise TypeError
    return value


def _read_uuid(value: typing.Any) -> str:
    """Return a UUID as it is written, which may be without dashes.

    :raises: ValueError for any other value.
    """
    if not isinstance(value, str) or not uuidutils.is_uuid_like(value):
        raise ValueError
    return value


def _read_mac(value: typing.Any) -> str:
    """Return a MAC address in lower case, as Ironic stores it.

    :raises: ValueError for any other value.
    """
    if not isinstance(value, str) or not netutils.is_valid_mac(value):
        raise ValueError
    return value.lower()


class AttributeKind(typing.NamedTuple):
    """A kind of values that an attribute may have, e.g. booleans.

    :ivar read: converts a value of a rule to this kind; raises TypeError or
        ValueError if it cannot.
    :ivar schemas: JSON schemas of the values that ``read`` accepts. Each
        accepted value matches at least one of them.
    """

    read: typing.Callable[[typing.Any], typing.Any]
    schemas: list[dict[str, typing.Any]]


_TRUTHS = rf'\s*(?:{engine_schema.TRUTHS}|{engine_schema.FALSEHOODS})\s*'
_MAC = '^[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}'

KINDS = {
    'a string': AttributeKind(_read_text, [{'type': ['string', 'number']}]),
    # The characters that RFC 3986 section 2.3 leaves unreserved.
    NAME_KIND: AttributeKind(
        _read_node_name,
        [
            {'type': 'number'},
            {
                **engine_schema.text_matching(NODE_NAME),
                'not': {'pattern': f'^{UUID_LIKE}{engine_schema.END}'},
            },
        ],
    ),
    'true or false': AttributeKind(
        _read_truth,
        [{'type': 'boolean'}, engine_schema.text_matching(_TRUTHS)],
    ),
    'a mapping': AttributeKind(_read_mapping, [{'type': 'object'}]),
    'a UUID': AttributeKind(
        _read_uuid, [{'type': 'string', 'pattern': engine_schema.UUID}]
    ),
    'a MAC address': AttributeKind(
        _read_mac, [{'type': 'string', 'pattern': _MAC}]
    ),
}
"""The kinds of values, by their names in messages."""

_TEXT = Attribute('a string')
_UUID = Attribute('a UUID')
_BOOLEAN = Attribute('true or false', default=False)
_MAPPING = Attribute('a mapping', default={})

NODE = {
    'automated_clean': Attribute('true or false'),
    'bios_interface': _TEXT,
    'boot_interface': _TEXT,
    'chassis_uuid': _UUID,
    'conductor_group': Attribute('a string', default=''),
    'console_interface': _TEXT,
    'deploy_interface': _TEXT,
    'description': Attribute('a string', longest=4096),
    'disable_power_off': _BOOLEAN,
    'driver': Attribute('a string', default=...),
    'driver_info': _MAPPING,
    'extra': _MAPPING,
    'firmware_interface': _TEXT,
    'inspect_interface': _TEXT,
    'instance_info': _MAPPING,
    'instance_name': _TEXT,
    'instance_uuid': _UUID,
    'lessee': _TEXT,
    'maintenance': _BOOLEAN,
    'management_interface': _TEXT,
    'name': Attribute(NAME_KIND),
    'network_data': _MAPPING,
    'network_interface': _TEXT,
    'owner': _TEXT,
    'parent_node': _UUID,
    'power_interface': _TEXT,
    'properties': _MAPPING,
    'protected': _BOOLEAN,
    'protected_reason': _TEXT,
    'raid_interface': _TEXT,
    'rescue_interface': _TEXT,
    'resource_class': Attribute('a string', longest=80),
    'retired': _BOOLEAN,
    'retired_reason': _TEXT,
    'shard': _TEXT,
    'storage_interface': _TEXT,
    'vendor_interface': _TEXT,
}

PORT = {
    'address': Attribute('a MAC address', default=...),
    'available_for_dynamic_portgroup': _BOOLEAN,
    'category': Attribute('a string', longest=80),
    'description': _TEXT,
    'extra': _MAPPING,
    'is_smartnic': _BOOLEAN,
    'local_link_connection': _MAPPING,
    'name': _TEXT,
    'physical_network': Attribute('a string', longest=64),
    'portgroup_uuid': _UUID,
    'pxe_enabled': Attribute('true or false', default=True),
    'vendor': Attribute('a string', longest=32),
}


CAPABILITIES = ('properties', 'capabilities')
"""The path of the text that contains all capabilities of a node."""


def path_schemas(
    table: typing.Mapping[str, Attribute], targets: typing.Iterable[str]
) -> dict[str, list[dict[str, typing.Any]]]:
    """Return the JSON schemas for the argument ``path`` of an action.

    They are part of the schema with which editors check rules.

    Every action accepts paths into the attributes that are mappings, and paths
    to some whole attributes. For example, if ``extra`` is the only mapping,
    and ``name`` the only target, the pattern matches ``/extra/a``, ``extra.a``
    and ``/name``, but not ``/driver``.

    :param table: the attributes by name, :data:`NODE` or :data:`PORT`.
    :param targets: the names of the attributes that the action accepts as a
        whole.
    :returns: ``{'path': [{'type': 'string', 'pattern': …}]}``.
    """
    # A pattern such as "(?:extra|properties)".
    mapping_names = engine_schema.match_names(
        name
        for name, attribute in table.items()
        if attribute.kind == 'a mapping'
    )
    patterns = [
        # A path into a mapping: "/extra/a" or "extra/a".
        rf'/?{mapping_names}/',
        # The older form "extra.a".
        rf'{mapping_names}\.[^/]*{engine_schema.END}',
    ]
    if targets:
        # A whole attribute: "/driver" or "driver".
        target_names = engine_schema.match_names(targets)
        patterns.append(rf'/?{target_names}{engine_schema.END}')
    # A first token with a replacement field, which may stand for any name.
    patterns.append(r'/?[^/]*\{')
    pattern = f'^(?:{"|".join(patterns)})'
    return {'path': [{'type': 'string', 'pattern': pattern}]}


def list_removable(table: typing.Mapping[str, Attribute]) -> list[str]:
    """Return the names of attributes that can be removed or set to null."""
    return [
        name for name, attribute in table.items() if attribute.is_removable
    ]


def list_cases(
    table: typing.Mapping[str, Attribute],
) -> typing.Iterator[tuple[str, dict[str, typing.Any], dict[str, typing.Any]]]:
    """Yield the JSON schemas of the values of all attributes.

    In the schema for editors, the path of an action decides which value is
    valid beside it.

    Attributes with the same schemas are combined. For example, all attributes
    that are mappings and may be removed give this triple, where ``VARIES``
    matches a value with replacement fields::

        ('^/?(?:extra|properties)…',
         {'anyOf': [{'type': 'object'}, VARIES, NULL]},
         {'anyOf': [{'type': 'object'}, VARIES, NULL]})

    :param table: the attributes by name, :data:`NODE` or :data:`PORT`.
    :returns: triples of a pattern for the path, the JSON schema of the value,
        and the JSON schema of the cleanup value.
    """
    # Combine attributes that differ only in their default.
    names_by_form: dict[tuple[str, int, bool], list[str]] = {}
    for name, attribute in table.items():
        form = (attribute.kind, attribute.longest, attribute.is_removable)
        names_by_form.setdefault(form, []).append(name)
    for (kind, longest, is_removable), names in names_by_form.items():
        schemas = _list_schemas(kind, longest)
        schema = engine_schema.any_of(*schemas)
        schema_or_null = engine_schema.any_of(*schemas, engine_schema.NULL)
        pattern = f'^/?{engine_schema.match_names(names)}{engine_schema.END}'
        # The cleanup value may always be null, which means that there is none.
        if is_removable:
            # Null as the value removes the attribute.
            yield pattern, schema_or_null, schema_or_null
        else:
            yield pattern, schema, schema_or_null


def _list_schemas(kind: str, longest: int) -> list[dict[str, typing.Any]]:
    """Return JSON schemas, one of which a value of a kind must match.

    :param longest: the maximum length of the value, if it is text.
    """
    schemas = []
    for schema_of_kind in KINDS[kind].schemas:
        if kind in TEXT_KINDS:
            schemas.append({**schema_of_kind, 'maxLength': longest})
        else:
            schemas.append(schema_of_kind)
    # A value with a replacement field may become any value.
    return [*schemas, engine_schema.VARIES]


def check_path(
    path: data_path.Path, table: typing.Mapping[str, Attribute]
) -> None:
    """Check that a path leads to or into one of the attributes.

    ``('driver',)`` and ``('extra', 'a')`` are accepted. ``('driver', 'a')`` is
    rejected because the driver is not a mapping, and ``('diver',)`` because
    there is no such attribute.

    :param path: the tokens of the path.
    :param table: the attributes by name, :data:`NODE` or :data:`PORT`.
    :raises: :class:`.exceptions.OperationError` if the path is rejected.
    """
    name = path[0]
    attribute = table.get(name)
    if attribute is None:
        text = _('attribute "%s" does not exist or may not be changed') % (
            suggestion.shorten(name)
        )
        similar_name = suggestion.find_nearest(name, table)
        if similar_name:
            text += _('; did you mean "%s"?') % similar_name
        raise exceptions.OperationError(text)
    leads_into_attribute = len(path) > 1
    if leads_into_attribute and attribute.kind != 'a mapping':
        raise exceptions.OperationError(
            _('attribute "%s" is not a mapping') % name
        )


def read_value(
    path: data_path.Path,
    value: typing.Any,
    table: typing.Mapping[str, Attribute],
) -> typing.Any:
    """Convert a value to the kind of the attribute at a path.

    For ``('retired',)``, "yes" becomes True, and null becomes False, the
    default. A value inside an attribute, e.g. at ``('extra', 'a')``, may be of
    any kind and is not changed.

    :param path: the tokens of a path that :func:`check_path` accepts.
    :param value: a value of a rule.
    :param table: the attributes by name, :data:`NODE` or :data:`PORT`.
    :raises: :class:`.exceptions.OperationError` if the attribute cannot have
        the value.
    """
    is_inside_attribute = len(path) > 1
    if is_inside_attribute:
        return value
    name = path[0]
    try:
        return table[name].read(value)
    except exceptions.OperationError as exc:
        raise exceptions.OperationError(
            _('attribute "%(name)s" %(problem)s')
            % {'name': name, 'problem': exc}
        ) from exc


def value_afterwards(
    path: typing.Any,
    value: typing.Any,
    table: typing.Mapping[str, Attribute],
) -> typing.Any:
    """Return the value that a path has after an action.

    * A whole attribute has the converted value, or its default after a
      removal. For example, ``/retired`` is True after "yes" was written to it,
      and False after it was removed.
    * Inside an attribute, a value stays as it was written.
    * If the path or the value has replacement fields, or is invalid, the
      written value is returned unchanged.

    :param path: the path as the rule has it, which may be of any type.
    :param value: the written value; :data:`.path.ABSENT` for a removal.
    :param table: the attributes of nodes or of ports, by name.
    :returns: the value, or :data:`.path.ABSENT` if no value is left.
    """
    if not isinstance(path, str) or interpolation.fields([path, value]):
        return value
    try:
        tokens = data_path.parse(path)
        is_inside_attribute = len(tokens) > 1
        if is_inside_attribute:
            return value
        check_path(tokens, table)
        if value is data_path.ABSENT:
            # Reading null gives the default.
            return read_value(tokens, None, table)
        return read_value(tokens, value, table)
    except exceptions.OperationError:
        # The validation of the rule reports the error.
        return value


def check_capabilities(path: data_path.Path, value: typing.Any) -> None:
    """Check that ``properties/capabilities`` is still text after a write.

    Ironic reads the capabilities as text, so otherwise every later inspection
    would fail. The cases are:

    * A write to ``/properties/capabilities`` must write text or null.
    * In a mapping that is written to ``/properties``, the capabilities must be
      text, null or absent.
    * A write below ``/properties/capabilities`` is rejected, because it would
      turn the text into a mapping.
    * Any other write is accepted.

    :param path: the path of the value below the node.
    :param value: the value to be written.
    :raises: :class:`.exceptions.OperationError` if the write is rejected.
    """
    if path[0] != CAPABILITIES[0]:
        # Most paths lead to another attribute, so check this first.
        return
    if not data_path.overlap(path, CAPABILITIES):
        return
    is_below_capabilities = len(path) > len(CAPABILITIES)
    if not is_below_capabilities:
        # The value is the capabilities themselves, or a mapping with them.
        path_in_value = CAPABILITIES[len(path) :]
        capabilities = data_path.get(value, path_in_value)
        is_nothing = capabilities is None or capabilities is data_path.ABSENT
        if is_nothing or isinstance(capabilities, str):
            return
    raise exceptions.OperationError(
        _(
            'properties/capabilities is one text, "name:value,…", and would '
            'be none; use set-capability'
        )
    )
