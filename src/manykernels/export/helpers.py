"""Functions that exported Python carries along, as text; it imports nothing but math."""

from __future__ import annotations

from ..frames.written import YEAR

GAP = '''
def _gap(value):
    """Tell whether a value is missing."""
    return value is None or (value != value) is True
'''

FINITE_NUMBER = '''
def _number(value, middle, name):
    """Return a finite number; ``middle`` where it is missing, if that is one."""
    if _gap(value) and middle is None:
        raise ValueError(f"column {name!r} must have a value; got none")
    try:
        number = middle if _gap(value) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"column {name!r} must hold plain, finite numbers; got {value!r}")
    return number
'''

DAYS_TO_MONTH = '''
def _days(year, month):
    """Return the days from 1970 to the first of a month."""
    last, leap = year - 1, year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = 365 * (year - 1970) + last // 4 - last // 100 + last // 400 - 477
    days += (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)[month - 1]
    return days + (leap and month > 2)
'''

DAYS_TO_NEXT = '''
def _next(year, month):
    """Return the days from 1970 to the first of the month after one."""
    return _days(year + month // 12, month % 12 + 1)
'''

SECONDS = '''
def _seconds(value, style):
    """Return the seconds from 1970 to a date or time; it is in UTC unless it says otherwise."""
    if hasattr(value, "year"):
        year, month, day = value.year, value.month, value.day
        seconds = 3600 * getattr(value, "hour", 0) + 60 * getattr(value, "minute", 0)
        seconds += getattr(value, "second", 0) + getattr(value, "microsecond", 0) / 1e6
        offset = value.utcoffset() if hasattr(value, "utcoffset") else None
        seconds -= 0 if offset is None else offset.total_seconds()
    else:
        year, month, day, seconds = _written(str(value).strip(), style)
    if not (1 <= month <= 12 and 1 <= day <= _next(year, month) - _days(year, month)):
        raise ValueError(f"{value!r} is no date")
    return 86400.0 * (_days(year, month) + day - 1) + seconds
'''

YEARS = f'''
def _years(value, middle, style):
    """Return a date or time in decimal years."""
    return middle if _gap(value) else 1970 + _seconds(value, style) / {YEAR!r}
'''

WEEK_DAY = '''
def _week_day(value, middle, style):
    """Return the day of the week of a date or time in UTC, from 0 for Monday to 6."""
    # The first day of 1970 was a Thursday.
    return middle if _gap(value) else (_seconds(value, style) // 86400 + 3) % 7
'''

HOUR_OF_DAY = '''
def _hour(value, middle, style):
    """Return the hours since midnight in UTC of a date or time."""
    return middle if _gap(value) else _seconds(value, style) % 86400 / 3600
'''

MONTH_AND_SHARE = '''
def _month(value, middle, style):
    """Return the month in UTC of a date or time, and the share of it that has passed."""
    if _gap(value):
        return middle
    days = _seconds(value, style) / 86400
    year = math.floor(1970 + days / 365.2425)
    year += (days >= _days(year + 1, 1)) - (days < _days(year, 1))  # the calendar is a bit off
    month = max(m for m in range(1, 13) if days >= _days(year, m))
    first = _days(year, month)
    return month + (days - first) / (_next(year, month) - first)
'''

WRITTEN = '''
def _written(text, style):
    """Return year, month, day and seconds in UTC of a date as it is written."""
    if style and not (text[:4].isdigit() and text[4:5] == "-"):
        date, _, clock = text.replace(",", " ").upper().partition(" ")
        bare, seconds = clock.replace("AM", "").replace("PM", "").strip(), 0.0
        for unit, part in zip((3600, 60, 1), bare.split(":") if bare else ()):
            seconds += unit * float(part)
        if clock.strip() != bare:  # the hours of half a day, of which the first is called 12
            seconds += 43200 * ("PM" in clock) - 43200 * (seconds >= 43200)
        parts = dict(zip(style[1:], date.split(style[0])))
        return int(parts["y"]), int(parts["m"]), int(parts["d"]), seconds
    clock, seconds = text[10:].replace("T", " ").strip(), 0.0
    for mark, sign in (("Z", 0), ("+", -1), ("-", 1)):
        if mark in clock:
            clock, shift = clock.split(mark)
            shift = shift.replace(":", "")
            seconds += sign * (3600 * int(shift[:2] or 0) + 60 * int(shift[2:4] or 0))
    for unit, part in zip((3600, 60, 1), clock.split(":") if clock else ()):
        seconds += unit * float(part)
    return int(text[:4]), int(text[5:7]), int(text[8:10]), seconds
'''

CODE = '''
def _code(value, codes, unknown, gap):
    """Return the code of a category, by its text as in training.

    Whole numbers are the same as integers and floats, dates the same as moments at midnight.
    """
    if _gap(value):
        return gap
    if hasattr(value, "dtype") and hasattr(value, "item"):  # of NumPy
        value = value.item()
    if hasattr(value, "year") and getattr(value, "tzinfo", value) is None:
        value = str(value).removesuffix(" 00:00:00")
    if isinstance(value, float) and math.isfinite(value):
        value = int(value) if value.is_integer() else repr(float(value))
    return codes.get(str(value).strip(), unknown)
'''

LEVELS = '''
def _levels(z, values, high, low):
    """Return a function for each value; all are zero elsewhere."""
    if z not in values:
        return (0.0,) * len(values)
    return [h if z == value else l for value, h, l in zip(values, high, low)]
'''

POWERS = '''
def _powers(z, middle, reach, polynomials):
    """Return polynomials by their coefficients, from that of the constant on."""
    t = min(max((z - middle) / reach, -1.5), 1.5)
    return [sum(c * t**k for k, c in enumerate(own)) for own in polynomials]
'''

PLACE = '''
def _place(z, places, evenly):
    """Return where a value lies on a scale, between points in proportion."""
    if z <= places[0]:
        return evenly[0]
    if z >= places[-1]:
        return evenly[-1]
    low, high = 0, len(places) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if places[middle] <= z else (low, middle)
    slope = (evenly[high] - evenly[low]) / (places[high] - places[low])
    return evenly[low] + slope * (z - places[low])
'''

SMOOTH = '''
def _smooth(z, places, evenly, axes, lowest, highest, mean, factor):
    """Return sums of cubic B-splines, kept between their least and largest values."""
    s = _place(z, places, evenly) * (len(axes) - 3)
    cell = min(int(s), len(axes) - 4)
    w = s - cell
    basis = ((1 - w) ** 3, 3 * w**3 - 6 * w**2 + 4, -3 * w**3 + 3 * w**2 + 3 * w + 1, w**3)
    out = []
    for k, (low, high, centre) in enumerate(zip(lowest, highest, mean)):
        value = sum(b * axes[cell + i][k] for i, b in enumerate(basis)) / 6
        out.append((min(max(value, low), high) - centre) * factor)
    return out
'''

BELLS = '''
def _bells(z, points, gamma, sums, mean, factor, places=None, evenly=None):
    """Return sums of Gaussian functions around points."""
    if places is not None:
        z = (_place(z[0], places, evenly),)
    bells = [
        math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(z, point))) for point in points
    ]
    values = [sum(c * bell for c, bell in zip(own, bells)) for own in sums]
    return [(value - centre) * factor for value, centre in zip(values, mean)]
'''

PART = '''
def _part(table, *functions):
    """Return the sum of a table times the products of functions, one of each list."""
    if not functions:
        return table
    first, *rest = functions
    return sum(value * _part(row, *rest) for value, row in zip(first, table))
'''

LOGISTIC = '''
def _logistic(value):
    """Return a probability."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    power = math.exp(value)
    return power / (1 + power)
'''

LINEAR = '''
def _linear(value):
    """Return a probability."""
    return min(max((1 + value) / 2, 0.0), 1.0)
'''

HELPERS = {
    "_gap": GAP,
    "_number": FINITE_NUMBER,
    "_days": DAYS_TO_MONTH,
    "_next": DAYS_TO_NEXT,
    "_written": WRITTEN,
    "_seconds": SECONDS,
    "_years": YEARS,
    "_week_day": WEEK_DAY,
    "_hour": HOUR_OF_DAY,
    "_month": MONTH_AND_SHARE,
    "_code": CODE,
    "_levels": LEVELS,
    "_powers": POWERS,
    "_place": PLACE,
    "_smooth": SMOOTH,
    "_bells": BELLS,
    "_part": PART,
    "_logistic": LOGISTIC,
    "_linear": LINEAR,
}
"""The functions by name; one calls only those before it."""
