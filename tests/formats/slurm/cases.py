"""Clusters drawn at random, as Slurm prints them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

HOSTS = [f"n{k:02}" for k in range(1, 7)]
FEATURES = ["ib", "roce", "big"]
GRES = ["gpu:h100:8", "gpu:8", "gpu:a100:4,gpu:h100:4", "gpu:h100:4,nic:2", "(null)"]
CONSTRAINTS = ["(null)", "ib", "ib&big", "ib|roce", "(ib|roce)&big", "[ib|roce]", "ib*2"]
ASKED = ["", "gres:gpu:2", "gres:gpu:h100:4", "gres:gpu:h100:1,gres:nic:1"]
STATES = ["IDLE", "MIXED", "ALLOCATED", "IDLE+DRAIN", "DOWN*", "DOWN+DRAIN", "IDLE+PLANNED"]
START = 1_788_000_000


def _pick(draw: Any, items: list[str]) -> str:
    return str(draw(st.sampled_from(items)))


def _node(draw: Any, name: str) -> str:
    features = ",".join(draw(st.lists(st.sampled_from(FEATURES), unique=True))) or "(null)"
    partitions = draw(st.lists(st.sampled_from(["main", "urgent"]), min_size=1, unique=True))
    return (
        f"NodeName={name} CoresPerSocket=1\n"
        f"   CPUTot=64 RealMemory={draw(st.sampled_from([256000, 512000]))}\n"
        f"   ActiveFeatures={features} Gres={_pick(draw, GRES)}\n"
        f"   State={_pick(draw, STATES)} ThreadsPerCore=1\n"
        f"   Partitions={','.join(partitions)}\n\n"
    )


def _common(draw: Any, head: str) -> list[str]:
    return [
        head,
        f"UserId={_pick(draw, ['alice(1)', 'bob(2)'])}",
        f"Priority={draw(st.integers(1, 40))} Account={_pick(draw, ['(null)', 'team'])} QOS=normal",
        f"Requeue={draw(st.integers(0, 1))} BatchFlag=1",
        f"SubmitTime={START + draw(st.integers(0, 500))}",
        f"TimeLimit={_pick(draw, ['', '05:00', '01:00:00', 'UNLIMITED'])}",
        f"Partition={_pick(draw, ['main', 'urgent', 'main,urgent'])}",
        f"Features={_pick(draw, CONSTRAINTS)}",
        f"OverSubscribe={_pick(draw, ['OK', 'OK', 'USER', 'NO'])} "
        f"Licenses={_pick(draw, ['(null)', '(null)', 'matlab:1'])}",
    ]


def _waiting(draw: Any, head: str) -> str:
    lines = _common(draw, head)
    nodes, cpus = draw(st.integers(1, 3)), draw(st.integers(1, 64))
    more = draw(st.integers(0, 2))
    if draw(st.booleans()):
        tasks = draw(st.integers(1, 4))
        lines.append(f"NumNodes=1 NumCPUs={cpus * tasks} NumTasks={tasks} CPUs/Task={cpus}")
        lines.append(f"MinMemoryCPU={draw(st.integers(100, 4000))}M")
        lines.append(f"TresPerTask={_pick(draw, ASKED)}")
    else:
        lines.append(f"NumNodes={nodes}-{nodes + more} NumCPUs={cpus * nodes} NumTasks={nodes}")
        lines.append(f"MinMemoryNode={draw(st.sampled_from(['0', '4G', '1500M']))}")
        lines.append(f"TRES=cpu={cpus * nodes},mem={draw(st.integers(1, 99))}G,node={nodes}")
        lines.append(f"TresPerNode={_pick(draw, ASKED)}")
        lines.append(f"Switches={_pick(draw, ['', '1@00:05:00', '1@00:00:01', '2@00:05:00'])}")
    required = draw(st.lists(st.sampled_from(HOSTS), max_size=2, unique=True))
    excluded = [
        host for host in draw(st.lists(st.sampled_from(HOSTS), max_size=2)) if host not in required
    ]
    lines.append(f"ReqNodeList={','.join(required)} ExcNodeList={','.join(excluded)}")
    lines.append(f"Prefer={_pick(draw, ['', 'ib', 'ib|(big&roce)'])}")
    lines.append(f"Reservation={_pick(draw, ['', '', 'held'])}")
    lines.append("JobState=PENDING Reason=Resources")
    return "\n   ".join(lines) + "\n\n"


def _running(draw: Any, head: str, nodes: list[str]) -> str:
    lines = _common(draw, head)
    hosts = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
    lines.append(f"NodeList={','.join(hosts)} NumNodes={len(hosts)} NumTasks={len(hosts)}")
    named = draw(st.lists(st.sampled_from(hosts), max_size=2, unique=True))
    lines.append(f"ReqNodeList={','.join(named)}")
    total = 0
    for host in hosts:
        cpus = draw(st.integers(1, 16))
        total += cpus
        gres = _pick(draw, ["", "gpu:1(IDX:0)", "gpu:h100:2(IDX:0-1)"])
        lines.append(f"  Nodes={host} CPU_IDs=0-{cpus - 1} Mem={1024 * cpus} GRES={gres}")
    lines.append(f"TRES=cpu={total},mem={total}G,node={len(hosts)} NumCPUs={total}")
    lines.append(f"TresPerNode={_pick(draw, ['', 'gres:gpu:1', 'gres:gpu:h100:2'])}")
    state = _pick(draw, ["RUNNING", "RUNNING", "COMPLETING"])
    lines.append(f"JobState={state} StartTime={START + draw(st.integers(500, 900))}")
    return "\n   ".join(lines) + "\n\n"


@st.composite
def clusters(draw: Any) -> str:
    """Draw text of ``scontrol show`` and topology.conf."""
    nodes = HOSTS[: draw(st.integers(2, 6))]
    text = "".join(_node(draw, name) for name in nodes)
    mode = _pick(draw, ["REQUEUE", "OFF", "CANCEL"])
    grace = draw(st.sampled_from([0, 30]))
    for name in ("main", "urgent"):
        tier = draw(st.integers(1, 3))
        text += f"PartitionName={name}\n   PriorityTier={tier} PreemptMode={mode} State=UP\n"
        text += f"   GraceTime={grace} MaxCPUsPerNode={_pick(draw, ['UNLIMITED', '16'])}\n\n"
    for number in range(1, draw(st.integers(1, 7)) + 1):
        kind = draw(st.integers(0, 3))
        head = f"JobId={number} JobName=run it"
        if kind == 2:
            head = f"JobId={number} ArrayJobId={number} ArrayTaskId={draw(st.integers(0, 9))}"
        if kind == 3:
            head = f"JobId={number} HetJobId={number} HetJobOffset=0"
        text += _running(draw, head, nodes) if draw(st.booleans()) else _waiting(draw, head)
    if draw(st.booleans()):
        users = _pick(draw, ["alice", "(null)"])
        flags = _pick(draw, ["MAGNETIC", "SPEC_NODES"])
        text += (
            f"ReservationName=held Nodes={nodes[0]} Users={users} Flags={flags} State=ACTIVE\n\n"
        )
    for name, ahead in (("soon", 500), ("late", 5000)):
        if draw(st.booleans()):
            begins = f"StartTime={START + 1000 + ahead} EndTime={START + 9000}"
            text += f"ReservationName={name} Nodes={draw(st.sampled_from(nodes))} {begins} "
            text += f"Users=alice Flags={_pick(draw, ['MAGNETIC', 'MAINT'])} State=INACTIVE\n\n"
    if draw(st.booleans()):
        text += f"SwitchName=s1 Nodes={','.join(nodes[:2])}\n"
        if nodes[2:]:
            text += f"SwitchName=s2 Nodes={','.join(nodes[2:])}\nSwitchName=top Switches=s[1-2]\n"
    if draw(st.booleans()):
        text += "Name|Priority|GrpTRES\nnormal|0|cpu=100,mem=10G,gres/gpu=8,gres/gpu:h100=4\n"
    kind = _pick(draw, ["partition_prio", "none"])
    return text + (
        f"Configuration data as of {START + 1000}\nClusterName = lab\n"
        f"PreemptMode = {mode}\nPreemptType = preempt/{kind}\nPreemptExemptTime = 00:01:00\n"
    )
