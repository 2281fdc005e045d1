"""Card numbers: check digits, issuers, and display."""

ISSUERS = {
    "4": ("Visa", (13, 16, 19)),
    "34": ("American Express", (15,)),
    "37": ("American Express", (15,)),
    "51": ("Mastercard", (16,)),
    "55": ("Mastercard", (16,)),
}


def digits_of(number: str) -> list[int]:
    """The digits of a number written with or without blanks and dashes."""
    plain = number.replace(" ", "").replace("-", "")
    if not plain.isdigit():
        raise ValueError("a card number has only digits")
    return [int(character) for character in plain]


def luhn_sum(digits: list[int]) -> int:
    """The weighted sum of the Luhn test: every second digit from the right is doubled."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        if place % 2 == 1:
            digit *= 2
            if digit > 9:
                digit -= 10
        total += digit
    return total


def is_valid(number: str) -> bool:
    return luhn_sum(digits_of(number)) % 10 == 0


def check_digit(partial: str) -> int:
    """The digit to append so that the number becomes valid."""
    return -luhn_sum([*digits_of(partial), 0]) % 10


def issuer(number: str) -> str | None:
    """The issuer by prefix and length, or None."""
    digits = digits_of(number)
    plain = "".join(map(str, digits))
    for prefix, (name, lengths) in ISSUERS.items():
        if plain.startswith(prefix) and len(plain) in lengths:
            return name
    return None


def masked(number: str) -> str:
    """The number with all but its last four digits hidden."""
    plain = "".join(map(str, digits_of(number)))
    return "*" * (len(plain) - 4) + plain[-4:]
