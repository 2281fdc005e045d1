"""What the desk prints in the evening."""


def report(library, day):
    """A line for each reader who owes money or has overdue books."""
    lines = []
    for name in sorted(library.readers):
        reader = library.readers[name]
        debts = [f"owes {reader.owes:.2f}"] if reader.owes else []
        if found := debts + reader.overdue(day):
            lines.append(f"{name}: {', '.join(found)}")
    return "\n".join(lines)
