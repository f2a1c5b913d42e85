# SPDX-License-Identifier: Apache-2.0

"""The frame of all pages: one file, its security policy, time and names.

A page is one HTML file with JSON data, a script that draws them, and a style.
The parts of the script and of the style are the files in ``assets``. The
security policy of the page lets the browser run only this script, and load
nothing from anywhere.
"""

import base64
import datetime
import hashlib
import html
import importlib.resources
import json
import math
import os.path
import re
import typing

_ASSETS = importlib.resources.files(
    'ironic_inspection_rules.kit.report.pages'
).joinpath('assets')

_COMMON_ASSETS = (
    'shell.css',
    'shell.js',
    'table.css',
    'table.js',
    'finder.js',
    'page.js',
)

_MAX_NAMES = 3
"""Maximum number of files that a title names."""

_LONE_SURROGATE = re.compile('[\ud800-\udfff]')
"""Half of a character. JSON of a machine may contain it as an escape. It has
no encoding in UTF-8, so it cannot be written to a file."""

_UUID = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src '{script_hash}'; style-src '{style_hash}'; base-uri 'none'; \
form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page is drawn by a script.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def render(title: str, assets: typing.Iterable[str], data: typing.Any) -> str:
    """Return a page as HTML, including its scripts and styles.

    :param assets: the files in ``assets`` that only this page needs, in their
        order. The common assets of all pages precede them.
    :param data: plain JSON data, which the script draws.
    """
    names = (*_COMMON_ASSETS, *assets)
    style = _join_assets(names, '.css')
    script = _join_assets(names, '.js')
    json_text = dump_json(data, separators=(',', ':'))
    # Without "<", text of a machine cannot end the script element of the data.
    # JSON reads the escape as "<".
    escaped_json = json_text.replace('<', '\\u003c')
    return _PAGE.format(
        title=html.escape(title),
        style=style,
        script=script,
        # The browser accepts only a style and a script with these hashes, so
        # that text of a machine can never run as a script.
        style_hash=_policy_hash(style),
        script_hash=_policy_hash(script),
        data=escaped_json,
    )


def _join_assets(names: typing.Iterable[str], suffix: str) -> str:
    """Return the texts of all assets with a suffix as one text.

    :param names: the names of files in ``assets``, in their order.
    :param suffix: ``.css`` or ``.js``.
    """
    # The empty text makes the first asset begin on a new line.
    texts = ['']
    for name in names:
        if name.endswith(suffix):
            texts.append(_ASSETS.joinpath(name).read_text('utf-8'))
    return '\n'.join(texts)


def format_now() -> str:
    """Return the local time to the minute, as pages show it."""
    return datetime.datetime.now().strftime('%Y-%m-%d %H:%M')


def join_names(paths: typing.Sequence[str]) -> str:
    """Return the names of files for a title, without their folders.

    For example, ``a.yaml, b.yaml, c.yaml, 2 more`` for five files.
    """
    # normpath() removes a slash at the end of the path of a folder, after
    # which its name would be empty.
    names = [os.path.basename(os.path.normpath(path)) for path in paths]
    left_out = len(names) - _MAX_NAMES
    if left_out > 0:
        names = [*names[:_MAX_NAMES], f'{left_out} more']
    return ', '.join(names)


def with_rule_names(
    message: str, names: typing.Mapping[str, str | None]
) -> str:
    """Replace the UUIDs of rules in a message by their descriptions.

    Ironic names a rule by its UUID, with the description in parentheses. For
    example, ``Rule 5e1f… (Note the rack) failed`` becomes ``Rule “Note the
    rack” failed``. A rule without a description keeps its UUID.

    :param message: an error message of Ironic.
    :param names: descriptions of rules by UUID.
    """
    message_with_names = message
    for uuid in set(_UUID.findall(message)):
        name = names.get(uuid)
        if name:
            message_with_names = message_with_names.replace(
                f'{uuid} ({name})', f'“{name}”'
            )
    return message_with_names


def dump_json(value: typing.Any, **options: typing.Any) -> str:
    """Return a value as JSON text that a browser can read.

    Data of a machine may contain two things that a browser cannot read:

    - NaN and the infinities, which Python accepts in JSON, become text, e.g.
      ``"NaN"``.
    - Half of a character becomes an escape, e.g. ``\\ud800``.

    :param options: other options of :func:`json.dumps`.
    """
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, **options
        )
    except ValueError:
        # There is a NaN or an infinity. This is rare, and copying the value is
        # slow, so it is copied only in this case.
        value_with_text = _with_text_for_nan(value)
        text = json.dumps(value_with_text, ensure_ascii=False, **options)
    return _LONE_SURROGATE.sub(_escape_character, text)


def _escape_character(character: re.Match[str]) -> str:
    """Return a character as an escape of JSON: four hexadecimal digits."""
    return f'\\u{ord(character[0]):04x}'


def _with_text_for_nan(value: typing.Any) -> typing.Any:
    """Return a copy of a value with texts for NaN and the infinities.

    For example, ``{'load': nan}`` becomes ``{'load': 'NaN'}``. These numbers
    are not valid JSON, and a browser would refuse all of the data.
    """
    if isinstance(value, dict):
        return {key: _with_text_for_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_text_for_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


class DistinctValues:
    """A list of values without repetitions, numbered from 0."""

    def __init__(self) -> None:
        self._numbers: dict[typing.Hashable, int] = {}

    def number_of(self, value: typing.Hashable) -> int:
        """Return the number of a value. A new value is added to the list."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[typing.Any]:
        """All values, at the index that is their number."""
        return list(self._numbers)


def _policy_hash(text: str) -> str:
    """Return the hash by which the policy of the page allows a text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f'sha256-{base64.b64encode(digest).decode()}'
