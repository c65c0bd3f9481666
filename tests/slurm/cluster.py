"""A real Slurm on one machine: a controller, a daemon for each node, and munge, all of its own.

Nothing of it is shared with another Slurm here: folder, ports, key and socket are new each time.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

PROGRAMS = ("slurmctld", "slurmd", "scontrol", "sbatch", "munged")
GPUS = 8
"""GPUs of each node."""
_PATIENCE = 30.0
"""Seconds that anything here may take before it counts as failed."""

_CONF = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/{priority}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
TopologyPlugin=topology/tree
GresTypes=gpu
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1
ReturnToService=2
SlurmdTimeout=0
MessageTimeout=3
KillWait=1
{nodes}
PartitionName=main Nodes=ALL Default=YES PriorityTier=10 MaxTime=INFINITE
PartitionName=urgent Nodes=ALL PriorityTier=100 MaxTime=1-00:00:00
PartitionName=idle Nodes=ALL PriorityTier=1 MaxTime=INFINITE
"""
_NODE = (
    "NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
    "CPUs=64 RealMemory=512000 Gres=gpu:h100:{gpus}"
)


def missing() -> str | None:
    """Say why no Slurm can run here; none: it can."""
    if os.geteuid() != 0:
        return "a Slurm of our own needs root"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            _device(Path(folder) / "gpu", 0)
        except OSError as error:
            return f"no device can be made here: {error}"
    return None


class Slurm:
    """A running Slurm of nodes ``n1``, ``n2``, ... that hang below leaves of a tree.

    Parameters
    ----------
    nodes, per_leaf
        How many nodes there are, and how many of them share a leaf switch.
    priority
        How priorities of jobs come about: ``basic``, by their order, or ``multifactor``.
    """

    def __init__(self, nodes: int = 8, per_leaf: int = 4, priority: str = "basic") -> None:
        self._priority = priority
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self.leaves = [self.nodes[first : first + per_leaf] for first in range(0, nodes, per_leaf)]
        self.name = self.folder.name.replace("_", "-").lower()
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._marker = str(self.folder).encode()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, *command: str) -> str:
        """Run a program that asks this Slurm; return what it prints, fail if it fails."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=_PATIENCE
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, name: str, *options: str, script: str = "exec sleep 3600") -> str:
        """Submit a batch job of some name; return its id."""
        words = ("sbatch", "--parsable", "--job-name", name, "--output=/dev/null", *options)
        return self.run(*words, "--chdir=/tmp", "--wrap", script).strip()

    def job(self, identity: str) -> dict[str, str]:
        """Return what ``scontrol show job`` says of a job, by field."""
        text = self.run("scontrol", "--oneliner", "show", "job", identity)
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def await_state(self, state: str, *identities: str) -> None:
        """Wait until all of these jobs are in this state."""

        def reached() -> bool:
            return all(self.job(each).get("JobState") == state for each in identities)

        self.wait(reached, lambda: f"{identities} to be {state}: {self.run('squeue')}")

    def wait(self, reached: Callable[[], bool], what: Callable[[], str]) -> None:
        """Wait until something holds; fail with words on what was waited for."""
        until = time.monotonic() + _PATIENCE
        while not reached():
            assert time.monotonic() < until, f"waited in vain for {what()}"
            time.sleep(0.1)

    def hosts(self, identity: str) -> list[str]:
        """Return the nodes that a job runs on."""
        text = self.job(identity)["NodeList"]
        return [] if text == "(null)" else self.run("scontrol", "show", "hostnames", text).split()

    def processes(self) -> list[int]:
        """Return the processes of this Slurm, jobs included: all that bear its folder."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            if int(folder.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                said = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                if self._marker in said:
                    found.append(int(folder.name))
        return sorted(found)

    def stop(self) -> None:
        """End everything, wait until it has gone, and remove the folder."""
        until = time.monotonic() + _PATIENCE
        for daemon in self._daemons:
            daemon.kill()  # nothing of it is to last
            daemon.wait()
        while left := self.processes():  # jobs outlive the daemons that started them
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            assert time.monotonic() < until, f"processes {left} do not end"
            time.sleep(0.1)
        shutil.rmtree(self.folder)

    def _start(self) -> None:
        self.folder.chmod(0o755)
        for name in ("state", "spool", "devices"):
            (self.folder / name).mkdir()
        ports = _free_ports(1 + len(self.nodes))
        lines = [
            _NODE.format(node=node, port=port, gpus=GPUS)
            for node, port in zip(self.nodes, ports[1:], strict=True)
        ]
        conf = _CONF.format(
            name=self.name,
            port=ports[0],
            folder=self.folder,
            nodes="\n".join(lines),
            priority=self._priority,
        )
        (self.folder / "slurm.conf").write_text(conf)
        for number in range(GPUS):
            _device(self.folder / "devices" / f"gpu{number}", number)
        files = f"{self.folder}/devices/gpu[0-{GPUS - 1}]"
        gres = f"NodeName={','.join(self.nodes)} Name=gpu Type=h100 File={files}\n"
        (self.folder / "gres.conf").write_text(gres)
        switches = [
            f"SwitchName=leaf{number} Nodes={','.join(nodes)}"
            for number, nodes in enumerate(self.leaves, 1)
        ]
        switches.append(f"SwitchName=spine Switches=leaf[1-{len(self.leaves)}]")
        (self.folder / "topology.conf").write_text("\n".join(switches) + "\n")
        self._start_munge()
        self.start_controller("-c")
        for node in self.nodes:
            self._daemon("slurmd", "-D", "-N", node, "-f", self.environment["SLURM_CONF"])
        self.wait(self._ready, lambda: f"nodes to be idle: {self._log()}")

    def start_controller(self, *options: str) -> None:
        """Start the controller; after ``scontrol shutdown slurmctld`` it goes on where it was."""
        self._daemons = [each for each in self._daemons if each.poll() is None]
        self._daemon("slurmctld", "-D", *options, "-f", self.environment["SLURM_CONF"])

    def _start_munge(self) -> None:
        """Munge refuses folders and keys of others: it runs as its user, with all its own."""
        user = pwd.getpwnam("munge")
        folder = self.folder / "munge"
        folder.mkdir(mode=0o755)
        key = folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for path in (key, folder):
            os.chown(path, user.pw_uid, user.pw_gid)
        words = ["munged", "--foreground", f"--socket={folder}/socket", f"--key-file={key}"]
        words += [f"--{name}-file={folder}/{name}" for name in ("pid", "log", "seed")]
        self._daemon(*words, user="munge")
        self.wait(lambda: (folder / "socket").exists(), lambda: f"munge: {self._log()}")

    def _daemon(self, *command: str, user: str | None = None) -> None:
        with (self.folder / "daemons.log").open("ab") as log:
            daemon = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        self._daemons.append(daemon)

    def _ready(self) -> bool:
        gone = [daemon.args for daemon in self._daemons if daemon.poll() is not None]
        assert not gone, f"ended: {gone}: {self._log()}"
        done = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%N %t", "--partition=main"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        return done.stdout.split() != [] and all(
            line.split()[1] == "idle" for line in done.stdout.splitlines()
        )

    def _log(self) -> str:
        files = [self.folder / "daemons.log", self.folder / "slurmctld.log"]
        return "\n".join(path.read_text()[-2000:] for path in files if path.exists())


def _device(path: Path, minor: int) -> None:
    """Make a character device; nobody opens it, Slurm only wants it to be there."""
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(195, minor))


def _free_ports(count: int) -> list[int]:
    """Ports below those that outgoing connections are given: daemons have yet to bind them."""
    found: list[int] = []
    candidates = random.SystemRandom().sample(range(10_000, 32_768), 20 * count)
    for port in candidates:
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("", port))
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError(f"only {len(found)} of {count} ports are free among {candidates}")
