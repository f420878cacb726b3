"""What an attack ended in: a clear error, a right answer, or something wrong.

Clear: an error of ValueError or TypeError that a ``raise`` of the library or of scikit-learn's
checks has made, and that names what is wrong; on the command line a message without a traceback.
Right: an answer that passes checks of its own. Wrong: anything else, such as an error from inside,
a warning of bare NumPy, a crash, too much time or memory.
"""

import linecache
import re
import resource
import signal
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import sklearn

import manykernels

HOMES = tuple(str(Path(package.__file__).parent) for package in (manykernels, sklearn))
"""Folders of the code whose own errors may reach a user."""

SECONDS = 20.0
"""Seconds that a case may take unless it says otherwise."""

MOST_GROWTH = 2**31
"""Bytes by which a case may raise the largest memory of the process."""

LONGEST = 5_000
"""Most characters of a message."""

INNARDS = re.compile(
    r"has no attribute|object is not (callable|iterable|subscriptable)|unhashable|"
    r"operands could not|cannot reshape|broadcast|not aligned|singular matrix|LinAlg|"
    r"zero-size array|empty sequence|out of bounds|unsupported operand|NoneType|"
    r"truth value of an array|setting an array element|cannot convert float|positional argument|"
    r"not supported between|__\w+__"
)
"""Words of errors from inside, which say nothing to a user."""


BELOW = re.compile(r"overflow|underflow|invalid value|divide by|Mean of|Degrees of|Ill-cond")
"""How warnings of NumPy and SciPy begin."""


@dataclass(frozen=True)
class Verdict:
    """What a case ended in."""

    kind: str  # clear, right or wrong
    why: str


class WrongError(AssertionError):
    """Raised by checks of an answer: it is not right."""


class SaidError(Exception):
    """Raised where a command has failed with a clear message."""


class TooLongError(BaseException):
    """A case has taken more time than it may."""


def require(condition: object, words: str) -> None:
    """Raise WrongError unless a condition holds."""
    if not condition:
        raise WrongError(words)


def judged(act: Callable[[], object], names: str, seconds: float = SECONDS) -> Verdict:
    """Return what a call ends in; it checks its own answer with :func:`require`.

    ``names`` is a pattern of which a message must have some part: the names of what is wrong.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    try:
        with (
            redirect_stdout(StringIO()),
            redirect_stderr(StringIO()),
            warnings.catch_warnings(record=True) as heard,
            limited(seconds),
        ):
            warnings.simplefilter("always")
            act()
    except TooLongError:
        return Verdict("wrong", f"took more than {seconds:g} s")
    except WrongError as error:
        return Verdict("wrong", str(error))
    except SaidError as error:
        return Verdict("clear", str(error))
    except (ValueError, TypeError, ImportError) as error:
        flaw = unclear(error, names)
        return Verdict("wrong", flaw) if flaw else Verdict("clear", str(error))
    except Exception as error:
        return Verdict("wrong", f"{type(error).__name__}: {error} ({place_of(error)})")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    if grown > MOST_GROWTH:
        return Verdict("wrong", f"took {grown / 2**30:.1f} GB of memory")
    for one in heard:
        if bare(one):
            return Verdict("wrong", f"{one.category.__name__}: {one.message} ({one.filename})")
    return Verdict("right", "")


def unclear(error: Exception, names: str) -> str:
    """Return what is wrong with an error that a user sees; empty if nothing is."""
    said = f"{type(error).__name__}: {error}"
    home, line = place_of(error)
    if not home.startswith(HOMES) or not line.startswith("raise"):
        return f"an error from inside ({home}: {line}): {said}"
    return unclear_words(str(error), names) and f"{unclear_words(str(error), names)}: {said}"


def unclear_words(text: str, names: str) -> str:
    """Return what is wrong with the words of a message; empty if nothing is."""
    if len(text) > LONGEST:
        return f"a message of {len(text):,} characters"
    # The reason that a model file is refused for may be one from inside, beside what is wrong.
    if found := INNARDS.search(re.sub(r"no model that this version can read \(.*\)", "", text)):
        return f"words from inside ({found[0]})"
    if not re.search(names, text):
        return f"names nothing of {names!r}"
    return ""


def unclear_output(text: str, code: int, names: str) -> str:
    """Return what is wrong with the output of a command that failed; empty if nothing is."""
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())
    if "Traceback" in said:
        return f"a traceback: {said[-LONGEST:]}"
    if code not in (1, 2):
        return f"exit code {code}: {said[:LONGEST]}"
    flaw = unclear_words(said, names)
    return flaw and f"{flaw}: {said[:LONGEST]}"


def place_of(error: BaseException) -> tuple[str, str]:
    """Return the file and the line of code that an error was raised in."""
    *_, (frame, number) = traceback.walk_tb(error.__traceback__)
    name = frame.f_code.co_filename
    return name, linecache.getline(name, number).strip()


def bare(heard: warnings.WarningMessage) -> bool:
    """Tell whether a warning comes from below: overflow and the like."""
    return issubclass(heard.category, RuntimeWarning) and bool(BELOW.match(str(heard.message)))


class limited:  # noqa: N801 reads as a word where it is used
    """Raises TooLongError in the main thread after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.active = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        def ring(*_: object) -> None:
            raise TooLongError

        if self.active:
            self.old = signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        if self.active:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self.old)
