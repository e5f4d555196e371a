"""Locks that are all held while the process forks, so that the child sees whole models."""

from __future__ import annotations

import os
import threading
import weakref

# Adding, discarding and copying are single operations of a set: they need no lock of their own.
_locks: set[weakref.ref[threading.RLock]] = set()
# The locks that are held during a fork. Two threads that fork do so one after the other.
_held: list[threading.RLock] = []
_forking = threading.RLock()


def new_lock() -> threading.RLock:
    """Return a reentrant lock that no other thread holds when the process forks."""
    lock = threading.RLock()
    _locks.add(weakref.ref(lock, _locks.discard))
    return lock


def _acquire_all() -> None:
    _forking.acquire()
    locks = [lock for reference in tuple(_locks) if (lock := reference()) is not None]
    # In the order in which merging takes two of them, so that no two threads wait for each other.
    for lock in sorted(locks, key=id):
        lock.acquire()
        _held.append(lock)


def _release_all() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_acquire_all, after_in_parent=_release_all, after_in_child=_release_all
    )
