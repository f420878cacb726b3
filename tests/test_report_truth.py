"""Every sentence and number of a report is true: six models, values computed apart.

The text of a page is cut into sentences. Each must match one of the patterns below, and what a
pattern finds is compared with plain NumPy and scikit-learn on the rows. A sentence that no pattern
knows fails, and so does a pattern that claims a wrong number.
"""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, r2_score, roc_auc_score

from manykernels import MKLClassifierCV, MKLRegressor, MKLRegressorCV, report
from manykernels.selection import SplitTest

NAMES = ["age", "bmi", "dose", "noise"]


def draw(rows, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows, 4)), columns=NAMES)
    X["bmi"] += 0.7 * X["age"]
    y = 3 * X["age"] - 2 * X["bmi"] + X["age"] * X["dose"] + np.sin(2 * X["dose"])
    return X, (10 * y + 5 * rng.normal(size=rows)).rename("risk")


X, Y = draw(160, 0)
XT, YT = draw(120, 1)


def classes(y, three):
    cut = [-12.0, 12.0] if three else [6.0]
    names = np.array(["low", "middle", "high"] if three else ["no", "yes"])
    return pd.Series(names[np.digitize(y, cut)], name="risk")


def models():
    splines = {"kernels": "auto", "degree": 2, "cv": 2, "n_alphas": 8}
    yield "splines", MKLRegressorCV(**splines), Y, YT, False
    yield "monomials", MKLRegressorCV(degree=2, p=1, cv=2, n_alphas=8), Y, YT, False
    yield "widths", MKLRegressor(kernels="widths", max_iter=3, random_state=0), Y, YT, False
    two = {"degree": 2, "p": 1, "cv": 2, "n_alphas": 6}
    yield "two classes", MKLClassifierCV(**two), classes(Y, False), classes(YT, False), False
    yield "three classes", MKLClassifierCV(**two), classes(Y, True), classes(YT, True), False
    yield "how sure", MKLRegressorCV(degree=2, p=1, cv=2, n_alphas=8), Y, YT, True


class Text(HTMLParser):
    """The text of a page, one entry for each element that a reader sees as a block."""

    BLOCKS = ("p", "h1", "h2", "h3", "li", "dt", "dd", "td", "th", "caption", "figcaption")

    def __init__(self):
        super().__init__()
        self.blocks, self.row, self.rows, self.stack, self.kind = [], [], [], [], None

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "input", "br", "link", "path", "use", "image"):
            self.stack.append(tag)
        if tag == "tr":
            self.row = []
        if tag == "table":
            self.kind = dict(attrs).get("class")
        if tag in self.BLOCKS:
            self.blocks.append([tag, ""])

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass
        if tag in ("td", "th"):
            self.row.append(self.blocks[-1][1].strip())
        if tag == "tr":
            self.rows.append((self.kind, self.row))

    def handle_data(self, data):
        inside = set(self.stack)
        if inside & {"svg", "style", "script", "button", "title", "pre"} - {"button"}:
            return
        if self.blocks and inside & set(self.BLOCKS):
            self.blocks[-1][1] += data


def number(text):
    """Return a number as it is written for people."""
    text = text.replace("\u00a0", " ").replace("\u2212", "-").replace(",", "").replace("≤ ", "")
    text = text.replace("< ", "").replace("> ", "")
    if "\u00d7" in text:
        head, tail = text.split("\u00d7")
        raised = tail.strip()[2:].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        return float(head) * 10 ** float(raised)
    return float(text)


def near(text, value, digits=3):
    """Tell whether a text is a number rounded to some digits, or to two behind the point."""
    said = number(text)
    if text.lstrip().startswith("<"):
        return abs(value) < said * 1.0000001
    return abs(said - value) <= max(0.51 * 10 ** -(digits - 1) * abs(value), 0.0051 * (digits > 3))


@pytest.fixture(scope="module", params=list(models()), ids=lambda case: case[0])
def case(request, tmp_path_factory):
    name, model, y, truth, tested = request.param
    model = model.fit(X, y)
    sure = None
    if tested:
        sure = SplitTest(model, n_splits=4, random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("report") / "page.html"
    report.write(model, XT, truth, path, how_sure=sure, train=(X, y))
    text = Text()
    text.feed(path.read_text(encoding="utf-8"))
    return Truth(name, model, y, truth, sure, text)


class Truth:
    """What is true of a model, from its predictions and contributions alone."""

    def __init__(self, name, model, y, truth, sure, text):
        self.name, self.model, self.y, self.truth, self.sure = name, model, y, truth, sure
        self.text = text
        self.classes = list(getattr(model, "classes_", []))
        several = len(self.classes) > 2
        labels = self.classes if several else [None]
        self.parts = [
            model.contributions(X, label=label).drop(columns="intercept") for label in labels
        ]
        self.names = self.parts[0].columns.tolist()
        variances = sum(part.to_numpy().var(axis=0) for part in self.parts)
        self.spreads = dict(zip(self.names, np.sqrt(variances).tolist(), strict=True))
        self.predicted = model.predict(XT)

    @property
    def measures(self):
        if not self.classes:
            error = self.predicted - self.truth
            return {
                "R²": r2_score(self.truth, self.predicted),
                "RMSE": np.sqrt(np.mean(error**2)),
                "mean absolute error": np.mean(np.abs(error)),
            }
        chances = self.model.predict_proba(XT)
        auc = (
            roc_auc_score(self.truth == self.classes[1], chances[:, 1])
            if len(self.classes) == 2
            else roc_auc_score(self.truth, chances, multi_class="ovr", labels=self.classes)
        )
        return {
            "log loss": log_loss(self.truth, chances, labels=self.classes),
            "AUC": auc,
            "accuracy": accuracy_score(self.truth, self.predicted),
        }

    @property
    def constant(self):
        """Mean loss of the constant of the training rows, and of the model with its losses."""
        if not self.classes:
            return (self.truth - self.y.mean()) ** 2, (self.truth - self.predicted) ** 2
        shares = self.y.value_counts(normalize=True)
        chances = self.model.predict_proba(XT)
        places = [self.classes.index(label) for label in self.truth]
        own = -np.log(chances[np.arange(len(XT)), places])
        return -np.log(self.truth.map(shares)), own

    @property
    def terms(self):
        """Names of the terms: the rest of a function is none."""
        return [name for name in self.names if name != "other terms"]

    @property
    def matter(self):
        """Terms that matter, by the definition in the text."""
        spreads = {name: self.spreads[name] for name in self.terms}
        least = 0.05 * max(spreads.values())
        chosen = [name for name in self.terms if spreads[name] >= least]
        for variable in NAMES:
            own = [name for name in self.terms if variable in re.split(r"[ *^\d]+", name)]
            if any(name in chosen for name in own) or not own:
                continue
            if np.sqrt(sum(self.spreads[name] ** 2 for name in own)) >= least:
                chosen.append(max(own, key=self.spreads.get))
        return chosen

    def rows(self, kind):
        return [row for own, row in self.text.rows if kind in (own or "").split()]

    @property
    def sentences(self):
        found = []
        for tag, block in self.text.blocks:
            if tag in ("p", "h1", "dt", "li", "caption") and block.strip():
                plain = block.replace("\u00a0", " ").strip()
                found += re.split(r"(?<=[.?!])\s+(?=[A-Z0-9])", plain)
        return found


NUMBER = "(\u2212?[\\d,.]+(?: \u00d7 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?)"


def is_count(text, value):
    return number(text) == value


def test_scores_are_those_of_scikit_learn(case):
    head, *rows = case.rows("scores")
    names = [name for name in head[1:] if name and not name.endswith(" as a bar")]
    assert names == list(case.measures)
    assert [row[0] for row in rows][:2] == ["this model", "linear model"]
    for name, text in zip(names, rows[0][1:], strict=False):
        exact = case.measures[name]
        assert abs(number(text) - exact) <= 0.0051 + 0.006 * abs(exact), (name, text, exact)
    if not case.classes:
        plain = LinearRegression().fit(X, case.y).predict(XT)
        assert number(rows[1][1]) == pytest.approx(r2_score(case.truth, plain), abs=0.03)
        mean = np.full(len(XT), case.y.mean())
        assert number(rows[2][1]) == pytest.approx(r2_score(case.truth, mean), abs=0.006)
        assert number(rows[2][2]) == pytest.approx(np.std(case.truth - case.y.mean()), rel=0.2)
    else:
        most = case.y.value_counts().idxmax()
        assert rows[2][0] == "most frequent class"
        assert number(rows[2][3]) == pytest.approx((case.truth == most).mean(), abs=0.006)
        assert number(rows[2][1]) == pytest.approx(np.mean(case.constant[0]), abs=0.006)


def test_terms_stand_in_the_order_of_their_spreads(case):
    _, *rows = case.rows("terms")
    assert [row[0] for row in rows] == case.names[: len(rows)]
    said = [number(row[2]) for row in rows]
    assert said == sorted(said, reverse=True)
    for row in rows:
        assert near(row[2], case.spreads[row[0]]), row


def test_r2_lost_is_that_of_least_squares(case):
    """For a model without a penalty to speak of the others are scaled anew by least squares."""
    if case.name != "monomials":
        pytest.skip("a penalty, or no R²")
    model = MKLRegressorCV(degree=2, solver="greedy", cv=2).fit(X, case.y)
    parts = model.contributions(X).drop(columns="intercept")
    whole = LinearRegression().fit(parts, case.y).score(parts, case.y)
    for name, lost in model.explain(None).set_index("term")["loss_without"].items():
        others = parts.drop(columns=name)
        rest = 0.0
        if others.shape[1]:
            rest = LinearRegression().fit(others, case.y).score(others, case.y)
        assert lost == pytest.approx(whole - rest, abs=1e-8)


def test_confusion_and_calibration(case):
    if not case.classes:
        assert not case.rows("confusion")
        return
    head, *rows = case.rows("confusion")
    assert head[1:] == list(map(str, case.classes))
    known = confusion_matrix(case.truth, case.predicted, labels=case.classes)
    assert [[int(number(v)) for v in row[1:]] for row in rows] == known.tolist()
    assert "Calibration" in [block for tag, block in case.text.blocks if tag == "h3"]


def test_every_sentence_is_known_and_true(case):
    """Patterns with what they claim; a sentence without a pattern fails."""
    model, matter, spreads = case.model, case.matter, case.spreads
    joint = [n for n in case.names if len(model.function_.terms.columns(n)) > 1]
    size, terms = len(XT), len(case.terms)
    where = f"the {size} rows given to the report"
    main, second = list(case.measures)[:2]
    parts = case.model.contributions(
        XT,
        label=None if len(case.classes) < 3 else case.truth.value_counts().idxmax(),
    )
    current = iter([block for tag, block in case.text.blocks if tag == "h3"])
    lost = model.explain(None).set_index("term")["loss_without"]

    def strongest(name, spread):
        return name == case.names[0] and near(spread, spreads[name])

    def joined(listed):
        found = re.findall(rf"([\w *^]+?) \(spread {NUMBER}\)", listed.replace(" and ", ", "))
        names = [name.strip(", ") for name, _ in found]
        return names == [name for name in joint if name in matter][:3] and all(
            near(value, spreads[name.strip(", ")]) for name, value in found
        )

    def spread_of(value, place=None):
        named = next(n for n in case.terms if near(value, spreads[n]))
        rank = case.terms.index(named) + 1
        return (rank == 1) if place is None else abs(rank - int(place)) <= 1

    def one_of_losses(value):
        return any(near(value, loss, 2) for loss in lost)

    def range_of(low, high):
        pairs = [np.quantile(parts[n], [0.05, 0.95]) for n in case.names]
        return any(near(low, a) and near(high, b) for a, b in pairs)

    def ends(low, high, beyond=0):
        """Tell whether a term is lowest and highest where it says, to the digits given.

        Within the drawing: numbers from their first to their 99th percentile.
        """
        told = [
            {name: number(value) for name, value in re.findall(rf"(\w+) = {NUMBER}", text)}
            for text in (low, high)
        ]
        names = set(told[0])
        for name in case.terms:
            if {NAMES[c] for c in model.function_.terms.columns(name)} != names:
                continue
            drawn = [XT[n].between(*XT[n].quantile([0.01, 0.99])) for n in names]
            rows = np.flatnonzero(np.all(drawn, axis=0))
            if len(XT) - len(rows) != int(beyond):
                continue
            inside = parts[name].to_numpy()[rows]
            places = rows[[int(inside.argmin()), int(inside.argmax())]]
            if all(
                abs(XT[n].iloc[row] - own[n]) <= 0.0051 * abs(own[n]) + 1e-9
                for own, row in zip(told, places, strict=True)
                for n in names
            ):
                return True
        return False

    def led(ours, constant=None, auc=None):
        return (
            near(ours, case.measures[main])
            and (constant is None or near(constant, np.mean(case.constant[0])))
            and (auc is None or abs(number(auc) - case.measures["AUC"]) <= 0.0051)
        )

    def linear_leads(straight, word, *_):
        """Tell whether the linear model has the better score, or about the same."""
        if bool(straight) != (case.model.degree_ == 1):
            return False
        ours, linear = (number(row[1]) for row in case.rows("scores")[1:3])
        ahead = ours - linear if case.classes else linear - ours
        return ahead > 0 if word == "better" else abs(ahead) < 0.2

    def linear_open(word, how, share):
        """Tell whether the linear model has a loss that is higher or lower by a share."""
        ours, linear = (number(row[1]) for row in case.rows("scores")[1:3])
        if not case.classes:
            ours, linear = 1 - ours, 1 - linear
        words = ("as well", "higher") if linear > ours else ("better", "lower")
        return (word, how) == words and abs(abs(linear / ours - 1) - number(share) / 100) < 0.03

    def always(*_):
        return True

    known = [
        (
            rf"Predicts risk with R² {NUMBER} on {where}",
            lambda v: abs(number(v) - case.measures[main]) <= 0.0051,
        ),
        (
            rf"Predicts risk with log loss {NUMBER} \({NUMBER} without a model\) and AUC {NUMBER} "
            rf"on {where}",
            led,
        ),
        (
            rf"Predicts risk with log loss {NUMBER} \({NUMBER} without a model\) on {where}",
            lambda *said: len(case.classes) == 3 and led(*said),
        ),
        (
            rf"(?:A linear model|(This model is linear, and another) linear model) predicts "
            rf"(as well|better) on {where}: (?:the difference is within two standard errors|its "
            rf"(?:squared error|log loss) is lower by .+)\.",
            linear_leads,
        ),
        (
            rf"(?:{where.capitalize()}|This model is linear, and {where}) are too few to tell "
            r"whether a(?:nother)? linear model predicts (as well|better): its (?:squared error|"
            rf"log loss) is (higher|lower) by {NUMBER} %, but not by two standard errors\.",
            linear_open,
        ),
        (r"A model of risk", always),
        (rf"{NUMBER} terms? matters?, of .+ considered\.", lambda n: is_count(n, len(matter))),
        (
            rf"{NUMBER} terms? matters?: spreads of at least 5 % of the largest, and the strongest "
            r"term of any other variable whose terms together have as much\.",
            lambda n: is_count(n, len(matter)),
        ),
        (rf"The strongest is (.+) \(spread {NUMBER}\)\.", strongest),
        (
            r"How sure the terms are was not tested; below it says how to\.",
            lambda: case.sure is None,
        ),
        (
            r"(\d+|None) of them stands?\.",
            lambda n: number(n.replace("None", "0")) == sum(case.sure.how_sure_.is_sure(matter)),
        ),
        (rf"{re.escape(main)}(?: \(lower is better\))? on {where}", always),
        (rf".*\(?{re.escape(second)}.* on {where}", always),
        (r"terms that matter", always),
        (r"how sure the terms are: how to test them", lambda: case.sure is None),
        (r"of the terms that matter stand", lambda: case.sure is not None),
        (rf"All scores are on {where}\.", always),
        (
            r"R² is the part of the target's variance that predictions explain: 1 if all are "
            r"right, 0 for those of the mean of these rows\.",
            always,
        ),
        (r"RMSE is the root of the mean squared error, in the unit of the target\.", always),
        (r"The mean absolute error is in the unit of the target, too\.", always),
        (r"Accuracy is the part of the rows whose class is predicted right\.", always),
        (
            r"The log loss is the mean of minus the logarithm of the probability given to the true "
            r"class: the lower the better, 0 if all are right and sure\.",
            always,
        ),
        (
            r"AUC is the probability that a row of a class is ranked before a row of another: 0\.5 "
            r"by chance, 1 at best(, the mean over the classes, each against the others)?\.",
            lambda several=None: (several is not None) == (len(case.classes) > 2),
        ),
        (r"If the model was fitted to these rows, its scores are too good\.", always),
        (r"The linear model was fitted to the same rows as this model\.", always),
        (r"Scores on " + where, always),
        (r"Terms of the model|How sure terms are|Table of terms", always),
        (
            r"The model is a sum of (\d+) terms?( and a rest)?\.",
            lambda n, rest: int(n) == terms and (rest is not None) == (terms < len(case.names)),
        ),
        (
            r"The line other terms is no term but the rest: functions of more than 3 variables, "
            r"and what is too small for a line of its own\.",
            lambda: terms < len(case.names),
        ),
        (
            r"Spread is the standard deviation of what a term adds to predictions, in the unit of "
            r"the target, over the training rows\.",
            lambda: not case.classes,
        ),
        (
            r"Spread is the standard deviation of what a term adds to decision values, over the "
            r"training rows(; all classes together)?\.",
            lambda several: (several is not None) == (len(case.classes) > 2),
        ),
        (
            r"R² lost is by how much R² falls on the training rows if the term is left out and the "
            r"others are scaled anew, their shapes unchanged\.",
            lambda: not case.classes,
        ),
        (
            r"Log loss gained is by how much the log loss rises(.*) on the training rows if the "
            r"term is left out and the others are scaled anew, their shapes unchanged\.",
            lambda of: bool(of) == (len(case.classes) > 2),
        ),
        (
            r"Share is the part of the variance that the model would have if columns were "
            r"independent\.",
            lambda: case.name == "widths",
        ),
        (
            r"What accuracy loses without a term was not computed\.",
            lambda: case.name == "widths" and lost.isna().all(),
        ),
        (
            rf"Columns correlate: age and bmi \({NUMBER}\)\.",
            lambda v: near(v, np.corrcoef(X["age"], X["bmi"])[0, 1], 2),
        ),
        (
            r"Shares are for columns that vary independently of each other; the spread is that "
            r"over the actual rows\.",
            lambda: case.name == "widths",
        ),
        (
            rf"To compare: the standard deviation of risk on {where} is {NUMBER}\.",
            lambda v: near(v, np.std(case.truth)),
        ),
        (
            r"Plots show the decision value of the class (\w+), the most frequent of (\d)\.",
            lambda c, n: c == case.truth.value_counts().idxmax() and int(n) == len(case.classes),
        ),
        (
            rf"Spread {NUMBER} on the training rows, the strongest of (\d+) terms?\.",
            lambda v, n: spread_of(v) and int(n) == terms,
        ),
        (
            rf"Spread {NUMBER} on the training rows, number (\d+) of (\d+) terms?\.",
            lambda v, place, n: spread_of(v, place) and int(n) == terms,
        ),
        (
            rf"Without it, the others scaled anew, R² on the training rows falls by {NUMBER}\.",
            one_of_losses,
        ),
        (
            rf"Without it, the others scaled anew, the log loss on the training rows rises by "
            rf"{NUMBER}\.",
            one_of_losses,
        ),
        (
            r"Without it, the others scaled anew, (?:R²|log loss) on the training rows changes by "
            r"less than 0\.001\.",
            lambda: (lost < 0.001).any(),
        ),
        (
            rf"On nine in ten of {where} it adds between {NUMBER} and {NUMBER} to the .*\.",
            range_of,
        ),
        (
            r"Sign is \+ where (?:predictions|decision values) rise with the column of the term, "
            r"and . where they fall; of several columns it is that of the product of their "
            r"differences from their means\.",
            lambda: (case.model.explain(None)["sign"] != 0).any(),
        ),
        (r"It is lowest there at (.+) and highest at (.+)\.", ends),
        (
            rf"In the plot, beyond which (\d+) rows? of {len(XT)} lies?, it is lowest at (.+) and "
            r"highest at (.+)\.",
            lambda beyond, low, high: ends(low, high, beyond),
        ),
        (rf"On {where} it does not vary\.", always),
        (
            r"(\d+) of (\d+) terms? joins? two variables or more\.",
            lambda a, b: (int(a), int(b)) == (len(joint), terms),
        ),
        (r"Strongest: (.+)\.", joined),
        (rf"Each point is one of {where}\.", always),
        (r"Were all predictions right, all points would lie on the line\.", always),
        (
            rf"Half of the predictions are off by {NUMBER} or less, in the unit of the target\.",
            lambda v: near(v, np.median(np.abs(case.predicted - case.truth))),
        ),
        (
            rf"{NUMBER} of {where.removeprefix('the ')} are predicted right\.",
            lambda v: is_count(v, int((case.predicted == case.truth).sum())),
        ),
        (
            r"The most frequent mistake is (\w+) for (\w+), (?:(\d+) times|once)\.",
            lambda said, true, times: (
                int(times or 1) == int(((case.predicted == said) & (case.truth == true)).sum())
            ),
        ),
        (
            rf"Each point is some of {where}, taken together by the predicted probability of (.+): "
            r"how often the class came true, beside what was predicted\.",
            always,
        ),
        (r"Probabilities are right where points lie on the line\.", always),
        (rf"True classes \(rows\) and predicted classes \(columns\) on {where}", always),
        (
            r"No better combination of the .+ kernels can lower the objective by more than (.+) %"
            r"(, which is rounding)?\.",
            lambda v, rounding: number(v) >= 100 * model.gap_ * (1 - 1e-6),
        ),
        (r"Every kernel was taken into account\.", lambda: model.gap_kind_ == "exact"),
        (r"The fit was asked for .+ and stopped before\.", lambda: model.gap_ > model.tol),
        (
            r"Kernels were selected for p = 1; .*, not those of the least objective: that may be "
            r"lower by (.+) %, by an estimate from .*\.",
            lambda v: number(v) >= 100 * model.gap_ * (1 - 1e-6),
        ),
        (r"There may be better ones, so it is not a guarantee\.", always),
        (r"Kernels were selected for p = 1; .* is not known\.", lambda: case.name == "widths"),
        (r"The fit took (\d+) iterations?.*\.", lambda n: int(n) == model.n_iter_),
        (r"The fit took one step: there is no course to draw\.", always),
        (r"No course is drawn: widths are learnt .*\.", lambda: case.name == "widths"),
        (r"The loss is half the squared error\.", lambda: not case.classes),
        (r"The loss is the log loss\.", lambda: len(case.classes) == 2),
        (
            r"The loss is the log loss of each class against the others, added up\.",
            lambda: len(case.classes) == 3,
        ),
        (
            rf"Cross-validation on 2 folds compared (\d+) settings and chose alpha = {NUMBER}, "
            rf"degree (\d) and p = {NUMBER}, with a mean loss of {NUMBER} on the rows left out\.",
            lambda n, alpha, degree, p, loss: (
                near(alpha, model.alpha_)
                and int(n) == int(np.isfinite(model.score_path_).any(axis=2).sum())
                and int(degree) == model.degree_
                and near(loss, -model.best_score_)
            ),
        ),
        (
            r"The model holds its training rows, and so does its file\.",
            lambda: case.name == "widths",
        ),
        (r"Which terms stand was not tested\.", lambda: case.sure is None),
        (
            r"To test them: in Python, give SplitTest\(model\)\.fit\(X, y\) of "
            r"manykernels\.selection to explain or report\.write as how_sure\.",
            lambda: case.sure is None,
        ),
        (r"(?:Model of|A model of) .*|\d* ?terms?|Dark|Skip to the terms|Search terms", always),
    ]
    if case.sure is not None:
        found = case.sure.how_sure_
        told = found.sentences(model.explain(None), useful=True)
        said = {text for one in told for text in cut(one)}
        stands = r"It (stands|does not stand).*|Selected is the share of the parts of .*"
        known += [(re.escape(text), always) for text in said] + [(stands, always)]
    unknown = []
    for sentence in case.sentences:
        claims = [
            (pattern, claim, match)
            for pattern, claim in known
            if (match := re.fullmatch(pattern, sentence))
        ]
        if not claims:
            unknown.append(sentence)
            continue
        _, claim, match = claims[0]
        assert claim(*match.groups()), sentence
    assert not unknown, unknown
    assert len(case.sentences) > 25
    assert next(current)


def cut(text):
    return re.split(r"(?<=[.?!])\s+(?=[A-Z0-9])", text.replace("\u00a0", " "))


def test_a_plot_for_every_term_that_is_named(case):
    headings = {block for tag, block in case.text.blocks if tag == "h3"}
    drawable = [n for n in case.names if 1 <= len(case.model.function_.terms.columns(n)) <= 3]
    for sentence in case.sentences:
        for name in drawable:
            if re.search(rf"(?<![\w* ]){re.escape(name)} \(spread", sentence):
                assert name in headings, (name, sentence)
    assert set(case.matter) & set(drawable) <= headings


def test_correlated_terms_are_neither_hidden_nor_below_zero():
    """Two columns that cancel: covariance shares hide one, spreads do not."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=200)
    b = a + 0.3 * rng.normal(size=200)
    rows = np.column_stack([a, b, rng.normal(size=200)])
    model = MKLRegressor(degree=1, p=1, alpha=1e-4).fit(rows, 5 * a - 2 * b + 0.1 * rows[:, 2])
    table = model.explain(None).set_index("term")
    assert table.loc["x1", "share"] < 0
    assert table.index[1] == "x1"
    assert table.loc["x1", "spread"] > 1.0
    assert (table["spread"] >= 0).all()
    assert table.loc["x1", "loss_without"] > 0.01
