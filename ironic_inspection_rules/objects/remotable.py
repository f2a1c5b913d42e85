# SPDX-License-Identifier: Apache-2.0

"""Methods that run in the conductor if the caller has no database."""

from collections.abc import Callable
from typing import Any
import warnings

from oslo_versionedobjects import base


def class_method(function: Callable[..., Any]) -> Any:
    """Make a function a remotable method of a versioned object's class.

    :param function: called with the class, the context and further arguments.
    """
    # In oslo.versionedobjects 3.9 of Ironic 35, only "remotable_classmethod"
    # can decorate a method of a class. In 3.10 to 3.12 of Ironic 36 to 39,
    # "remotable" can do so too, and the other decorator is deprecated. The
    # deprecated one is used until it is removed, because all of these have it.
    decorate = getattr(base, 'remotable_classmethod', None)
    if decorate is None:
        return classmethod(base.remotable(function))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)
        return decorate(function)
