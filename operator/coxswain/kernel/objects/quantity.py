"""Quantities in canonical form: `1000m` is `1`, `0.5` is `500m`, `1024Mi` is `1Gi`.

Follows apimachinery's `resource.Quantity` (https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity): no
fractional digits, and the largest possible suffix. The API server also rounds container resources up to thousandths
when it sets defaults (`SetDefaults_ResourceList` in pkg/apis/core/v1/defaults.go).
"""

import re
from fractions import Fraction

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_QUANTITY = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|[KMGTPE]i))?")
_FINEST = Fraction(1, 1000)
_LARGEST = 2**63 - 1


def canonical(value: int | str) -> str:
    """Return the canonical form of a quantity, as the API server stores it.

    Raises:
        ValueError: the text is not a quantity.
    """
    text = str(value)
    match = _QUANTITY.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise ValueError(f"{text!r} is no quantity: write a number with an optional unit, such as 500m, 0.5 or 128Mi")
    sign, whole, fraction, exponent, unit = match.groups()
    number = Fraction(f"{whole or 0}.{fraction or 0}")
    if unit in _BINARY:
        size = number * 1024 ** _BINARY[unit]
    elif exponent:
        size = number * Fraction(10) ** int(exponent[1:])
    else:
        size = number * Fraction(1000) ** _DECIMAL[unit or ""]
    size = min(_rounded_up(size), Fraction(_LARGEST))
    prefix = "-" if sign == "-" and size else ""
    # Canonical form uses no binary suffix below 1Ki, nor for a fraction.
    if unit in _BINARY and size >= 1024 and size.denominator == 1:
        return prefix + _binary(int(size))
    return prefix + _decimal(size, "e" if exponent else "")


def _rounded_up(size: Fraction) -> Fraction:
    return -(-size // _FINEST) * _FINEST


def _binary(size: int) -> str:
    unit = ""
    for name in _BINARY:
        if size % 1024:
            break
        size, unit = size // 1024, name
    return f"{size}{unit}"


def _decimal(size: Fraction, exponent: str) -> str:
    if not size:
        return "0"
    power = -1
    size /= _FINEST
    number = int(size)
    while number % 1000 == 0 and power < 6:
        number, power = number // 1000, power + 1
    if exponent:
        return f"{number}e{power * 3}" if power else str(number)
    return str(number) + next(unit for unit, known in _DECIMAL.items() if known == power)
