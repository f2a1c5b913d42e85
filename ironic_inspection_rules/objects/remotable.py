# SPDX-License-Identifier: Apache-2.0

"""Methods that run in the conductor if the caller has no database.

An API may run without access to the database. A *remotable* method of one of
Ironic's versioned objects then runs in a conductor, over RPC.
"""

from collections.abc import Callable
from typing import Any
import warnings

from oslo_versionedobjects import base


def class_method(function: Callable[..., Any]) -> Any:
    """Decorate a function as a remotable class method of a versioned object.

    oslo.versionedobjects has two ways to do this: ``remotable_classmethod``,
    which is deprecated since 3.10, and ``classmethod(remotable(…))``, which
    works since 3.10. Ironic 35 brings 3.9, and Ironic 39 brings 3.12. All of
    these have ``remotable_classmethod``, so it is used as long as it exists.

    :param function: called with the class, the context and further arguments.
    """
    remotable_classmethod = getattr(base, 'remotable_classmethod', None)
    if remotable_classmethod is None:
        return classmethod(base.remotable(function))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)
        return remotable_classmethod(function)
