"""A model may start from another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.errors import BadDataError, MissingInputError, UsageError
from kantopt.schema import extends
from kantopt.schema.extends import load_model, models_folder, resolve_model
from kantopt.schema.model import Model, Objective

HEAD = "apiVersion: kantopt/v1alpha1\nkind: Model\n"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(extends, "models_folder", lambda: folder)
    write(
        folder / "mixed.yaml",
        "metadata: {name: mixed}\nrules: {quota: 'off', spread: 'off'}\n"
        "objectives: [unplaced, moves]\nlimits: {moves: 5, evictions: 7}\nrequired: [a]\n",
    )
    write(folder / "training.yaml", "extends: mixed\nobjectives: [evictions]\n")
    return folder


def write(path: Path, body: str) -> str:
    path.write_text(HEAD + body, encoding="utf-8")
    return str(path)


def names(model: Model) -> list[str]:
    assert model.objectives is not None
    return [objective.name for objective in model.objectives]


def test_rules_and_limits_are_merged_by_name_and_lists_replaced(
    shipped: Path, tmp_path: Path
) -> None:
    body = (
        "metadata: {name: mine}\nextends: training\nrules: {quota: required, gang: 'off'}\n"
        "limits: {moves: null}\nrequired: []\npending: []\nexempt: [app=db]\nminBenefit: '0.5'\n"
    )
    model = load_model(write(tmp_path / "mine.yaml", body))
    assert model.metadata.name == "mine"
    assert model.extends is None
    assert (model.rules.quota, model.rules.gang, model.rules.spread) == ("required", "off", "off")
    assert (model.limits.moves, model.limits.evictions) == (None, 7)
    assert model.required == ()
    assert names(model) == ["evictions"]
    assert (model.pending, model.exempt, model.min_benefit) == ((), ("app=db",), "0.5")


def test_what_is_not_given_comes_from_the_model_below(shipped: Path, tmp_path: Path) -> None:
    model = load_model(write(tmp_path / "mine.yaml", "extends: mixed\n"))
    assert names(model) == ["unplaced", "moves"]
    assert model.required == ("a",)
    assert model.metadata.name == ""
    assert model.rules.quota == "off"


def test_a_shipped_model_is_loaded_by_its_name(shipped: Path) -> None:
    assert load_model("mixed").metadata.name == "mixed"


def test_a_path_is_relative_to_the_file_that_names_it(shipped: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "base.yml", "objectives: [waiting]\n")
    path = write(tmp_path / "sub" / "mine.yaml", "extends: ../base.yml\n")
    assert names(load_model(path)) == ["waiting"]


def test_a_model_from_elsewhere_is_resolved_too(shipped: Path) -> None:
    model = Model(
        api_version="kantopt/v1alpha1",
        kind="Model",
        extends="mixed",
        objectives=(Objective.model_validate("waiting"),),
    )
    assert names(resolve_model(model, "<stdin>")) == ["waiting"]


@pytest.mark.parametrize("name", ["trainig", "Mixd"])
def test_an_unknown_name_is_refused_with_a_guess(shipped: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"expected mixed or training, or a path \(did you mean"):
        load_model(name)


def test_an_unknown_name_in_extends_names_the_file(shipped: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", "extends: traning\n")
    with pytest.raises(BadDataError) as refused:
        load_model(path)
    assert str(refused.value) == (
        f'{path}: extends: found "traning", expected mixed or training, '
        "or a path (did you mean training?)"
    )


@pytest.mark.parametrize("other", ["b.yaml", "./a.yaml"])
def test_a_circle_is_refused(tmp_path: Path, other: str) -> None:
    path = write(tmp_path / "a.yaml", f"extends: {other}\n")
    write(tmp_path / "b.yaml", f"extends: ../{tmp_path.name}/a.yaml\n")
    with pytest.raises(BadDataError, match="extends: found a circle"):
        load_model(path)


def test_a_missing_file_below_is_a_missing_input(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match=r"none\.yaml: cannot be read"):
        load_model(write(tmp_path / "a.yaml", "extends: none.yaml\n"))


def test_a_model_without_objectives_anywhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="objectives: found nothing"):
        load_model(write(tmp_path / "a.yaml", ""))


def test_another_kind_of_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text(HEAD.replace("Model", "JobList"))
    with pytest.raises(BadDataError, match='kind: found "JobList", expected Model'):
        load_model(str(path))


def test_several_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="found 2 documents"):
        load_model(write(tmp_path / "a.yaml", f"objectives: [moves]\n---\n{HEAD}"))


def test_contradictions_in_a_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=r"objectives\[0\]\.moves"):
        load_model(write(tmp_path / "a.yaml", "objectives: [{moves: }]\n"))


def test_the_models_lie_in_the_package_or_beside_it() -> None:
    assert models_folder().name == "models"
    assert models_folder().is_dir()
