"""The shape of the house: imports go one way, files stay small, names run through all layers."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from kantopt.schema.model import Metric, Rule
from kantopt.schema.rule_kinds import STATE_RULES
from kantopt.search.explain.puzzle import DISPENSABLE
from kantopt.verify.replay import ON_THE_WAY

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kantopt"
MAY_IMPORT = {
    "schema": set(),
    "formats": {"schema"},
    "report": {"schema"},
    "render": {"schema"},
    "problem": {"schema"},
    "verify": {"schema", "problem"},
    "cp": {"schema", "problem", "verify"},
    "search": {"schema", "problem", "verify", "cp"},
    "planning": {"schema", "formats", "problem", "verify", "cp", "search"},
    "simulate": {"schema", "problem", "verify", "search", "planning"},
    "api": {"schema", "report", "planning"},
    "cli": {
        "schema",
        "formats",
        "report",
        "render",
        "problem",
        "verify",
        "cp",
        "search",
        "planning",
        "simulate",
    },
}
ANYWHERE = {
    "kantopt.errors",
    "kantopt.budget",
    "kantopt.clock",
    "kantopt.memory",
    "kantopt.processor",
    "kantopt.shares",
    "kantopt.worker",
    "kantopt.version",
}
OUTSIDE = {"kantopt", "kantopt.__main__"}
"""Nobody inside imports these."""
VICTIMS = ROOT / "instances" / "golden" / "victims-on-one-node.yaml"
HEAVY = {"numpy", "ortools", "networkx"}
MODULES = sorted(PACKAGE.rglob("*.py"))
SOURCES = sorted(
    path for folder in ("kantopt", "scripts", "tests") for path in (ROOT / folder).rglob("*.py")
)


def name_of(path: Path) -> str:
    """Dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


NESTED = ("body", "orelse", "handlers", "finalbody", "cases")
"""Where statements lie in statements: nothing else can import."""


@cache
def imported(path: Path, *, at_load: bool = False, typed: bool = True) -> frozenset[str]:
    """Modules that a module imports.

    ``at_load``: only what runs when it is imported itself. ``typed``: also what only types need.
    """
    found = set[str]()
    todo: list[ast.AST] = [tree_of(path)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
            found |= {name if is_module(name) else module for name in names}
        elif (
            isinstance(node, ast.If)
            and "TYPE_CHECKING" in ast.dump(node.test)
            and (at_load or not typed)
        ):
            todo.extend(node.orelse)
        elif not (at_load and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            todo.extend(part for field in NESTED for part in getattr(node, field, ()))
    return frozenset(found)


@cache
def path_of(module: str) -> Path | None:
    """File of one of our modules."""
    place = ROOT.joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def is_module(module: str) -> bool:
    return module.split(".")[0] == "kantopt" and path_of(module) is not None


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


# A test of each file would be thousands, which each process that runs tests lists: what is wrong
# names its file.
def test_imports_go_one_way() -> None:
    names = {name_of(path): path for path in MODULES}
    layered = {name for name in names if layer_of(name) in MAY_IMPORT}
    assert names.keys() - layered <= ANYWHERE | OUTSIDE, "a module outside all layers"
    assert not [
        f"{name} imports {module}"
        for name in sorted(layered)
        for module in imported(names[name])
        if module.split(".")[0] == "kantopt" and module not in ANYWHERE
        if layer_of(module) not in MAY_IMPORT[layer_of(name)] | {layer_of(name)}
    ]


def test_the_package_needs_nothing_that_only_a_checkout_has() -> None:
    loaded = {module.split(".")[0] for path in MODULES for module in imported(path)}
    assert not loaded & {"scripts", "tests"}


def test_benchmarks_ask_as_users_do_and_not_the_encoding() -> None:
    paths = (ROOT / "scripts" / "bench").rglob("*.py")
    asked = {module for path in paths for module in imported(path)}
    assert "kantopt.planning.question" in asked
    assert not [module for module in asked if module.startswith(("kantopt.cp", "ortools"))]


def test_the_judge_knows_nothing_of_the_solver() -> None:
    seen = reachable("kantopt.verify.rules", "kantopt.verify.metrics", "kantopt.verify.replay")
    assert not [module for module in seen if module.startswith(("kantopt.cp", "ortools"))]


PROVERS = ("kantopt.cp", "kantopt.search", "ortools")


def test_the_checker_of_certificates_knows_nothing_of_who_proves() -> None:
    seen = reachable("kantopt.planning.certificates.check", at_load=False)
    assert "kantopt.verify.witness.check" in seen
    assert not [module for module in seen if module.startswith(PROVERS)]


def test_no_prover_is_loaded_while_a_certificate_is_checked(tmp_path: Path) -> None:
    certificate, question = str(tmp_path / "certificate.json"), str(VICTIMS)
    asked = ["certify", question, "--time-limit", "10s", "-O", certificate]
    code = f"""
import sys
from kantopt.cli.endings import run
assert run({asked}) in (0, 10, 11) if "certify" in sys.argv else run(
    ["verify", "--certificate", {certificate!r}, {question!r}]
) == 0
print(*sys.modules)
"""
    made, checked = (
        subprocess.run(
            [sys.executable, "-c", code, command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()[-1]
        for command in ("certify", "verify")
    )
    assert [module for module in made.split() if module.startswith(PROVERS)]
    assert not [module for module in checked.split() if module.startswith(PROVERS)]


FOLDERS = [name_of(path.parent) for path in MODULES if path.name == "__init__.py"]


def entry_of(module: str, folder: str) -> str | None:
    """What of a folder a module is or lies in: a file, a folder, or what the folder itself says."""
    if module == folder or not module.startswith(f"{folder}."):
        return folder if module == folder else None
    return ".".join(module.split(".")[: folder.count(".") + 2])


def circle(uses: Mapping[str, Collection[str]], folder: str) -> list[str]:
    """Find entries of a folder each of which uses the next, the last one the first."""
    graph: dict[str, set[str]] = {}
    for module, others in uses.items():
        for other in others:
            a, b = entry_of(module, folder), entry_of(other, folder)
            if a is not None and b is not None and a != b:
                graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []


@cache
def uses() -> dict[str, set[str]]:
    """Which of our modules each imports, anywhere but for types."""
    return {
        name_of(path): {module for module in imported(path, typed=False) if is_module(module)}
        for path in MODULES
    }


def test_a_circle_is_found_between_files_folders_and_through_functions() -> None:
    assert not circle({"a.b.x": {"a.c.y"}, "a.c.y": {"a.b.z"}}, "a.b")
    assert circle({"a.b.x": {"a.c.y"}, "a.c.y": {"a.b.z"}}, "a") == ["a.b", "a.c", "a.b"]
    assert circle({"a.x": {"a.y"}, "a.y": {"a"}, "a": {"a.x"}}, "a")
    assert "kantopt.problem.difference" in uses()["kantopt.planning.certificates.judged"]
    assert "kantopt.verify.witness.domains" in uses()["kantopt.verify.witness.check"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_files_or_folders_import_each_other_in_a_circle(folder: str) -> None:
    assert not circle(uses(), folder)


def test_only_cp_imports_the_solver() -> None:
    importing = [
        name_of(path)
        for path in MODULES
        if any(module.startswith("ortools") for module in imported(path))
    ]
    assert {layer_of(name) for name in importing} == {"cp"}, importing


def test_numpy_is_loaded_by_the_search_only() -> None:
    """And by what uses its state: simulations, and certificates of contents, changes, domains."""
    tables = ("kantopt.verify.slots.", "kantopt.verify.changes.", "kantopt.verify.witness.domains")
    loading = [
        name_of(path)
        for path in MODULES
        if {module.split(".")[0] for module in imported(path, at_load=True)} & {"numpy", "networkx"}
    ]
    assert loading
    assert not [
        name
        for name in loading
        if layer_of(name) not in ("search", "simulate") and not name.startswith(tables)
    ]


def reachable(*starts: str, at_load: bool = True) -> set[str]:
    """Modules that are loaded when some of ours are imported, ours and others' alike.

    ``at_load=False``: or that any function in them may load.
    """
    seen: set[str] = set()
    todo = [module for module in starts if is_module(module)]
    while todo:
        module = todo.pop()
        if module in seen:
            continue
        seen.add(module)
        path = path_of(module) if is_module(module) else None
        if path is not None:
            todo.extend(imported(path, at_load=at_load, typed=False))
            # Importing a.b.c runs a and a.b first.
            todo.extend(module.rsplit(".", k)[0] for k in range(1, module.count(".") + 1))
    return seen


def test_the_command_line_loads_nothing_heavy_before_it_knows_the_command() -> None:
    starts = ["kantopt.__main__", *(name_of(path) for path in (PACKAGE / "cli").rglob("*.py"))]
    loaded = {module.split(".")[0] for module in reachable(*starts)}
    assert not loaded & (HEAVY | {"pydantic"})


def test_files_stay_small() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    full = {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > 400}
    assert not full, f"move a part that bears a name of its own into a file of its own: {full}"


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """Functions at the top of a module, by name."""
    assert path.is_file(), f"{path.relative_to(ROOT)} is missing"
    return {node.name: node for node in tree_of(path).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("rule", list(Rule))
def test_each_rule_is_judged_and_encoded_under_its_name(rule: Rule) -> None:
    check = functions(PACKAGE / "verify" / "rules" / f"{rule}.py")[f"check_{rule}"]
    add = functions(PACKAGE / "cp" / "rules" / f"{rule}.py")[f"add_{rule}"]
    assert ast.get_docstring(check)
    assert ast.get_docstring(add)


@pytest.mark.parametrize("rule", STATE_RULES)
def test_what_holds_in_every_state_is_judged_on_the_way(rule: Rule) -> None:
    judged = {each for rules, _ in ON_THE_WAY for each in rules}
    assert rule in judged | {Rule.ELIGIBILITY}  # which does not depend on who else is there


@pytest.mark.parametrize("rule", list(Rule))
def test_each_rule_can_be_done_without_to_find_a_conflict(rule: Rule) -> None:
    assert rule in DISPENSABLE


@pytest.mark.parametrize("metric", list(Metric))
def test_each_metric_is_measured_bounded_and_encoded_under_its_name(metric: Metric) -> None:
    judged = functions(PACKAGE / "verify" / "metrics" / f"{metric}.py")
    encoded = functions(PACKAGE / "cp" / "metrics" / f"{metric}.py")
    assert ast.get_docstring(judged[f"measure_{metric}"])
    assert ast.get_docstring(judged[f"bound_{metric}"])
    assert ast.get_docstring(encoded[f"{metric}_expr"])


@pytest.mark.parametrize("folder", ["verify/rules", "cp/rules", "verify/metrics", "cp/metrics"])
def test_no_rule_or_metric_lies_in_the_folders_without_a_name(folder: str) -> None:
    names = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    assert names == {item.value for item in (Rule if folder.endswith("rules") else Metric)}
