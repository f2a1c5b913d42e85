# SPDX-License-Identifier: Apache-2.0

"""The data of a machine with its secrets, and the same without them."""

import typing

from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import tree

Mask = typing.Callable[[str, typing.Any], typing.Any]


class _MaskedRoots(dict[str, typing.Any]):
    """The data by root name, masked when it is first looked at."""

    def __init__(self, roots: dict[str, typing.Any], own: tree.Tree,
                 mask: Mask) -> None:
        super().__init__()
        self._roots = roots
        self._own = own
        self._mask = mask

    def __missing__(self, root: str) -> typing.Any:
        # What holds no secret is in both views from now on, and what is
        # masked once must stay as it is.
        self._own.release_all()
        masked = self[root] = self._mask(root, self._roots[root])
        return masked


class Views:
    """Both views of the data; what changes one of them changes the other.

    ``open`` and ``masked`` are the data by root name.

    :param roots: the data by root name; what is in it is never changed.
    :param mask: masks the data of a root, given its name and them.
    """

    def __init__(self, roots: dict[str, typing.Any], mask: Mask) -> None:
        self.open = roots
        self._own = tree.Tree()
        self._own_masked = tree.Tree()
        self.masked: dict[str, typing.Any] = _MaskedRoots(
            roots, self._own, mask)

    def release(self, value: typing.Any) -> None:
        """Let a value that was read stay as it is, whatever is written."""
        if value.__class__ in (dict, list):
            self._own.release(value)
            self._own_masked.release(value)

    def release_all(self) -> None:
        """Let all of the data stay as they are, whatever is written."""
        self._own.release_all()
        self._own_masked.release_all()

    def has_member(self, root: str, path: data_path.Path,
                   value: typing.Any) -> bool:
        """Tell whether the list at the path holds a value."""
        return self._own.has_member(self.open[root], path, value)

    def assign(self, root: str, path: data_path.Path,
               value: typing.Any) -> None:
        """Put a value at the path; see :meth:`.tree.Tree.assign`."""
        # It may be part of the data already, and then is in two places.
        self.release(value)
        self.open[root] = self._own.assign(self.open[root], path, value)
        if root in self.masked:
            self.masked[root] = self._own_masked.assign(
                self.masked[root], *masking.mask_along(path, value))

    def append(self, root: str, path: data_path.Path,
               value: typing.Any) -> None:
        """Append a value to the list at the path, which may be absent."""
        self.release(value)
        self.open[root] = self._own.append(self.open[root], path, value)
        if root not in self.masked:
            return
        where = masking.secret_along(path)
        if where is None:
            self.masked[root] = self._own_masked.append(
                self.masked[root], path, masking.mask(value))
        else:
            self.masked[root] = self._own_masked.assign(
                self.masked[root], where, masking.MASK)

    def remove(self, root: str, path: data_path.Path) -> None:
        """Remove what is at the path, which has to be there."""
        self.open[root] = self._own.remove(self.open[root], path)
        if root not in self.masked:
            return
        where = masking.secret_along(path)
        if where is None or where == path:
            self.masked[root] = self._own_masked.remove(
                self.masked[root], path)
        else:
            # What is left of the secret may be nothing.
            self.masked[root] = self._own_masked.assign(
                self.masked[root], where, masking.mask_at(
                    where[-1], data_path.get(self.open[root], where)))
