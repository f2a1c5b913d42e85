# SPDX-License-Identifier: Apache-2.0

"""Actions of stock Ironic as actions that do the same here."""

import typing

from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.authoring.conversion import field
from ironic_inspection_rules.authoring.conversion import rule
from ironic_inspection_rules.authoring.conversion import stock_condition
from ironic_inspection_rules.authoring.conversion import stock_text
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import stock_form

Operation = dict[str, typing.Any]
Text = stock_text.Text

_LEVELS = frozenset({'debug', 'info', 'warning', 'error', 'critical'})


def by_name(op: str, args: typing.Any) -> Operation:
    """Return the arguments of an action by name.

    The data that stock Ironic puts among them are left out.
    """
    named = stock_form.by_name(args, stock_form.ACTIONS[op])
    named.pop('plugin_data', None)
    return named


def is_formatted(op: str, name: str) -> bool:
    """Return whether stock Ironic fills in an argument outside of loops."""
    return name == {'log': 'msg', 'api-call': 'url'}.get(op, 'value')


def convert(op: str, args: Operation, there: set[str],
            notes: rule.Notes) -> Operation | None:
    """Convert one action, or one turn of its loop.

    :param args: by name, with :class:`.stock_text.Text` for what stock
        Ironic formats.
    :param there: fields that exist where the conditions hold.
    :returns: None where stock Ironic does nothing.
    :raises: :class:`.stock_condition.Fails` where it fails the inspection.
    :raises: :class:`.field.Inconvertible`.
    """
    if op == 'unset-plugin-data':
        notes.hint(_('stock Ironic never unsets plugin data: the action is '
                     'left out'))
        return None
    written = stock_text.write(
        args, lambda text: _write(text, there, notes))
    if 'unique' in written:
        written['unique'] = bool(args['unique'])
    if op.endswith('plugin-data'):
        path = args['path']
        written['path'] = field.escape(data_path.pointer(map(
            _text, path if isinstance(path, list)
            else _text(path).split('.'))))
    elif 'path' in args:
        text = _text(args['path'])
        tokens = (text.strip('/').split('/') if '/' in text
                  else text.split('.'))
        written['path'] = field.escape(data_path.pointer(tokens))
        if not op.endswith('port-attribute'):
            _check_attribute(op, tokens, notes)
    if op.startswith('extend-'):
        notes.hint(_('where something else than a list is there, such as '
                     'null, the two differ: in plugin data stock Ironic '
                     'takes what is empty for a list, in an attribute it '
                     'fails the inspection'))
    if op == 'set-capability':
        if not isinstance(args['value'], str | Text):
            raise stock_condition.Fails(
                _('the value of a capability must be text'))
        notes.hint(_('where the node has the capability, stock Ironic adds '
                     'it a second time; here it is replaced'))
    if op == 'log' and str(written.get('level', 'info')).lower() not in (
            _LEVELS):
        raise stock_condition.Fails(
            _('there is no level "%s"') % written['level'])
    if op == 'fail' and not isinstance(args['msg'], Text):
        written['msg'] = field.escape(str(args['msg']))
    if op.endswith('-port-attribute'):
        notes.hint(_('stock Ironic knows a port by its UUID only'))
    return {'op': op, 'args': written}


def _check_attribute(op: str, tokens: list[str], notes: rule.Notes) -> None:
    if tokens[0] not in schema.NODE:
        raise field.Inconvertible(
            _('the attribute "%s" of a node cannot be changed by a rule')
            % tokens[0])
    if op == 'del-attribute' and len(tokens) == 1:
        notes.lose(_('stock Ironic does not save this; here "%s" becomes '
                     'its default') % tokens[0])
    elif op == 'del-attribute':
        notes.hint(_('stock Ironic fails the inspection where there is '
                     'nothing to delete; here that is fine'))
    if tokens == ['driver']:
        notes.hint(_('here interfaces that the new driver lacks become its '
                     'defaults; stock Ironic leaves them'))


def _text(value: typing.Any) -> str:
    if isinstance(value, Text):
        if value.fields:
            raise field.Inconvertible(
                _('data of a machine cannot become a path as a whole'))
        return value.literal
    if not isinstance(value, str) or not value.strip('/.'):
        raise stock_condition.Fails(_('there is no path'))
    return value


def _write(text: Text, there: set[str], notes: rule.Notes) -> str:
    for remark in text.remarks:
        notes.hint(remark)
    for name in text.secrets:
        notes.lose(_('{%s} is hidden here where secrets are masked, and '
                     'cannot be written') % name)
    if there.issuperset(text.uncertain):
        return text.filled
    otherwise = text.or_else()
    if otherwise is None:
        notes.lose(_('where a field of "%s" is missing, stock Ironic takes '
                     'the text as it is written; here the inspection fails')
                   % text.literal)
        return text.filled
    return otherwise
