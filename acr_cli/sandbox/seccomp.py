"""System calls that no test needs and that reach past namespaces, refused by a filter of the kernel.

Namespaces do not hold everything: a process inherits the keyring of the session that acr was started in, in
which a login keeps tickets and passwords; and some calls have been ways into the kernel too often to be
offered to whatever a model writes. An engine refuses much the same. Calls of a foreign kind (x32) are refused
altogether, 32-bit ones of x86 by their own numbers. Other processors than these two get no filter.
"""

from __future__ import annotations

import errno
import os
import platform
import struct

# Numbers by kind of call: x86_64, i386, aarch64.
_REFUSED = {
    "add_key": (248, 286, 217),
    "request_key": (249, 287, 218),
    "keyctl": (250, 288, 219),
    "bpf": (321, 357, 280),
    "perf_event_open": (298, 336, 241),
    "userfaultfd": (323, 374, 282),
    "io_uring_setup": (425, 425, 425),
    "io_uring_enter": (426, 426, 426),
    "io_uring_register": (427, 427, 427),
    "unshare": (272, 310, 97),
    "setns": (308, 346, 268),
    "mount": (165, 21, 40),
    "move_mount": (429, 429, 429),
    "fsopen": (430, 430, 430),
    "open_by_handle_at": (304, 342, 265),
    "kexec_load": (246, 283, 104),
    "acct": (163, 51, 89),
    "swapon": (167, 87, 224),
    "syslog": (103, 103, 116),
}
_TIOCSTI = 0x5412  # types into a terminal on behalf of whoever sits there
_IOCTL = (16, 54, 29)

_X86_64, _I386, _AARCH64 = 0xC000003E, 0x40000003, 0xC00000B7
_KINDS = {"x86_64": ((_X86_64, 0), (_I386, 1)), "aarch64": ((_AARCH64, 2),)}
_X32 = 0x40000000

_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF: ld abs, jeq, jge, ret
_NUMBER, _ARCHITECTURE, _SECOND = 0, 4, 24  # offsets in what the filter sees of a call


def program(machine: str = "") -> bytes:
    """The filter for a machine, as the kernel takes it; "" is this one, b"" where there is none. Pure."""
    lines: list[bytes] = []
    for architecture, column in _KINDS.get(machine or platform.machine(), ()):
        part = _part(column, x32=architecture == _X86_64)
        lines += [_line(_LOAD, _ARCHITECTURE), _line(_EQUAL, architecture, otherwise=len(part)), *part]
    return b"".join([*lines, _line(_RETURN, _UNKNOWN)]) if lines else b""


def _part(column: int, *, x32: bool) -> list[bytes]:
    """What happens to calls of one kind; ends with a decision for each."""
    lines = [_line(_LOAD, _NUMBER)]
    if x32:
        lines += [_line(_AT_LEAST, _X32, otherwise=1), _line(_RETURN, _UNKNOWN)]
    for numbers in _REFUSED.values():
        lines += [_line(_EQUAL, numbers[column], otherwise=1), _line(_RETURN, _REFUSE)]
    lines += [_line(_EQUAL, _IOCTL[column], otherwise=3), _line(_LOAD, _SECOND)]
    lines += [_line(_EQUAL, _TIOCSTI, otherwise=1), _line(_RETURN, _REFUSE)]
    return [*lines, _line(_RETURN, _ALLOW)]


def _line(code: int, value: int, *, otherwise: int = 0) -> bytes:
    """One instruction; a comparison that fails leaves out the next `otherwise` ones."""
    return struct.pack("=HBBI", code, 0, otherwise, value)


def handed_over() -> int | None:
    """A new descriptor from which the filter can be read; None where there is none for this machine."""
    text = program()
    if not text:
        return None
    handle = os.memfd_create("acr-seccomp")
    os.write(handle, text)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
