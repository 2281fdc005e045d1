/* Makes one call that writes to the disk fail, for tests: LD_PRELOAD it.
 *
 * FAULT_AT=N      the N-th such call on a file whose path contains FAULT_UNDER fails, and FAULT_MORE after it
 * FAULT_ERROR=E   with this errno: 28 is ENOSPC, 5 is EIO; 0: the process is killed before it
 * FAULT_COUNT=F   the number of such calls is written to the file F at exit
 * FAULT_NAMES=1   calls that make, rename or remove names count as well: open, rename, link, mkdir, unlink
 * FAULT_FIRED=F   a line is added to the file F for each call that failed
 * FAULT_ONLY=P    in programs whose name begins with P alone
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls;

static int here(void) {
    const char *only = getenv("FAULT_ONLY");
    return !only || strncmp(program_invocation_short_name, only, strlen(only)) == 0;
}

static int meant(int fd) {
    const char *under = getenv("FAULT_UNDER");
    char link[64], path[4096];
    if (!under || !here()) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return strstr(path, under) != NULL;
}

#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

static void fired(long number) {
    const char *name = getenv("FAULT_FIRED");
    char line[64];
    int fd = name ? REAL("open", int, const char *, int, ...)(name, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (fd < 0) return;
    int size = snprintf(line, sizeof line, "%ld\n", number);
    if (REAL("write", ssize_t, int, const void *, size_t)(fd, line, size) < 0) perror(name);
    close(fd);
}

static int fails(void) {
    const char *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERROR"), *more = getenv("FAULT_MORE");
    long number = __sync_add_and_fetch(&calls, 1);
    long first = at ? atol(at) : 0;
    if (!first || number < first || number > first + (more ? atol(more) : 0)) return 0;
    fired(number);
    if (error && !atoi(error)) kill(getpid(), SIGKILL);
    errno = error ? atoi(error) : EIO;
    return 1;
}

ssize_t write(int fd, const void *data, size_t size) {
    if (meant(fd) && fails()) return -1;
    return REAL("write", ssize_t, int, const void *, size_t)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    if (meant(fd) && fails()) return -1;
    return REAL("pwrite", ssize_t, int, const void *, size_t, off_t)(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    if (meant(fd) && fails()) return -1;
    return REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t)(fd, data, size, offset);
}
int fsync(int fd) {
    if (meant(fd) && fails()) return -1;
    return REAL("fsync", int, int)(fd);
}
int fdatasync(int fd) {
    if (meant(fd) && fails()) return -1;
    return REAL("fdatasync", int, int)(fd);
}
int ftruncate(int fd, off_t size) {
    if (meant(fd) && fails()) return -1;
    return REAL("ftruncate", int, int, off_t)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    if (meant(fd) && fails()) return -1;
    return REAL("ftruncate64", int, int, off64_t)(fd, size);
}
int posix_fallocate(int fd, off_t offset, off_t size) {
    if (meant(fd) && fails()) return errno;
    return REAL("posix_fallocate", int, int, off_t, off_t)(fd, offset, size);
}

/* FAULT_LOCKS=E makes every lock on such a file fail with errno E, as on a file system without locks. */
static int locks(int command) { return command == F_SETLK || command == F_SETLKW; }

int fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (locks(command) && getenv("FAULT_LOCKS") && meant(fd)) {
        errno = atoi(getenv("FAULT_LOCKS"));
        return -1;
    }
    return REAL("fcntl", int, int, int, void *)(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (locks(command) && getenv("FAULT_LOCKS") && meant(fd)) {
        errno = atoi(getenv("FAULT_LOCKS"));
        return -1;
    }
    return REAL("fcntl64", int, int, int, void *)(fd, command, argument);
}

/* With FAULT_NAMES, what makes, renames or removes a name fails too. */
static int named(int folder, const char *path) {
    const char *under = getenv("FAULT_UNDER");
    if (!under || !path || !getenv("FAULT_NAMES") || !here()) return 0;
    if (*path != '/' && folder != AT_FDCWD && meant(folder)) return 1;
    return strstr(path, under) != NULL;
}
static int makes(int flags) { return flags & (O_WRONLY | O_RDWR | O_CREAT); }

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        va_list list;                                                               \
        va_start(list, flags);                                                      \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;     \
        va_end(list);                                                               \
        if (makes(flags) && named(AT_FDCWD, path) && fails()) return -1;            \
        return REAL(#name, int, const char *, int, ...)(path, flags, mode);         \
    }
#define OPENAT(name)                                                                \
    int name(int folder, const char *path, int flags, ...) {                        \
        va_list list;                                                               \
        va_start(list, flags);                                                      \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;     \
        va_end(list);                                                               \
        if (makes(flags) && named(folder, path) && fails()) return -1;              \
        return REAL(#name, int, int, const char *, int, ...)(folder, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int rename(const char *from, const char *to) {
    if (named(AT_FDCWD, to) && fails()) return -1;
    return REAL("rename", int, const char *, const char *)(from, to);
}
int link(const char *from, const char *to) {
    if (named(AT_FDCWD, to) && fails()) return -1;
    return REAL("link", int, const char *, const char *)(from, to);
}
int linkat(int folder, const char *from, int place, const char *to, int flags) {
    if (named(place, to) && fails()) return -1;
    return REAL("linkat", int, int, const char *, int, const char *, int)(folder, from, place, to, flags);
}
int mkdir(const char *path, mode_t mode) {
    if (named(AT_FDCWD, path) && fails()) return -1;
    return REAL("mkdir", int, const char *, mode_t)(path, mode);
}
int unlink(const char *path) {
    if (named(AT_FDCWD, path) && fails()) return -1;
    return REAL("unlink", int, const char *)(path);
}
int unlinkat(int folder, const char *path, int flags) {
    if (named(folder, path) && fails()) return -1;
    return REAL("unlinkat", int, int, const char *, int)(folder, path, flags);
}

__attribute__((destructor)) static void told(void) {
    const char *name = getenv("FAULT_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", calls);
    fclose(file);
}
