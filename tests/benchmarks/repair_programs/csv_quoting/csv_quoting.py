"""Read and write comma-separated lines with quoted fields (RFC 4180)."""

from collections.abc import Iterable

SPECIAL = (",", '"', "\n", "\r")


class CsvError(ValueError):
    """A line whose quotes do not close."""


def quote(field: str) -> str:
    """The field as it is written in a line; quoted only where that is needed."""
    if any(character in field for character in SPECIAL):
        return '"' + field.replace('"', '\\"') + '"'
    return field


def write_row(fields: Iterable[object]) -> str:
    return ",".join(quote("" if field is None else str(field)) for field in fields)


def read_row(line: str) -> list[str]:
    """The fields of one line, without their quotes."""
    fields: list[str] = []
    field = ""
    quoted = False
    position = 0
    while position < len(line):
        character = line[position]
        if quoted:
            if line.startswith('""', position):
                field += '"'
                position += 1
            elif character == '"':
                quoted = False
            else:
                field += character
        elif character == '"':
            quoted = True
        elif character == ",":
            fields.append(field)
            field = ""
        else:
            field += character
        position += 1
    if quoted:
        raise CsvError(f"quote is not closed: {line!r}")
    return [*fields, field]


def to_table(rows: Iterable[Iterable[object]]) -> str:
    """All rows as text with the line ends of RFC 4180."""
    return "".join(write_row(row) + "\r\n" for row in rows)
