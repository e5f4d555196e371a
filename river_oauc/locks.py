"""Locks that are free in a forked process, whoever held them when it forked."""

from __future__ import annotations

import os
import threading
import weakref

_locks: weakref.WeakSet[threading.RLock] = weakref.WeakSet()

# What is being done is being done in this process: another object after a fork.
process = object()


def new_lock() -> threading.RLock:
    """Return a reentrant lock.

    If a process forks while another thread learns, the child has the model as it was in the middle
    of that step: usable, and perhaps without a part of that one example.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _begin_process() -> None:
    global process
    process = object()
    for lock in _locks:
        lock._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_process)
