"""Times: RFC 3339 to ages such as 5m or 3d4h, as kubectl prints them."""

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


def moment(text: str) -> datetime | None:
    """Return a time in the form of RFC 3339; None if it is not one."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def age(text: str, now: datetime) -> str:
    """Return the time since `text`; empty if it is no time. A clock that is behind gives 0s."""
    then = moment(text)
    return "" if then is None else duration(int((now - then).total_seconds()))


def duration(seconds: int) -> str:
    """Return a duration with one or two units, as kubectl's column AGE."""
    seconds = max(0, seconds)
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 3 * _HOUR:
        return _pair(seconds, _MINUTE, "m", 1, "s", below=10 * _MINUTE)
    if seconds < 2 * _DAY:
        return _pair(seconds, _HOUR, "h", _MINUTE, "m", below=8 * _HOUR)
    if seconds < 2 * _YEAR:
        return _pair(seconds, _DAY, "d", _HOUR, "h", below=8 * _DAY)
    return _pair(seconds, _YEAR, "y", _DAY, "d", below=8 * _YEAR)


def _pair(seconds: int, unit: int, letter: str, smaller: int, second: str, *, below: int) -> str:
    rest = seconds % unit // smaller if seconds < below else 0
    return f"{seconds // unit}{letter}" + (f"{rest}{second}" if rest else "")
