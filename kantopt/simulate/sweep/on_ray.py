"""Cells of a sweep on a Ray cluster (https://docs.ray.io, tasks with retries)."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
from collections.abc import Iterator
from types import ModuleType

from kantopt.clock import Stop
from kantopt.errors import KantoptError, UsageError
from kantopt.simulate.sweep.cell import Result, run_cell
from kantopt.simulate.sweep.grid import Cell, Grid
from kantopt.simulate.sweep.local import Tell

RETRIES = 5
"""Times that Ray runs a cell again whose process or node is gone."""
_LOOK = 0.2
"""Seconds between two looks whether somebody wishes to stop."""
_PATIENCE = 5.0
"""Seconds to wait for the cluster's first word."""


class RayError(KantoptError):
    """The Ray cluster cannot be used."""

    exit_code = 69


def run_on_ray(grid: Grid, address: str, stop: Stop, tell: Tell) -> dict[int, Result]:
    """Run all cells on a Ray cluster; return what is done when told to stop.

    A cell whose node goes is run again on another. kantopt must be installed there as it is here.

    Raises
    ------
    UsageError
        If Ray is not installed.
    RayError
        If there is no such cluster, or it is lost.
    """
    ray = _imported()
    found: dict[int, Result] = {}
    with _connected(ray, address):
        run = ray.remote(max_retries=RETRIES, num_cpus=1)(_run)
        shared = ray.put(grid)
        waiting = {run.remote(shared, cell): i for i, cell in enumerate(grid.cells)}
        while waiting and not stop.wished():
            ready, _ = ray.wait(list(waiting), timeout=_LOOK)
            for reference in ready:
                number = waiting.pop(reference)
                try:
                    found[number] = ray.get(reference)
                except ray.exceptions.RayError as error:
                    words = " ".join(str(error).split())[:200]
                    found[number] = Result(reason=f"{type(error).__name__}: {words}")
                tell(number, found[number])
        for reference in waiting:
            ray.cancel(reference, force=True)
    return found


def _run(grid: Grid, cell: Cell) -> Result:
    return run_cell(grid, cell)


def _imported() -> ModuleType:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise UsageError(
            "--ray: found no Ray in this Python, expected it installed: pip install 'kantopt[ray]'"
        ) from None
    return ray


@contextlib.contextmanager
def _connected(ray: ModuleType, address: str) -> Iterator[None]:
    """Connect to a cluster for a time.

    What to do on a signal stays as it was, and what Ray prints meanwhile, of nodes that are gone
    for example, does not reach standard output: that is for the answer.
    """
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        _connect(ray, address)
        try:
            yield
        finally:
            ray.shutdown()


def _listens(address: str) -> None:
    """Fail at once where nobody listens: Ray itself would wait for minutes."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if not (separator and port.isascii() and port.isdigit()):
        return  # ``auto``: Ray looks for a cluster on this machine, and says soon if there is none
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise RayError(f"--ray {address}: no cluster to connect to: {reason}") from None


def _connect(ray: ModuleType, address: str) -> None:
    _listens(address)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError) as error:
        words = " ".join(str(error).split())[:200]
        raise RayError(f"--ray {address}: no cluster to connect to: {words}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
