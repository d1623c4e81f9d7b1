"""Times of the API server."""

from datetime import UTC, datetime, timedelta


def moment(text: str | None) -> datetime | None:
    """Parse a time of the API server. Return it in UTC, or None if it is missing or invalid."""
    try:
        time = datetime.fromisoformat(text or "")
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def after(time: datetime | None, delay: timedelta) -> datetime | None:
    """Return the time plus a delay. Return None if the time is unknown or the sum overflows."""
    try:
        return None if time is None else time + delay
    except OverflowError:
        return None
