"""First-fit packing."""


def pack(sizes, capacity):
    """Lists of sizes, one for each crate, by first fit."""
    raise NotImplementedError


def waste(crates, capacity):
    """The room that is left in all crates together."""
    return sum(capacity - sum(crate) for crate in crates)
