"""The report of a model: true numbers, escaped names, one file."""

import base64
import hashlib
import importlib
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline

from manykernels import (
    MKLClassifier,
    MKLRegressor,
    MKLRegressorCV,
    TableEncoder,
    report,
    words,
)
from manykernels.kernels import Precomputed
from manykernels.plot import EffectDisplay
from manykernels.report import content
from manykernels.report.figures import Drawing
from manykernels.report.markup import Markup
from manykernels.report.scores import scores_of
from manykernels.report.subject import subject_of
from manykernels.report.values import two_entries

pytest.importorskip("matplotlib")

VOID = {"wbr", "meta", "input", "br", "img", "link"}
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style>&amp; $a$ $b"]


class Page(HTMLParser):
    """A page by elements: (tag, attributes, text inside), and whether tags are balanced."""

    def __init__(self, text):
        super().__init__()
        self.text, self.elements, self.open = text, [], []
        self.feed(text)
        self.close()
        assert not self.open, [tag for tag, _, _ in self.open]

    def handle_starttag(self, tag, attrs):
        entry = (tag, dict(attrs), [])
        self.elements.append(entry)
        if tag not in VOID:
            self.open.append(entry)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, text in self.open:
            text.append(data)

    def all(self, tag, **attributes):
        names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            (found, "".join(text))
            for name, found, text in self.elements
            if name == tag and all(found.get(key) == value for key, value in names.items())
        ]

    def one(self, tag, **attributes):
        (found,) = self.all(tag, **attributes)
        return found[1]

    def words(self, tag, **attributes):
        return " ".join(self.one(tag, **attributes).replace(words.SPACE, " ").split())


def data(names=("u", "v", "w"), rows=80):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list(names))
    X.iloc[:, 2] = np.arange(rows) % 3
    a, b, c = (X.iloc[:, j] for j in range(3))
    return X, (a * b + np.sin(2 * b) + (c > 1) + 5).rename("price")


def page_of(model, X, y, path, **options):
    return Page(report.write(model, X, y, path, **options).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def fitted():
    X, y = data()
    return MKLRegressor(degree=2, p=1, alpha=1e-2).fit(X, y), X, y


@pytest.fixture(scope="module")
def page(fitted, tmp_path_factory):
    return page_of(*fitted, tmp_path_factory.mktemp("report") / "report.html")


def test_the_numbers_are_those_of_the_model(page, fitted):
    model, X, y = fitted
    table = model.explain(None)
    rows = [attributes for attributes, _ in page.all("tr") if "data-term" in attributes]
    assert [row["data-term"] for row in rows] == table["term"].tolist()
    assert [float(row["data-spread"]) for row in rows] == table["spread"].tolist()
    assert [float(row["data-second"]) for row in rows] == table["loss_without"].tolist()
    assert [int(row["data-sign"]) for row in rows] == table["sign"].tolist()
    shown = [text for attributes, text in page.all("div", class_="meter")]
    assert shown == [words.number(spread) for spread in table["spread"]]
    score = r2_score(y, model.predict(X))
    assert (
        page.words("h1") == f"Predicts price with R² {score:.2f} on the 80 rows given to the report"
    )
    lede = page.words("p", class_="lede")
    first = table.iloc[0]
    assert f"of {model.n_kernels_} kernels considered" in lede
    assert f"The strongest is {first['term']} (spread {words.number(first['spread'])})" in lede
    matter = int(re.match(r"\d+", lede)[0])
    assert matter == np.sum(table["spread"] >= 0.05 * first["spread"])
    middle = np.median(np.abs(model.predict(X) - y))
    assert f"off by {words.number(middle)} or less" in page.text


def test_baselines_are_computed_without_a_summary(page, fitted):
    rows = re.findall(r"<th scope=\"row\">([^<]+)</th><td class=\"number\">([^<]+)<", page.text)
    assert [name for name, _ in rows] == ["this model", "mean of these rows"]
    assert [value for _, value in rows][1] == "0.00"
    assert "If the model was fitted to these rows, its scores are too good." in page.text
    assert "give report.write the rows of the fit: train=(X, y)" in page.text
    X, y = data()
    model = MKLClassifier(degree=2, alpha=1e-2).fit(X, y > 5)
    subject = subject_of(model, X, y > 5, None, None, train=(X, y > 5))
    values = scores_of(subject).values
    assert values["this model"]["accuracy"] == accuracy_score(y > 5, model.predict(X))
    assert values["most frequent class"]["accuracy"] == max(np.mean(y > 5), np.mean(y <= 5))
    assert values["most frequent class"]["AUC"] == 0.5
    assert 0 < values["linear model"]["accuracy"] < 1
    for train, match in (((X, y[:3]), "train must be rows of 3 columns"), (X, "a pair of X and y")):
        with pytest.raises((TypeError, ValueError), match=match):
            subject_of(model, X, y > 5, None, None, train=train)


@pytest.mark.parametrize("steps", [False, True])
def test_training_rows_are_read_as_the_model_reads_rows(rng, steps):
    """Text, gaps and nullable types in train=(X, y) were a TypeError."""
    frame = pd.DataFrame({"size": rng.normal(size=60), "town": rng.choice(["Bonn", "Ulm"], 60)})
    frame["warm"] = pd.array([True, None, False] * 20, dtype="boolean")
    y = frame["size"] + 2 * (frame["town"] == "Ulm") + 0.1 * rng.normal(size=60)
    model = MKLRegressor(kernels="auto", degree=1, alpha=1e-3)
    model = make_pipeline(TableEncoder(), MKLRegressor(degree=1, alpha=1e-3)) if steps else model
    model.fit(frame[:40], y[:40])
    subject = subject_of(model, frame[40:], y[40:], None, None, train=(frame[:40], y[:40]))
    assert scores_of(subject).values["linear model"]["R²"] > 0.9


def test_training_rows_in_another_order_of_columns_are_refused(rng):
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    model = MKLRegressor(degree=1, alpha=1e-3).fit(X, X["a"])
    with pytest.raises(ValueError, match="train must have its columns in the order of the fit"):
        subject_of(model, X, X["a"], None, None, train=(X[["b", "a"]], X["a"]))


@pytest.fixture
def no_figures(monkeypatch):
    """Leave figures out: they take their time."""
    empty = Drawing(Markup("<svg></svg>"))
    monkeypatch.setattr("manykernels.report.page.draw", lambda *_: empty)


@pytest.mark.usefixtures("no_figures")
def test_a_summary_is_believed(fitted, tmp_path):
    model, X, y = fitted
    summary = {
        "target": "rent",
        "rows_train": 1200,
        "rows_test": 300,
        "scores": {"mean": -0.01, "this model": 0.75, "linear model": 0.5},
        "metric": "R^2",
        "evaluated_on": "held-out rows",
        "file": "rents.csv",
        "seconds": 12.5,
        "command": "manykernels fit rents.csv",
        "notes": ["Two columns were constant."],
    }
    page = page_of(model, X, y, tmp_path / "a.html", summary=summary, title="Rents")
    assert page.one("title") == "Rents"
    assert page.words("h1") == "Predicts rent with R² 0.75 on 300 held-out rows"
    rows = re.findall(r"<th scope=\"row\">([^<]+)</th><td class=\"number\">([^<]+)<", page.text)
    minus = words.MINUS
    assert rows == [("this model", "0.75"), ("mean", f"{minus}0.01"), ("linear model", "0.50")]
    settings = page.one("code")
    for part in ("rents.csv", "1,200 rows", "manykernels fit rents.csv", "alpha=0.01", "numpy"):
        assert part in settings
    assert "Two columns were constant." in page.text
    assert "12 seconds with all around it" in page.words("section", id="certificate")
    bare = page_of(model, X, y, tmp_path / "b.html", summary={"scores": {"this model": 0.5}})
    assert bare.words("h1") == "Predicts price with R² 0.50 on rows"


def test_effects_say_where_a_term_is_low_and_high(fitted):
    from matplotlib import pyplot

    model, X, y = fitted
    subject = subject_of(model, X, y, None, {"w": ["no", "some", "much"], "stranger": ["a"]})
    for name in subject.plottable:
        part = model.contributions(X, [name])[name].to_numpy()
        low, high = np.quantile(part, [0.05, 0.95])
        text = content.effect_sentence(subject, name)
        assert f"between {words.number(low)} and {words.number(high)} to the prediction" in text
        assert "On nine in ten of the 80 rows given to the report it adds" in text
        own = X.iloc[:, model.function_.terms.columns(name)]
        inside = [own[c].between(*own[c].quantile([0.01, 0.99])) for c in own if c != "w"]
        rows = np.flatnonzero(np.all([*inside, np.ones(len(X), dtype=bool)], axis=0))
        levels = {"w": ["a", "b", "c"]}
        drawn = EffectDisplay.from_estimator(model, X, name, levels=levels)
        pyplot.close(drawn.figure_)
        for axis in drawn.variables[:2]:
            assert own.iloc[rows][axis.name].between(axis.points[0], axis.points[-1]).all()
        words_of = "lowest at " if len(rows) < len(X) else "It is lowest there at "
        assert (len(rows) < len(X)) == ("In the plot, beyond which" in text)
        for word, row in (
            ("lowest", rows[part[rows].argmin()]),
            ("highest", rows[part[rows].argmax()]),
        ):
            for column in model.function_.terms.columns(name):
                value = X.iloc[row, column]
                known = {0: "no", 1: "some", 2: "much"} if column == 2 else {}
                shown = known.get(value, words.number(value))
                after = text.split(words_of)[1].split("and highest at ")
                after = after[word == "highest"]
                assert f"{X.columns[column]} = {shown}" in after
    assert content.effect_sentence(subject, subject.plottable[0]).startswith(
        f"Spread {words.number(model.explain(1)['spread'][0])} on the training rows, the strongest "
    )


def test_amounts_that_are_the_same_are_no_range():
    """A category that most rows have, and one that few have."""
    X = pd.DataFrame({"kind": ["usual"] * 195 + ["rare"] * 5, "x": np.sin(np.arange(200.0))})
    y = pd.Series(3.0 * (X["kind"] == "rare") + X["x"], name="cost")
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-4).fit(X, y)
    said = told(model, X, y, "kind")
    part = model.contributions(X, ["kind"])["kind"]
    low, high = (words.number(value) for value in (part.min(), part.max()))
    assert f"or more it adds {low} to the prediction, on all of them between {low} and" in said
    assert f"between {low} and {high}." in said
    assert "kind = usual and highest at kind = rare." in said


def test_names_break_between_words_and_columns_are_explained(fitted, tmp_path):
    from manykernels.report.markup import breakable

    assert breakable("device_score * a.b") == "device_<wbr>score * a.<wbr>b"
    assert breakable("<b>") == "&lt;b&gt;"
    assert breakable("amount") == "amount"
    assert breakable("a" * 50).count("<wbr>") == 2
    _, X, y = fitted
    names = {"u": "device_score", "v": "amount", "w": "w"}
    other = MKLRegressor(degree=2, p=1, alpha=0.01).fit(X.rename(columns=names), y)
    page = page_of(other, X.rename(columns=names), y, tmp_path / "a.html")
    assert "device_<wbr>score * amount" in page.text
    heads = page.words("table", class_="scores")
    assert "R² as a bar" in heads
    assert "Sign is + where predictions rise with the column of the term" in page.words(
        "section", id="terms"
    )


def test_names_are_text_wherever_they_come_from(tmp_path):
    X, y = data(HOSTILE)
    labels = np.array(HOSTILE)[np.digitize(y, [4.5, 5.5])]
    model = MKLClassifier(degree=1, alpha=1e-2).fit(X, labels)
    evil = "</script><script>alert(2)</script>"
    summary = {
        "target": evil,
        "notes": [evil],
        "command": evil,
        "file": evil,
        "scores": {"this model": 0.5, evil: 0.1},
        "evaluated_on": evil,
    }
    levels = {HOSTILE[2]: HOSTILE}
    page = page_of(
        model, X, labels, tmp_path / "a.html", summary=summary, levels=levels, title=evil
    )
    assert len(page.all("script")) == 1
    assert "alert" not in page.one("script")
    assert "alert" not in page.one("style")
    assert len(page.all("style")) == 1
    assert not page.all("img")
    assert page.one("title") == evil
    for _, attributes, _ in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
    listed = {
        attributes["data-term"] for attributes, _ in page.all("tr") if "data-term" in attributes
    }
    assert listed == {"1", *HOSTILE}
    assert {text for _, text in page.all("h3")} >= set(HOSTILE)
    texts = " ".join(text for _, text in page.all("text"))
    assert HOSTILE[0] in texts


def test_one_file_that_needs_nothing_else(page):
    for tag, attributes, _ in page.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        for name in ("src", "href", "xlink:href", "srcset", "action"):
            assert attributes.get(name, "#").startswith(("#", "data:image/png"))
        assert "http" not in attributes.get("style", "")
    for text in (page.one("style"), page.one("script")):
        assert "http" not in text
        assert "@import" not in text
    policy = next(a["content"] for a, _ in page.all("meta") if "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(page.one("script").encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}';" in policy


def test_identifiers_are_unique_and_lead_somewhere(page):
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes, _ in page.elements:
        for name in ("aria-controls", "for"):
            assert attributes.get(name, ids[0]) in ids
        assert attributes.get("href", f"#{ids[0]}").removeprefix("#") in ids or (
            attributes["href"].startswith("data:")
        )
    assert set(re.findall(r"url\(#([^)]+)\)", page.text)) <= set(ids)


def test_figures_take_the_colour_of_the_text(page):
    figures = [attributes for attributes, _ in page.all("svg")]
    assert len(figures) >= 6
    for attributes in figures:
        assert attributes["role"] == "img"
        assert len(attributes["aria-label"]) > 40
    assert "currentColor" in page.text
    for _, attributes, _ in page.elements:
        assert not re.search(r"(fill|stroke): ?(#000000|black)", attributes.get("style", ""))
    assert "<metadata" not in page.text
    assert page.all("text")


def test_figures_are_closed_and_settings_left_alone(page, fitted, tmp_path):
    import matplotlib as mpl
    from matplotlib import pyplot

    before = dict(mpl.rcParams)
    with mpl.rc_context({"text.color": "white", "axes.facecolor": "red"}):
        again = page_of(*fitted, tmp_path / "a.html")
    assert dict(mpl.rcParams) == before
    assert pyplot.get_fignums() == []
    assert again.text == page.text


def stub(**attributes):
    return SimpleNamespace(**{"n_kernels_": 167_668_501, "gap_": 4.8e-4, "tol": 1e-2} | attributes)


def test_certificates_in_words():
    def said(**attributes):
        return words.certificate(stub(**attributes)).replace(words.SPACE, " ")

    exact = said(gap_kind_="exact")
    size = f"1.7 {words.TIMES} 10⁸"
    limit = (
        f"no better combination of the {size} kernels can lower the objective by more than 0.048 %"
    )
    assert exact.lower().startswith(limit)
    assert "confidence" not in exact
    bound = said(gap_kind_="bound")
    assert bound.startswith(f"With 99 % confidence {limit}.")
    assert "probability of at most 1 %" in bound
    estimate = said(gap_kind_="estimate")
    assert limit in estimate
    assert "not a guarantee" in estimate
    assert "99 %" not in estimate
    greedy = said(gap_kind_="none", gap_=np.nan, solver="greedy")
    assert "solves no convex problem: there is no certificate" in greedy
    refitted = said(gap_kind_="none", gap_=np.nan, solver="auto", debias=True)
    assert "without its penalty" in refitted
    assert "Greedy" not in refitted
    assert "asked for 1 % and stopped before" in said(gap_kind_="exact", gap_=0.2)
    assert "too few" in said(gap_kind_="estimate", gap_=np.inf)
    assert "larger than the objective itself" in said(gap_kind_="bound", gap_=1.5)
    assert "which is rounding" in said(gap_kind_="exact", gap_=1e-15)
    for gap, rest in ((0.69, "that may be lower by 69 %, by an estimate"), (2.0, "is not known")):
        widths = said(gap_kind_="estimate", gap_=gap, n_kernels_=np.inf)
        assert "explain the targets best, not those of the least objective" in widths
        assert rest in widths


@pytest.mark.parametrize("gap", [4.8e-4, 4.801e-4, 0.01, 0.0999, 0.999, 3e-13, 0.2501])
def test_a_limit_is_never_rounded_down(gap):
    text = words.percent_at_most(gap).removesuffix("%").replace(words.SPACE, "")
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    mantissa, _, power = text.translate(raised).partition(f"{words.TIMES}10")
    shown = float(mantissa.replace(",", "")) * 10 ** float(power or 0)
    assert gap * (1 - 1e-8) <= shown / 100 <= gap * 1.1


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_certificates_of_models_from_draws(monkeypatch, p):
    monkeypatch.setattr("manykernels.certificate.EXACT_WORK", 0)
    X, y = data()
    model = MKLRegressor(
        degree=2, p=p, alpha=0.1, solver="mirror-descent", tol=0.5, random_state=0
    ).fit(X, y)
    assert model.gap_kind_ == "bound"
    text = words.certificate(model)
    assert words.percent_at_most(model.gap_) in text
    assert "With 99" in text


@pytest.mark.usefixtures("no_figures")
def test_classes_and_the_one_whose_effects_are_shown(tmp_path):
    X, y = data()
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [4.0, 6.5])]
    names, counts = np.unique(labels, return_counts=True)
    model = MKLClassifier(degree=1, alpha=1e-2).fit(X, labels)
    page = page_of(model, X, labels, tmp_path / "a.html")
    most = names[counts.argmax()]
    sentences = [text for _, text in page.all("article")]
    assert sentences
    assert all(
        f"decision value of the class {most} (the most frequent one)" in t for t in sentences
    )
    assert f"the class {most}, the most frequent of 3" in page.text
    right = int(np.sum(model.predict(X) == labels))
    assert f"{right} of 80 rows given to the report are predicted right" in page.text
    two = subject_of(MKLClassifier(alpha=1e-3, degree=1).fit(X, y > 5), X, y > 5, None, None)
    assert two.label is None
    assert "positive for True" in content.effect_sentence(two, two.plottable[0])


@pytest.mark.usefixtures("no_figures")
def test_a_choice_by_cross_validation_is_told(tmp_path):
    X, y = data()
    model = MKLRegressorCV(degree=2, solver="greedy", cv=3).fit(X, y)
    page = page_of(model, X, y, tmp_path / "a.html")
    text = page.words("section", id="path")
    assert text.startswith("How the number of terms was chosenCross-validation on 3 folds")
    assert f"chose {model.n_terms_} terms" in text
    assert "Greedy selection" in page.words("section", id="certificate")
    assert page.all("dt")[-1][1] == "how sure the terms are: how to test them"
    strength = MKLRegressorCV(degree=1, p=1, cv=3, n_alphas=5).fit(X, y)
    text = content.choice(strength)
    assert f"alpha = {words.number(strength.alpha_)}" in text
    assert f"mean loss of {words.number(-strength.best_score_)}" in text


@pytest.mark.usefixtures("no_figures")
def test_models_with_little_to_show(tmp_path):
    X, y = data()
    constant = MKLRegressor(degree=2, p=1, alpha=1e6).fit(X, y)
    page = page_of(constant, X, y, tmp_path / "a.html")
    assert page.words("p", class_="lede") == (
        "Of 10 kernels considered none matters: the model predicts a constant."
    )
    gram = X.to_numpy() @ X.to_numpy().T
    rows = np.arange(len(X)).reshape(-1, 1)
    whole = MKLRegressor(kernels=[Precomputed(gram, "all")], degree=1, alpha=1e-3).fit(rows, y)
    page = page_of(whole, rows, y, tmp_path / "b.html")
    assert "that could be drawn" in page.text
    assert "linear model" not in page.text
    assert "not functions of single columns" in page.text
    one = page_of(constant, X[:1], y[:1], tmp_path / "c.html")
    assert one.words("h1") == "A model of price"


@pytest.mark.usefixtures("no_figures")
def test_long_tables_are_cut(monkeypatch, tmp_path, fitted):
    monkeypatch.setattr("manykernels.report.subject.LISTED_TERMS", 2)
    monkeypatch.setattr("manykernels.report.subject.PLOTTED", 1)
    page = page_of(*fitted, tmp_path / "a.html")
    subject = subject_of(*fitted, None, None)
    matter = len(subject.matter)
    assert len([a for a, _ in page.all("tr") if "data-term" in a]) == max(matter, 2)
    named = {subject.table["term"].iloc[place] for place in subject.matter}
    assert len(page.all("article")) == len(named)
    total = len(fitted[0].explain(None))
    assert f"Listed are {max(matter, 2)} of {total} terms in use, the strongest" in page.text


@pytest.mark.usefixtures("no_figures")
def test_a_table_model_is_taken_apart(fitted, tmp_path):
    model, X, y = fitted
    raw = X.assign(w=X["w"].map({0: "no", 1: "some", 2: "much"}))

    def encode(frame):
        return frame.assign(w=frame["w"].map({"no": 0.0, "some": 1.0, "much": 2.0}))

    table = SimpleNamespace(
        estimator=model,
        encode=encode,
        levels={"w": ["no", "some", "much"]},
        summary={"target": "rent", "scores": {"this model": 0.25}},
    )
    page = page_of(table, raw, y, tmp_path / "a.html")
    score = r2_score(y, model.predict(X))
    assert page.words("h1") == (
        f"Predicts rent with R² {score:.2f} on the 80 rows given to the report"
    )
    assert "w = much" in page.text
    other = page_of(table, raw, y, tmp_path / "b.html", summary={"target": "lease"})
    assert other.words("h1").startswith("Predicts lease with R² 0.")
    named = {"target": "lease", "evaluated_on": "the 80 rows of flats.csv"}
    last = page_of(table, raw, y, tmp_path / "c.html", summary=named)
    assert last.words("h1").endswith("on the 80 rows of flats.csv")
    assert "linear model" in last.text


@pytest.mark.usefixtures("no_figures")
def test_a_file_appears_whole_or_not_at_all(fitted, tmp_path, monkeypatch):
    path = tmp_path / "new" / "report.html"
    assert report.write(*fitted, str(path)) == path
    before = path.read_bytes()

    def fail(draft, target):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.write(*fitted, path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_targets_of_another_kind_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    model = MKLClassifier(alpha=0.01, degree=1).fit(X, np.where(X[:, 0] > 0, "up", "down"))
    with pytest.raises(ValueError, match="y must be classes of the model, such as 'down'; got"):
        report.write(model, X, X[:, 0], tmp_path / "a.html")


def test_what_is_not_a_model_is_refused(fitted, tmp_path, monkeypatch):
    model, X, y = fitted
    with pytest.raises(TypeError, match="model must be an estimator with terms"):
        report.write(object(), X, y, tmp_path / "a.html")
    with pytest.raises(ValueError, match="same number of rows, at least one; got 80 and 79"):
        report.write(model, X, y[1:], tmp_path / "a.html")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'manykernels\[plot\]'"):
        report.write(model, X, y, tmp_path / "a.html")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'manykernels\[plot\]'"):
        importlib.reload(report)
    assert not list(tmp_path.iterdir())


def told(model, X, y, term, **options):
    return content.effect_sentence(subject_of(model, X, y, None, None, **options), term)


def test_dates_and_years_are_written_as_such():
    days = pd.date_range("2019-01-01", periods=120, freq="7D")
    X = pd.DataFrame(
        {"day": days, "built": 1900 + np.arange(120) // 2, "town": ["Ulm", "Bonn"] * 60}
    )
    y = pd.Series(np.arange(120.0), name="rent")
    model = MKLRegressor(kernels="auto", degree=1, p=1, alpha=1e-4).fit(X, y)
    said = told(model, X, y, "day")
    assert said.endswith(
        "In the plot, beyond which 4 rows of 120 lie, it is lowest at day = 2019-01-15 and highest "
        "at day = 2021-03-30."
    )
    line = MKLRegressor(kernels="linear", degree=1, p=1, alpha=1e-4).fit(X[["built"]], y)
    said = told(line, X[["built"]], y, "built")
    assert said.endswith("it is lowest at built = 1901 and highest at built = 1958.")
    pipeline = make_pipeline(TableEncoder(), MKLRegressor(degree=1, p=1, alpha=1e-4)).fit(X, y)
    assert "day = 2019-01-15" in told(pipeline, X, y, "day")


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (2015.04, 2023.21, ("2015", "2023")),
        (1119, 7, ("1119", "7")),
        (0.123456, 0.123444, ("0.1235", "0.1234")),
        (-31250, 1234567, (f"{words.MINUS}31,250", "1,234,567")),
        (12345.678, 12345.678, ("12,346", "12,346")),
        (1.5e-7, 2e9 + 0.5, (words.number(1.5e-7), words.number(2e9))),
    ],
)
def test_two_numbers_are_told_apart(low, high, texts):
    assert two_entries(low, high, None) == texts


def test_two_moments_of_a_day_have_times():
    day = 2022 + 183.5 / 365.2425  # of years that are all alike
    first, last = two_entries(day, day + 1 / 365.2425 / 24, None, "")
    assert first[:10] == last[:10]
    assert first[10:] != last[10:]


def test_moments_beyond_the_calendar_are_years():
    assert two_entries(290_000.25, 290_001.5, None, "") == ("290000.25", "290001.5")
    assert two_entries(-5.0, 2022.5, None, "") == ("-5", "2022.5")


@pytest.mark.usefixtures("no_figures")
def test_a_rare_class_that_is_never_predicted_is_said(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["a", "b"])
    y = pd.Series(
        np.where(X["a"] + 1.5 * rng.normal(size=1000) > 3.5, "fraud", "fine"), name="label"
    )
    model = MKLClassifier(degree=1, alpha=1e-3).fit(X, y)
    assert not np.any(model.predict(X) == "fraud")
    page = page_of(model, X, y, tmp_path / "a.html", train=(X, y))
    chances = model.predict_proba(X)
    share = np.mean(y == "fraud")
    none = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert page.words("h1") == (
        f"Predicts label with log loss {words.number(log_loss(y, chances))} ({words.number(none)} "
        f"without a model) and AUC {roc_auc_score(y == 'fraud', chances[:, 1]):.2f} on the 1,000 "
        "rows given to the report"
    )
    rare = int((y == "fraud").sum())
    assert page.words("p", class_="lede").endswith(
        f"The class fraud is never predicted, though {rare} of the 1,000 rows given to the report "
        "have it."
    )
    assert page.all("dt")[0][1].startswith("log loss (lower is better) on")


@pytest.mark.usefixtures("no_figures")
def test_a_report_on_noise_says_so_first(tmp_path):
    rng = np.random.default_rng(1)
    X, y = pd.DataFrame(rng.normal(size=(200, 5))), rng.normal(size=200)
    X.columns = list("abcde")
    model = MKLRegressor(degree=2, p=1, alpha=1e-2).fit(X[:100], y[:100])
    page = page_of(model, X[100:], y[100:], tmp_path / "a.html", train=(X[:100], y[:100]))
    lede = page.words("p", class_="lede")
    assert lede.startswith(
        "This model predicts no better than the mean of the training rows on the 100 rows given to "
        "the report: its squared error is not lower by two standard errors. Do not read much into "
        "its terms, unless a test says that they stand. R² below zero means worse than the mean of "
        "the rows predicted."
    )
    assert re.search(r"\d+ terms? matters? to its predictions, of 21 kernels considered", lede)
    assert "The strongest is" not in lede


def test_remarks_of_the_fit_are_not_said_twice(fitted, tmp_path):
    summary = {"notes": ["one.", "two."], "remarks": ["two."]}
    assert content.provenance(subject_of(*fitted, summary, None))[-1] == "One."
    given = {**summary, "scores": {"this model": 0.5}}
    assert content.provenance(subject_of(*fitted, given, None))[-1] == "Two."


def test_strongest_pairs_are_named_only_if_they_matter():
    X, _ = data()
    model = MKLRegressor(degree=2, p=1, alpha=1e-4).fit(X, 50 * X["u"] + 0.2 * X["u"] * X["v"])
    subject = subject_of(model, X, 50 * X["u"], None, None)
    assert subject.joint
    said = content.interaction_note(subject)
    assert "Strongest" not in said
    assert re.search(r"two variables or more; (none of them matters|it does not matter)", said)


def test_kernels_of_one_kind_are_written_in_short():
    X, y = data()
    wide = pd.concat([X.add_suffix(str(j)) for j in range(30)], axis=1)
    pairs = [("linear", name) for name in wide.columns]
    model = MKLRegressor(kernels=pairs, degree=1, p=2, alpha=1.0).fit(wide, y)
    text = content.settings(subject_of(model, wide, y, None, None))
    assert "    kernels=[('linear', name) for name in X.columns],\n" in text
    other = MKLRegressor(kernels=[("spline", "u"), *pairs[:3]], degree=1, alpha=1.0)
    assert "name for name" not in content._written(other.kernels, list(wide.columns[:4]))


def test_spreads_over_a_sample_are_called_so(monkeypatch):
    monkeypatch.setattr("manykernels.function.anova.terms.SPREAD_ROWS", (40, 50))
    monkeypatch.setattr("manykernels.function.anova.terms.SPREAD_ENTRIES", 0)
    X, y = data()
    model = MKLRegressor(kernels="widths", max_iter=2, random_state=0).fit(X, y)
    said = words.measure_meaning(model, model.explain(None))[0]
    assert said.endswith("in the unit of the target, over a sample of 40 training rows.")
    subject = subject_of(model, X, y, None, None)
    first = content.effect_sentence(subject, subject.plottable[0])
    assert re.match(r"Spread .+ on a sample of 40 training rows, the strongest of", first)


def test_losses_are_named(fitted):
    X, y = data()
    assert words.loss_name(fitted[0]) == "half the squared error"
    assert words.loss_name(MKLRegressor(loss="huber")) == "the loss 'huber'"
    two, three = (
        MKLClassifier(degree=1, alpha=1e-2).fit(X, np.digitize(y, cuts)) for cuts in ([5], [4, 6])
    )
    assert words.loss_name(two) == "the log loss"
    assert words.loss_name(three) == "the log loss of each class against the others, added up"
    assert words.loss_meaning(two).endswith("'ridge' is logistic regression with a ridge penalty.")
    assert "the root of twice its mean is an RMSE" in words.loss_meaning(fitted[0])
