# SPDX-License-Identifier: Apache-2.0

"""The data that a page has in it."""

import json
import re
import typing


def read(page: str) -> typing.Any:
    """Return what the script of a page draws."""
    found = re.search(r'<script type="application/json" id="data">(.*?)'
                      '</script>', page, re.DOTALL)
    assert found, 'the page has no data'
    return json.loads(found[1])
