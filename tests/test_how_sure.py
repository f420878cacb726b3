"""What is said of how sure terms are: explain, figures, report, command, model files."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manykernels import MKLClassifier, MKLRegressor, load, report
from manykernels.cli.demo import flats
from manykernels.how_sure import Group, HowSure, how_sure_of, how_to_run
from manykernels.selection import SplitTest, StabilitySelection
from manykernels.selection import split_test as splits
from manykernels.tables import Settings, fit_table, judge_terms, split_table
from manykernels.tables.judging import CHOSEN_BEFORE
from manykernels.words import SPACE

pytest.importorskip("matplotlib")
pytest.importorskip("typer")
from matplotlib import pyplot
from typer.testing import CliRunner

from manykernels.cli.app import app
from manykernels.cli.output import Console
from manykernels.plot import EffectDisplay, TermsDisplay

LINEAR = ("--kernels", "linear")  # the fastest
UNUSED = ["listed", "floor", "pets"]
FLATS = Settings("rent", degree=[1], kernels="linear", drop=UNUSED)
DROP = [part for name in UNUSED for part in ("--drop", name)]


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def flat(text):
    """Return the words of a page or a screen, one blank apart."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", text)).replace(SPACE, " ").split())


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    X["e"] = 0.95 * X["d"] + 0.3 * X["e"]
    return X, X["a"] * X["b"] + X["c"] + X["d"] + rng.normal(size=300)


@pytest.fixture(scope="module")
def model(rows):
    return MKLRegressor(degree=2, p=1, alpha=0.03).fit(*rows)


@pytest.fixture(scope="module")
def test(rows):
    return SplitTest(MKLRegressor(alpha=1e-3, degree=2), n_splits=10, q=6, random_state=0).fit(
        *rows
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, a tested model of it, its report and the words of the fit."""
    folder = tmp_path_factory.mktemp("sure")
    flats(150).to_csv(folder / "flats.csv", index=False)
    done = invoke(
        *("fit", folder / "flats.csv", "--target", "rent", "--degree", "1", "--quiet", *LINEAR),
        *(
            "--how-sure",
            "--seconds",
            "1",
            "--model",
            folder / "flats.mk",
            "--report",
            folder / "flats.html",
            *DROP,
        ),
    )
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.stdout)
    return folder


def test_explain_has_what_the_test_found(rows, test):
    model = MKLRegressor(degree=2, p=1, alpha=1e-4).fit(*rows)
    plain, joined = model.explain(None), model.explain(None, how_sure=test)
    assert joined[plain.columns].equals(plain)
    assert list(joined.columns[-4:]) == ["frequency", "p_value", "group", "sure"]
    known = test.table_.set_index("term")
    assert set(joined["term"]) - set(known.index)  # some were never selected
    for line in joined.itertuples():
        if line.term in known.index:
            found = known.loc[line.term]
            assert line.p_value == found["p_value"]
            assert line.frequency == found["frequency"]
            assert line.group == found["group"]
            assert line.sure == found["sure"]
        else:
            assert (line.p_value, line.frequency, line.sure) == (1, 0, False)
            assert line.group is pd.NA
    assert {"a * b", "c", "d"} <= set(joined.loc[joined["sure"], "term"])
    assert model.explain(3, test).equals(joined.head(3))
    assert model.explain(3, test.how_sure_).equals(joined.head(3))


def test_the_other_terms_are_no_term(test):
    joined = test.how_sure_.join(pd.DataFrame({"term": ["a * b", "other terms"]}))
    assert joined["p_value"].isna().tolist() == [False, True]
    assert joined["frequency"].isna().tolist() == [False, True]
    assert joined["sure"].tolist() == [True, False]


def test_copies_of_rows_are_training_rows():
    frame = flats(60)[["area", "built", "rent"]]
    settings = Settings("rent", kernels="widths", test=0.0)
    split = split_table(pd.concat([frame, frame]), settings)
    judged = judge_terms(fit_table(split, settings), split, settings, seconds=1e-9)
    said = judged.how_sure.sentences(judged.explain(None))
    assert "a part of the 120 training rows" in said[0]


def test_numbers_of_a_wide_table_are_whole(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    numbers = {"spread": "10.2", "share of variance": "12.5 %", "p-value": "< 0.0001"}
    line = {"term": "fly_ash * water * superplasticizer", "variables": "3", **numbers}
    Console(False).table([{**line, "stands": "yes"}], tuple(numbers))
    said = capsys.readouterr().out
    assert all(text in said for text in [*numbers.values(), "superplasticizer", "stands"])
    assert "…" not in said


def test_without_p_values_there_are_frequencies(rows, model):
    stable = StabilitySelection(MKLRegressor(alpha=1e-3, degree=2), n_pairs=5, random_state=0).fit(
        *rows
    )
    joined = model.explain(None, how_sure=stable)
    assert "p_value" not in joined
    own = dict(zip(stable.table_["term"], stable.table_["frequency"], strict=True))
    assert joined["frequency"].tolist() == [own.get(name, 0.0) for name in joined["term"]]
    said = stable.how_sure_.sentences(model.explain(None))
    assert said[0] == (
        "Terms were selected on halves of the 300 training rows, on 5 pairs of them at random."
    )
    assert "p-value" not in " ".join(said)
    assert said[-1] == stable.meaning_


def test_what_is_no_test_of_these_columns_is_refused(rows, model, test):
    X, y = rows
    with pytest.raises(TypeError, match=r"how_sure must be a SplitTest .* got SplitTest"):
        model.explain(how_sure=SplitTest(MKLRegressor(alpha=1e-3)))
    with pytest.raises(TypeError, match="got DataFrame"):
        model.explain(how_sure=test.table_)
    other = MKLRegressor(alpha=1e-3, degree=1, p=1).fit(X[["a", "b"]], y)
    with pytest.raises(ValueError, match=r"got 'a', 'b', 'c', .. \(6\) for 'a', 'b'"):
        other.explain(how_sure=test)


def found(*groups, **more):
    names = {name: 0.5 for group in groups for name in group.terms}
    made = HowSure(groups, names, True, "It means that.", 80, 20, 20, ("a", "b", "c"))
    return replace(made, **more)


def spreads(**values):
    names = [name.replace("_", " * ") for name in values]
    degrees = [1 + name.count("*") for name in names]
    return pd.DataFrame({"term": names, "degree": degrees, "spread": list(values.values())})


ALONE = Group(("a",), (1.0,), 1.0, 0.0312, True)
JOINT = Group(("a * b", "a * c", "b * c"), (1.0, 0.912, 0.85), 0.9, 2e-9, True)
MIXED = Group(("c", "b * c"), (1.0, 0.87), 0.6, 0.05, True)
WEAK = Group(("b",), (1.0,), 0.4, 1.0, False)


@pytest.mark.parametrize(
    ("how_sure", "table", "expected"),
    [
        (
            found(ALONE, WEAK),
            spreads(a=0.7, b=0.25, c=0.05),
            [
                "1 term stands: a (p-value 0.031, selected by 100 % of the splits).",
                "2 terms of the model are not sure: "
                "b (spread 0.25) and c (spread 0.05). These rows do not show that they are needed "
                "beside the other terms.",
            ],
        ),
        (
            found(ALONE, JOINT),
            spreads(a=0.9, a_b=0.1),
            [
                "2 terms stand: a (p-value 0.031, selected by 100 % of the splits) and "
                "a * b or a * c or b * c (p-value < 0.0001, selected by 90 % of the splits).",
                "Of these, variables act together in a * b or a * c or b * c.",
                "a * b cannot be told apart from a * c and b * c (correlations 0.85 to 0.91): at "
                "least one of them matters, or something that they reflect; the rows do not say "
                "which.",
                "Every term of the model stands.",
            ],
        ),
        (
            found(MIXED),
            spreads(a=1.0),
            [
                "1 term stands: c or b * c (p-value 0.05, selected by 60 % of the splits).",
                "None of that shows that variables act together.",
                "c cannot be told apart from b * c (correlation 0.87): at least one of them "
                "matters, or something that they reflect; the rows do not say which.",
                "Not in the model, though it stands: c or b * c.",
                "1 term of the model is not sure: "
                "a (spread 1). These rows do not show that it is needed beside the other terms.",
            ],
        ),
        (
            found(WEAK),
            spreads(),
            [
                "No term stands. That does not say that none has an effect: these rows do not "
                "show it."
            ],
        ),
    ],
)
def test_sentences(how_sure, table, expected):
    said = [text.replace(SPACE, " ") for text in how_sure.sentences(table)]
    basis = (
        "Terms were selected on a part of the 80 training rows and tested on the others, on 20 "
        "splits at random."
    )
    assert said == [basis, *expected, "It means that."]


def test_useful_for_prediction_is_said_where_scores_back_it():
    table = spreads(a=0.7, b=0.25)
    for useful in (None, False):
        assert "useful" not in " ".join(found(ALONE, WEAK).sentences(table, useful))
    said = found(ALONE, WEAK).sentences(table, True)
    assert said[-2].endswith(
        "It may be useful for prediction: on rows held out the model as a whole predicts better "
        "than a constant."
    )


def test_the_rest_of_a_model_and_its_constant_are_no_terms_to_judge():
    table = pd.DataFrame(
        {"term": ["a", "other terms", "1"], "degree": [1, 0, 0], "spread": [0.8, 0.1, 0.1]}
    )
    assert "Every term of the model stands." in found(ALONE).sentences(table)


def test_splits_that_are_missing_are_said():
    assert (
        "on 3 splits at random (20 were asked for)." in found(WEAK, done=3).sentences(spreads())[0]
    )


def test_terms_that_could_not_be_tested_are_not_said_to_fail_a_test(tmp_path):
    """Too few rows of the rarest class for one feature: no p-value, no word against a term."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    y = np.where(X["a"] > np.sort(X["a"])[-9], "rare", "usual")
    with pytest.warns(UserWarning, match="No term could be tested"):
        test = SplitTest(MKLClassifier(degree=1), n_splits=4, random_state=0).fit(X, y)
    model = MKLClassifier(degree=1, p=1, alpha=0.01).fit(X, y)
    table = model.explain(None, test)
    assert len(table)
    assert table["p_value"].isna().all()
    (said,) = test.how_sure_.sentences(table)
    assert said.startswith("No term could be tested: 60 training rows are too few")
    page = report.write(model, X, y, tmp_path / "r.html", how_sure=test).read_text("utf-8")
    assert said in flat(page)
    assert "Which of them stand could not be tested" in flat(page)
    assert "not stand" not in flat(page)


def test_the_rest_of_a_model_has_no_p_value():
    table = spreads(a=0.7).assign(degree=1)
    table.loc[1] = ["other terms", 0, 0.1]
    joined = found(ALONE).join(table)
    assert joined["p_value"].isna().tolist() == [False, True]
    assert joined["sure"].tolist() == [True, False]


def test_terms_alike_stand_as_one_of_several():
    """Of nine terms that rows cannot tell apart eight may be false: none is said to stand."""
    assert found(ALONE, JOINT, WEAK).standing(["a", "a * c", "b", "c"]) == [
        "yes",
        "one of 3",
        "",
        "",
    ]
    assert found(JOINT).is_sure(["a * c"]) == [True]


def test_figures_mark_the_terms_that_stand(rows, model, test):
    display = TermsDisplay.from_estimator(model, how_sure=test)
    sure = set(test.table_.loc[test.table_["sure"], "term"])
    assert display.sure == [term in sure for term in display.terms]
    marks = {line.get_gid(): line for line in display.ax_.lines if line.get_gid()}
    for stands, words in ((True, "sure"), (False, "not sure")):
        places = [i for i, value in enumerate(display.sure) if value == stands]
        assert marks[words].get_ydata() == places
        filled = marks[words].get_markerfacecolor() != "none"
        assert filled == stands
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[-2:] == ["sure", "not sure"]
    plain = TermsDisplay.from_estimator(model)
    assert plain.sure is None
    assert not any(line.get_gid() for line in plain.ax_.lines)
    weak = next(term for term in display.terms if term not in sure)
    for term, note in (("a * b", "sure"), (weak, "not sure")):
        effect = EffectDisplay.from_estimator(model, rows[0], term, how_sure=test)
        assert effect.ax_.get_title() == f"{term} ({note})"
    pyplot.close("all")


def test_report_backs_usefulness_by_rows_held_out_only(rows, model, test, tmp_path):
    for useful, said in ((True, True), (None, False)):
        summary = {"useful": useful}
        page = report.write(model, *rows, tmp_path / "r.html", how_sure=test, summary=summary)
        assert ("may be useful for prediction" in page.read_text("utf-8")) == said


def test_report_says_it_in_words_and_in_a_table(rows, model, test, tmp_path):
    page = report.write(model, *rows, tmp_path / "r.html", how_sure=test).read_text("utf-8")
    section = page.split('<section id="sure">')[1].split("</section>")[0]
    words = flat(section)
    for sentence in test.how_sure_.sentences(model.explain(None)):
        assert flat(sentence) in words
    assert test.meaning_ in words
    lines = section.split("<tbody>")[1].split("</tr>")[:-1]
    assert len(lines) == len(test.groups_)
    for line, group in zip(lines, test.groups_, strict=True):
        assert str(group) in flat(line)
        assert ("sure" in flat(line).split()) == group.sure
        assert f"{100 * group.frequency:.0f} %" in flat(line)
    joined = model.explain(None, test).set_index("term")
    marks = dict(re.findall(r'<tr data-term="([^"]*)"[^>]*data-sure="(\d)"', page))
    assert {name: mark == "1" for name, mark in marks.items()} == joined["sure"].to_dict()
    place = int(joined.loc["a * b", "group"]) - 1
    assert f"It stands ({test.how_sure_.evidence(test.groups_[place])})." in unescape(page)
    assert {"d", "e"} in [set(group.terms) for group in test.groups_ if group.sure]
    (cell,) = re.findall(r'<tr data-term="d".*?<td class="sure">(.*?)</td>', page)
    assert cell == "one of 2"
    # Beside a plot there is no room for all columns: what stands was out of sight.
    assert '<table class="terms tested">' in page
    plain = report.write(model, *rows, tmp_path / "plain.html").read_text("utf-8")
    assert '<table class="terms">' in plain
    assert "as one of several that cannot be told apart" in flat(page)


def test_a_report_without_says_how(rows, model, tmp_path):
    page = report.write(model, *rows, tmp_path / "r.html").read_text("utf-8")
    assert how_to_run(None) in unescape(page)
    assert "SplitTest(model).fit(X, y)" in how_to_run(None)
    assert "data-sure" not in page


def test_round_trip_of_the_command(folder):
    fitted = load(folder / "flats.mk")
    assert fitted.how_sure.rows == 120
    assert fitted.how_sure.wanted == 50
    assert ("area",) in [group.terms for group in fitted.how_sure.sure]
    expected = fitted.estimator.explain(None, how_sure=fitted.how_sure)
    assert fitted.explain(None).equals(expected)
    said = fitted.how_sure.sentences(expected)
    shown = invoke("explain", folder / "flats.mk").stdout
    again = folder / "again.html"
    assert invoke("report", folder / "flats.mk", folder / "flats.csv", "-o", again).exit_code == 0
    for text in ((folder / "said.txt").read_text(), shown):
        assert all(flat(sentence) in flat(text) for sentence in said)
        (line,) = re.findall(r"^ *area +1 +.*$", text, re.MULTILINE)
        assert line.split()[-1] == "yes"
    for page in (folder / "flats.html", again):
        words = flat(page.read_text("utf-8"))
        assert all(flat(sentence) in words for sentence in said)


def test_how_sure_for_programs(folder):
    facts = json.loads(invoke("explain", folder / "flats.mk", "--json").stdout)
    fitted = load(folder / "flats.mk")
    assert facts["how_sure"]["meaning"] == fitted.how_sure.meaning
    names = [group["terms"] for group in facts["how_sure"]["groups"] if group["sure"]]
    assert names == [list(group.terms) for group in fitted.how_sure.sure]
    table = fitted.explain(20)
    assert [line["sure"] for line in facts["terms"]] == table["sure"].tolist()
    assert [line["p_value"] for line in facts["terms"]] == table["p_value"].tolist()


def test_seconds_end_the_test(folder, tmp_path):
    done = invoke(
        *("fit", folder / "flats.csv", "--target", "rent", "--degree", "1", *LINEAR, *DROP),
        *("--quiet", "--how-sure", "--seconds", "1e-9", "--model", tmp_path / "m.mk"),
    )
    assert done.exit_code == 0
    assert "on 1 split at random (50 were asked for)." in done.stdout
    assert load(tmp_path / "m.mk").how_sure.done == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seconds", "5"), "Add --how-sure"),
        (("--how-sure", "--seconds", "0"), "--seconds must be above 0; got 0"),
    ],
)
def test_bad_seconds(folder, arguments, words):
    done = invoke("fit", folder / "flats.csv", "--target", "rent", *arguments)
    assert done.exit_code == 2
    assert words in flat(done.stderr)


def test_a_model_without_says_how(folder, tmp_path):
    command = "manykernels fit flats.csv --target rent"
    split = split_table(pd.read_csv(folder / "flats.csv"), FLATS)
    fitted = fit_table(split, FLATS)
    fitted = replace(fitted, summary={**fitted.summary, "command": command})
    fitted.save(tmp_path / "m.mk")
    line = f"{command} --how-sure"
    assert line in invoke("explain", tmp_path / "m.mk").stdout
    invoke("report", tmp_path / "m.mk", folder / "flats.csv", "-o", tmp_path / "r.html")
    assert line in (tmp_path / "r.html").read_text("utf-8")
    assert json.loads(invoke("explain", tmp_path / "m.mk", "--json").stdout)["how_sure"] is None
    assert how_to_run(line).endswith(line)  # not twice


def test_old_table_models_say_how():
    old = Path(__file__).parent / "old_models"
    models = [load(path) for path in sorted(old.rglob("*.mk"))]
    tables = [model for model in models if hasattr(model, "how_sure")]
    assert tables
    assert all(model.how_sure is None and "sure" not in model.explain() for model in tables)


@pytest.mark.parametrize("dependent", [True, False])
def test_rows_of_subjects_are_said_to_depend_on_each_other(dependent):
    rng = np.random.default_rng(0)
    name = "patient" if dependent else "ward"
    frame = pd.DataFrame({name: np.repeat(np.arange(20), 5), "u": rng.normal(size=100)})
    frame["y"] = frame["u"] + 0.1 * rng.normal(size=100)
    X, y = frame[[name, "u"]], frame["y"]
    test = SplitTest(MKLRegressor(degree=1), n_splits=4, random_state=0).fit(X, y)
    assert test.meaning_.startswith("Rows are taken as independent") == dependent
    settings = Settings("y", kernels="linear", degree=1)
    split = split_table(frame.astype({name: str}), settings)
    judged = judge_terms(fit_table(split, settings), split, settings, 0.1)
    assert judged.how_sure.meaning.startswith("Rows are taken as independent") == dependent


@pytest.mark.parametrize("after", [0, 2])
def test_ctrl_c_keeps_what_is_done(folder, monkeypatch, after):
    split = split_table(pd.read_csv(folder / "flats.csv"), FLATS)
    fitted = load(folder / "flats.mk")
    calls = []

    def pick(*arguments, usual=splits.pick):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return usual(*arguments)

    monkeypatch.setattr(splits, "pick", pick)
    judged = judge_terms(fitted, split, FLATS)
    if after:
        assert judged.how_sure.done == after
        assert judged.summary["notes"] == fitted.summary["notes"]
    else:
        assert judged.how_sure is None
        assert "interrupted before its first split" in judged.summary["notes"][-1]


def test_the_kernels_and_the_degree_that_were_chosen_are_tested(monkeypatch):
    """Of "best" and of several degrees one is chosen, and its terms are judged."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["u", "v", "w"])
    frame["y"] = frame["u"] + 0.1 * rng.normal(size=80)
    settings = Settings("y", degree=[1, 2], kernels="auto")
    split = split_table(frame, settings)
    fitted = fit_table(split, settings)
    fitted.estimator.kernels_ = "linear"  # as if it had been chosen
    seen = []

    def watch(self, *arguments, usual=SplitTest.fit):
        self.n_splits = 4
        seen.append(self.estimator)
        return usual(self, *arguments)

    monkeypatch.setattr(SplitTest, "fit", watch)
    judged = judge_terms(fitted, split, settings)
    assert seen[0].kernels == "linear"
    assert seen[0].degree == [fitted.estimator.degree_]
    assert judged.how_sure.sure[0].terms == ("u",)
    apart = SplitTest(MKLRegressor(alpha=1e-3, degree=fitted.estimator.degree_), random_state=0)
    apart.fit(split.encoder.encode(split.train), split.y_train)
    said = f"{apart.how_sure_.meaning} {CHOSEN_BEFORE}"  # the degree was chosen by the same rows
    assert judged.how_sure == replace(apart.how_sure_, meaning=said)
    assert how_sure_of(judged.how_sure, ["u", "v", "w"]) is judged.how_sure
