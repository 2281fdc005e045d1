/* Makes one call that writes to the disk fail, for tests: LD_PRELOAD it.
 *
 * FAULT_AT=N      the N-th such call on a file whose path contains FAULT_UNDER fails, and FAULT_MORE after it
 * FAULT_ERROR=E   with this errno: 28 is ENOSPC, 5 is EIO
 * FAULT_COUNT=F   the number of such calls is written to the file F at exit
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls;

static int meant(int fd) {
    const char *under = getenv("FAULT_UNDER");
    char link[64], path[4096];
    if (!under) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return strstr(path, under) != NULL;
}

static int fails(void) {
    const char *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERROR"), *more = getenv("FAULT_MORE");
    long number = __sync_add_and_fetch(&calls, 1);
    long first = at ? atol(at) : 0;
    if (!first || number < first || number > first + (more ? atol(more) : 0)) return 0;
    errno = error ? atoi(error) : EIO;
    return 1;
}

#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

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

__attribute__((destructor)) static void told(void) {
    const char *name = getenv("FAULT_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", calls);
    fclose(file);
}
