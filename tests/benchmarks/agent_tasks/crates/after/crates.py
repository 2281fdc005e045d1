"""First-fit packing."""


def pack(sizes, capacity):
    """Lists of sizes, one for each crate, by first fit."""
    crates = []
    for size in sizes:
        if not 0 < size <= capacity:
            raise ValueError(f"no crate of {capacity} takes a size of {size}")
        for crate in crates:
            if sum(crate) + size <= capacity:
                crate.append(size)
                break
        else:
            crates.append([size])
    return crates


def waste(crates, capacity):
    """The room that is left in all crates together."""
    return sum(capacity - sum(crate) for crate in crates)
