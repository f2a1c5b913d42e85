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

"""Text that every database can store."""

import re

_UNSTORABLE = re.compile('[\0\ud800-\udfff\U00010000-\U0010ffff]')
"""What the text columns of some databases refuse."""


_MOST_BYTES = 65535
"""What a column of type TEXT holds in MySQL."""

_CUT = ' … (cut)'


def storable(text: str) -> str:
    """Replace each character that some database refuses; cut what is long."""
    text = _UNSTORABLE.sub('\N{REPLACEMENT CHARACTER}', text)
    encoded = text.encode()
    if len(encoded) <= _MOST_BYTES:
        return text
    return encoded[:_MOST_BYTES - len(_CUT.encode())].decode(
        errors='ignore') + _CUT
