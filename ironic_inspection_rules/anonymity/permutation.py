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

"""Numbers that stand for other numbers, by a key.

Nothing is kept: whoever has the key gets the same replacement again, and no
two numbers of one range get the same one.
"""

import functools
import hashlib

_ROUNDS = 8
_CACHED = 65536


class Permutation:
    """Replaces numbers.

    :param key: secret; what differs in it gives other replacements.
    """

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.sha256(key).digest()
        self.number = functools.lru_cache(_CACHED)(self._number)
        self.with_prefix = functools.lru_cache(_CACHED)(self._with_prefix)

    def _number(self, value: int, size: int, domain: str = '') -> int:
        """Return another number of the same range.

        The numbers of a range make one circle in an order that only the key
        tells, and each is replaced by the next: none stays what it is.

        :param size: of the range from zero; where it is 1 nothing changes.
        :param domain: ranges of different names are permuted differently.
        """
        if size < 2:
            return value
        half = ((size - 1).bit_length() + 1) // 2
        tweak = f'{domain}:{size}'.encode()
        place = self._walk(value, size, half, tweak, range(_ROUNDS))
        return self._walk((place + 1) % size, size, half, tweak,
                          range(_ROUNDS - 1, -1, -1))

    def _with_prefix(self, value: int, width: int, kept: int) -> int:
        """Return another number; those that begin alike still do.

        As Crypto-PAn does for addresses: each bit is turned or not by what
        is before it. The last one is always turned, so that no number stays
        what it is.

        :param width: of the numbers, in bits.
        :param kept: how many of the first bits stay as they are.
        """
        result = value >> width - kept
        for place in range(kept, width):
            bit = value >> width - place - 1 & 1
            turn = 1 if place == width - 1 else self._random(
                b'prefix', value >> width - place, place << 8 | width, 1)
            result = result << 1 | bit ^ turn
        return result

    def _walk(self, value: int, size: int, half: int, tweak: bytes,
              rounds: range) -> int:
        """Permute until the result is inside of the range again."""
        mask = (1 << half) - 1
        forward = rounds.step > 0
        while True:
            left, right = value >> half, value & mask
            for number in rounds:
                if forward:
                    left, right = right, left ^ self._random(
                        tweak, right, number, half)
                else:
                    left, right = right ^ self._random(
                        tweak, left, number, half), left
            value = left << half | right
            if value < size:
                return value

    def _random(self, tweak: bytes, value: int, number: int,
                bits: int) -> int:
        length = (value.bit_length() + 7) // 8
        digest = hashlib.shake_256(b''.join((
            self._key, len(tweak).to_bytes(4), tweak, number.to_bytes(4),
            value.to_bytes(length)))).digest((bits + 7) // 8)
        return int.from_bytes(digest) & (1 << bits) - 1
