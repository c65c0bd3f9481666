"""Cells of a sweep on a Ray cluster (https://docs.ray.io, tasks with retries)."""

from __future__ import annotations

import importlib.util
import logging
import socket
from functools import partial
from multiprocessing.connection import Connection

from kantopt.clock import Stop
from kantopt.errors import KantoptError, UsageError
from kantopt.simulate.sweep.cell import Result, run_cell
from kantopt.simulate.sweep.grid import Grid
from kantopt.simulate.sweep.local import Tell
from kantopt.worker import LONGEST, Worker

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
    Ray lives in a process of its own, whose end is the end of its cells: after the loss of a node
    Ray can crash while it is shut down (2.60: a segmentation fault), which costs no answer here.

    Raises
    ------
    UsageError
        If Ray is not installed.
    RayError
        If there is no such cluster, or it is lost.
    """
    if importlib.util.find_spec("ray") is None:
        raise UsageError(
            "--ray: found no Ray in this Python, expected it installed: pip install 'kantopt[ray]'"
        )
    _listens(address)
    found: dict[int, Result] = {}
    with Worker(partial(_drive, grid, address), quiet=True) as driver:
        while len(found) < len(grid.cells) and not stop.wished():
            if not driver.line.poll(_LOOK):
                continue
            try:
                told = driver.line.recv()
            except (EOFError, OSError):
                words = driver.ending()
                raise RayError(f"--ray {address}: the cluster was lost: {words}") from None
            if isinstance(told, str):
                raise RayError(f"--ray {address}: no cluster to connect to: {told}")
            number, found[number] = told
            tell(number, found[number])
    return found


def _drive(grid: Grid, address: str, line: Connection) -> None:
    """Run the cells on the cluster and send each as it is done; send why there is none."""
    import ray
    import ray.exceptions

    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError) as error:
        line.send(" ".join(str(error).split())[:LONGEST])
        return
    run = ray.remote(max_retries=RETRIES, num_cpus=1)(run_cell)
    shared = ray.put(grid)
    waiting = {run.remote(shared, cell): i for i, cell in enumerate(grid.cells)}
    while waiting:
        ready, _ = ray.wait(list(waiting))
        for reference in ready:
            number = waiting.pop(reference)
            try:
                line.send((number, ray.get(reference)))
            except ray.exceptions.RayError as error:
                words = " ".join(str(error).split())[:LONGEST]
                line.send((number, Result(reason=f"{type(error).__name__}: {words}")))


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
