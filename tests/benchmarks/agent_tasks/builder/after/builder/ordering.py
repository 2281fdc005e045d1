"""The order in which rules can be run."""

from builder.errors import CycleError


def order(rules):
    """The names of all rules, each after what it depends on, else in alphabetical order."""
    done = []

    def visit(name, path):
        if name in path:
            raise CycleError(" -> ".join((*path[path.index(name) :], name)))
        if name in done or name not in rules:
            return
        for need in sorted(rules[name].needs):
            visit(need, (*path, name))
        done.append(name)

    for name in sorted(rules):
        visit(name, ())
    return done
