"""Model files."""

import io
import json
import os
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

import manykernels
from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV, load
from manykernels.feature_maps import Polynomial
from manykernels.kernels import Precomputed
from manykernels.losses import Huber
from manykernels.solvers import FullPass, Greedy, MirrorDescent, WorkingSet
from manykernels.store import ModelFileError

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(70, 4)), columns=["age", "weight", "größe", "n"])
X["n"] = rng.integers(4, size=70)
y = X["age"] * X["weight"] + np.sin(X["größe"]) + (X["n"] == 2)
labels = np.array(["no", "maybe", "yes"])[np.digitize(y, [-0.3, 0.6])]

REGRESSORS = {
    "monomials": MKLRegressor(p=1, alpha=1e-2),
    "dense": MKLRegressor(degree=2, alpha=1e-2, rho=[1, 1, 2]),
    "tuples": MKLRegressor(degree=2, index_set="tuples", alpha=1e-2),
    "closed": MKLRegressor(alpha=1e-3, degree=3, p=2, kernels="linear"),
    "closed matrices": MKLRegressor(alpha=1e-3, degree=2, p=2, kernels="rbf"),
    "maps": MKLRegressor(kernels="auto", degree=2, p=1, alpha=1e-2),
    "objects": MKLRegressor(
        kernels=[("linear", ["age", "weight"]), (Polynomial(2), "größe"), ("categorical", "n")],
        degree=2,
        loss=Huber(0.5),
        solver=WorkingSet(),
        p=1,
        alpha=1e-2,
    ),
    "rows": MKLRegressor(kernels=["linear", ("rbf", [0, 1])], degree=2, alpha=1e-2),
    "unscaled": MKLRegressor(standardize=False, degree=1, alpha=1e-2, solver=FullPass()),
    "descent": MKLRegressor(
        degree=2, alpha=1e-1, solver=MirrorDescent(), random_state=np.random.default_rng(0)
    ),
    "path": MKLRegressorCV(degree=[1, 2], kernels="nystroem", cv=KFold(3), n_alphas=6),
    "greedy": MKLRegressorCV(degree=2, solver=Greedy(5), cv=3, rho=np.array([1.0, 1, 2])),
}


def same(one, two, rows):
    assert type(one) is type(two)
    assert np.array_equal(one.predict(rows), two.predict(rows))  # to the last bit
    assert one.explain(None).equals(two.explain(None))
    assert one.contributions(rows, label=label_of(one)).equals(
        two.contributions(rows, label=label_of(two))
    )
    for name, value in vars(one).items():
        if name == "choice_":
            known = {key: part for key, part in vars(value).items() if key != "folds"}
            read = vars(two)[name]
            np.testing.assert_equal(
                {key: vars(read)[key] for key in known if key[0] != "c"},
                {key: known[key] for key in known if key[0] != "c"},
            )
            assert read.counts_terms == value.counts_terms
            for candidate, other in zip(read.candidates, value.candidates, strict=True):
                np.testing.assert_equal(vars(candidate), vars(other))
        elif name.endswith("_") and name not in ("dual_coef_", "function_") and name[0] != "_":
            np.testing.assert_equal(vars(two)[name], value)


def label_of(model):
    return model.classes_[0] if len(getattr(model, "classes_", [])) > 2 else None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_regressors_predict_bit_for_bit_the_same(model, tmp_path):
    model = clone(model).fit(X, y)
    path = model.save(tmp_path / "model.mk")
    again = load(path)
    same(model, again, X + 0.1)
    assert again.feature_names_in_.tolist() == X.columns.tolist()
    for name, value in model.get_params().items():
        if name not in ("random_state", "cv") and not isinstance(value, list | np.ndarray):
            assert again.get_params()[name] == value
    # Once more, from what was read.
    same(again, load(again.save(tmp_path / "again.mk")), X)
    assert sorted(os.listdir(tmp_path)) == ["again.mk", "model.mk"]


@pytest.mark.parametrize("target", [labels, y > 0.2, (y > 0.2).astype(int)], ids=str)
def test_classifiers(target, tmp_path):
    for model in (
        MKLClassifier(degree=2, alpha=1e-2),
        MKLClassifierCV(kernels="auto", degree=1, n_alphas=5, cv=3),
    ):
        model.fit(X, target)
        again = load(model.save(tmp_path / "m.mk"))
        same(model, again, X)
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.classes_.dtype == model.classes_.dtype


def test_sparse_rows(tmp_path):
    rows = sparse.random_array((60, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    target = np.asarray(rows[:, [0]].toarray()).ravel()
    for p in (1, 2):
        model = MKLRegressor(degree=2, p=p, standardize="scale", alpha=1e-3).fit(rows, target)
        again = load(model.save(tmp_path / "m.mk"))
        assert np.array_equal(again.predict(rows), model.predict(rows))


def test_kernel_matrices(tmp_path):
    gram = X.to_numpy() @ X.to_numpy().T
    rows = np.arange(len(X)).reshape(-1, 1)
    model = MKLRegressor(kernels=[Precomputed(gram, "all")], degree=2, alpha=1e-2).fit(rows, y)
    again = load(model.save(tmp_path / "m.mk"))
    assert np.array_equal(again.predict(rows), model.predict(rows))
    whole = MKLRegressor(kernels="precomputed", degree=1, alpha=1e-2).fit(gram, y)
    again = load(whole.save(tmp_path / "m.mk"))
    assert np.array_equal(again.predict(gram), whole.predict(gram))


def test_models_of_features_hold_no_training_rows(tmp_path):
    many = np.random.default_rng(0).normal(size=(20_000, 3))
    target = many[:, 0] * many[:, 1]
    path = MKLRegressor(degree=2, p=1, alpha=1e-2).fit(many, target).save(tmp_path / "m.mk")
    assert path.stat().st_size < 30_000


def test_files_are_json_and_arrays(tmp_path):
    path = MKLRegressor(alpha=1e-3, degree=1).fit(X, y).save(tmp_path / "m.mk")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        manifest = json.loads(archive.read("manifest.json"))
        for name in names:
            if name.startswith("arrays/"):
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
    assert manifest["format"] == 2
    assert manifest["version"] == manykernels.__version__
    assert {name.split("/")[0] for name in names} == {"manifest.json", "manifest.sha256", "arrays"}


def test_functions_and_foreign_objects_are_refused(tmp_path):
    def product(a, b):
        return a @ b.T

    class Mine(Huber):
        pass

    path = tmp_path / "m.mk"
    with pytest.raises(TypeError, match=r"kernels of the model is <function .*pickle the model"):
        MKLRegressor(alpha=1e-3, kernels=product, degree=1).fit(X, y).save(path)
    with pytest.raises(TypeError, match=r"loss of the model is .*, of class Mine"):
        MKLRegressor(alpha=1e-3, loss=Mine(1.0), degree=1).fit(X, y).save(path)
    assert os.listdir(tmp_path) == []


def test_unfitted_models_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        MKLRegressor(alpha=1e-3).save(tmp_path / "m.mk")


@pytest.fixture
def file(tmp_path):
    return MKLRegressor(alpha=1e-3, degree=1).fit(X, y).save(tmp_path / "m.mk")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files(file, share):
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match=r"m\.mk is no model file, or was cut short"):
        load(file)


def test_any_changed_byte_is_noticed_or_harmless(file):
    whole = file.read_bytes()
    expected = load(file).predict(X)
    noticed = 0
    for place in np.random.default_rng(0).integers(len(whole), size=400).tolist():
        changed = bytearray(whole)
        changed[place] ^= 0x40
        file.write_bytes(changed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of zipfile, about names
                model = load(file)
        except ModelFileError:
            noticed += 1
        else:  # such as the time in a header
            assert np.array_equal(model.predict(X), expected)
    assert noticed > 300


def rewrite(file, change, seal=True):
    """Change the manifest; with ``seal`` its checksum too, as a forger would."""
    import hashlib

    with zipfile.ZipFile(file) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(contents["manifest.json"])
    change(manifest)
    contents["manifest.json"] = json.dumps(manifest).encode()
    if seal:
        digest = hashlib.sha256(contents["manifest.json"]).hexdigest()
        contents["manifest.sha256"] = digest.encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def test_changed_manifest(file):
    rewrite(file, lambda m: m["model"]["$object"][1].update(tol=7.0), seal=False)
    with pytest.raises(ModelFileError, match=r"checksum of manifest\.json in it is wrong"):
        load(file)


def test_changed_array(file):
    with zipfile.ZipFile(file) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["arrays/0.npy"] = contents["arrays/1.npy"]
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"checksum of arrays/0\.npy"):
        load(file)


def test_future_version(file):
    def change(manifest):
        manifest.update(format=7, version="9.0")

    rewrite(file, change)
    with pytest.raises(ModelFileError, match=r"has format 7, of manykernels 9\.0.*Upgrade"):
        load(file)


@pytest.mark.parametrize("name", ["Popen", "os.system", "object", "Encoder2"])
def test_other_classes_are_never_made(file, name):
    rewrite(file, lambda m: m["model"]["$object"].__setitem__(0, name))
    with pytest.raises(ModelFileError, match="no model that this version can read"):
        load(file)


def test_pickled_arrays_are_refused(file):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, ("evil",))

    import hashlib

    stream = io.BytesIO()
    np.save(stream, np.array([Evil()], dtype=object), allow_pickle=True)

    def change(manifest):
        manifest["files"]["arrays/0.npy"] = hashlib.sha256(stream.getvalue()).hexdigest()

    rewrite(file, change)
    with zipfile.ZipFile(file) as archive:
        contents = {one: archive.read(one) for one in archive.namelist()}
    contents["arrays/0.npy"] = stream.getvalue()
    with zipfile.ZipFile(file, "w") as archive:
        for one, content in contents.items():
            archive.writestr(one, content)
    with pytest.raises(ModelFileError, match="no model that this version can read"):
        load(file)
    assert not os.path.exists("evil")


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps({"a": 1})])
def test_other_files(tmp_path, content):
    path = tmp_path / "m.mk"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is no model file"):
        load(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.mk")


def test_interrupted_writing_leaves_the_old_file(file, monkeypatch):
    before = file.read_bytes()

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        MKLRegressor(alpha=1e-3, degree=2).fit(X, y).save(file)
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == ["m.mk"]


def test_matrices_of_objects_are_not_saved(tmp_path):
    """The file held them as a list, and the model could not be loaded."""
    rows = np.arange(20)[:, None]
    matrix = Precomputed(np.eye(20).astype(object), "words")
    model = MKLRegressor([matrix], degree=1).fit(rows, rows[:, 0])
    with pytest.raises(TypeError, match="a model file holds numbers and names"):
        model.save(tmp_path / "m.mk")
    assert not list(tmp_path.iterdir())
