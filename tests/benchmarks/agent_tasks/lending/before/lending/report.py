"""What the desk prints in the evening."""


def report(library, day):
    """A line for each reader with overdue books."""
    lines = []
    for name in sorted(library.readers):
        overdue = library.readers[name].overdue(day)
        if overdue:
            lines.append(f"{name}: {', '.join(overdue)}")
    return "\n".join(lines)
