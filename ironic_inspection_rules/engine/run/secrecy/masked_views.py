# SPDX-License-Identifier: Apache-2.0

"""The data of a machine in two views: with secrets, and masked."""

import typing

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import views

Mask = typing.Callable[[typing.Any], typing.Any]
MaskOnce = typing.Callable[[str, typing.Any, Mask], typing.Any]


class _MaskedRoots(budget.View):
    """The data by root name; each root is masked when it is first read.

    :param roots: the data with secrets.
    :param tree: the tree of these data.
    :param mask_once: returns the masked data of a root, as
        :meth:`.views.Facts.mask_once`.
    """

    def __init__(
        self, roots: budget.View, tree: views.Tree, mask_once: MaskOnce
    ) -> None:
        super().__init__(budget=roots.budget)
        self._roots = roots
        self._tree = tree
        self._mask_once = mask_once

    def __missing__(self, root: str) -> typing.Any:
        # Containers without secrets are now in both views: neither tree may
        # change them in place any more.
        self._tree.release_all()
        masked = self._mask_once(root, self._roots[root], masking.mask)
        self[root] = masked
        return masked


class Views:
    """Both views of the data; changes are made to both.

    ``open`` and ``masked`` are the data by root name. A container without a
    secret in it is one object in both of them. Each view has a
    :class:`.views.Tree` of its own, which copies what it does not own before
    it changes it: so nothing that is changed in one of them shows in the other
    by itself. Whoever shares a value releases it from both trees first.

    :param roots: the data by root name; the values in it are never changed.
    :param mask_once: returns the masked data of a root, as
        :meth:`.views.Facts.mask_once`.
    """

    def __init__(self, roots: budget.View, mask_once: MaskOnce) -> None:
        self.open = roots
        self._tree = views.Tree()
        self._masked_tree = views.Tree()
        self.masked: budget.View = _MaskedRoots(roots, self._tree, mask_once)

    def release(self, value: typing.Any) -> None:
        """Share a value that was read: it is copied before it changes."""
        if value.__class__ in views.CONTAINERS:
            self._tree.release(value)
            self._masked_tree.release(value)

    def release_all(self) -> None:
        """Share all of the data: they are copied before they change."""
        self._tree.release_all()
        self._masked_tree.release_all()

    def has_member(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> bool:
        """Return whether the list at the path holds a value."""
        return self._tree.has_member(self.open[root], path, value)

    def assign(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Set the value at a path; see :meth:`.views.Tree.assign`."""
        # If it is part of the data already, it will be in two places.
        self.release(value)
        self.open[root] = self._tree.assign(self.open[root], path, value)
        # A root that was not read yet is masked with the value in it.
        if root in self.masked:
            masked_path, masked_value = masking.mask_along(path, value)
            self.masked[root] = self._masked_tree.assign(
                self.masked[root], masked_path, masked_value
            )

    def append(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Append a value to the list at the path, which may be absent."""
        self.release(value)
        self.open[root] = self._tree.append(self.open[root], path, value)
        if root not in self.masked:
            return
        secret = masking.find_secret_along(path)
        if secret is None:
            self.masked[root] = self._masked_tree.append(
                self.masked[root], path, masking.mask(value)
            )
        else:
            # The list is a secret, or in one, which is masked as a whole.
            self.masked[root] = self._masked_tree.assign(
                self.masked[root], secret, masking.MASK
            )

    def remove(self, root: str, path: data_path.Path) -> None:
        """Remove what is at the path, which has to be there."""
        self.open[root] = self._tree.remove(self.open[root], path)
        if root not in self.masked:
            return
        secret = masking.find_secret_along(path)
        if secret is None or secret == path:
            self.masked[root] = self._masked_tree.remove(
                self.masked[root], path
            )
            return
        # The rest of the secret may be empty, and is shown then.
        rest = data_path.get(self.open[root], secret)
        self.masked[root] = self._masked_tree.assign(
            self.masked[root], secret, masking.mask_at(secret[-1], rest)
        )
