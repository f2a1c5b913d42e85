# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Loops: the items that a condition or an action runs for, one by one."""

import contextlib
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

Items = typing.Callable[[template.Roots],
                        list[typing.Any] | template.Missing]


def compile_items(loop: typing.Any) -> Items:
    """Make a function that gives the items of a loop.

    :param loop: a list; a mapping, which is one item; or a string whose
        field evaluates to one of the two (spec 003 "Consistent arguments
        for conditions and actions"). Null is a loop without items.
    :returns: a function of the data by root name, which returns a list of
        items, or :class:`.template.Missing`.
    """
    compiled = template.compile_value(loop, lenient=True)
    if not isinstance(compiled, template.Template):
        items = _as_list(compiled)
        return lambda roots: items

    def evaluate(roots: template.Roots) -> (
            list[typing.Any] | template.Missing):
        value = compiled.render(roots)
        if isinstance(value, template.Missing):
            return value
        return _as_list(value)

    return evaluate


@contextlib.contextmanager
def forgetting_item(roots: dict[str, typing.Any]) -> typing.Iterator[None]:
    """Let no item be known after a loop, however it ends."""
    try:
        yield
    finally:
        roots.pop(interpolation.ITEM, None)


def problem(loop: typing.Any) -> str | None:
    """Tell what is wrong with a loop as it is written, if anything."""
    if loop is None or isinstance(loop, list | dict):
        return None
    if isinstance(loop, str) and interpolation.fields(loop):
        return None
    return _('a loop must be a list, a mapping or a replacement field')


def _as_list(value: typing.Any) -> list[typing.Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return value
    raise exceptions.OperationError(
        _('cannot loop over a value of type %s') % type(value).__name__)
