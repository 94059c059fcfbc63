/* Calls of the system below one folder, for tests: the nth of a kind fails, and all are recorded.

   Loaded with LD_PRELOAD. `calls_watch` says which folder, which call fails and how, and where the
   record goes: a line for each call that changed something, with the bytes that were written. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { KILL = -1, SHORT = -2, MOST = 1024 };

static char folder[PATH_MAX], failing[16];
static long nth, counted;
static int failure;
static FILE *record;
static char *opened[MOST]; /* the path behind a descriptor */

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void calls_watch(const char *path, const char *call, long number, int how, const char *file) {
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(failing, sizeof failing, "%s", call);
    nth = number;
    failure = how;
    counted = 0;
    record = *file ? fopen(file, "ae") : NULL;
}

static int watched(const char *path) {
    size_t length = strlen(folder);
    return length && path && !strncmp(path, folder, length) &&
           (path[length] == '/' || !path[length]);
}

/* An absolute path of what is named, relative to the current folder. */
static const char *absolute(const char *path, char *room) {
    if (!path || path[0] == '/') return path;
    if (!getcwd(room, PATH_MAX / 2)) return path;
    strncat(room, "/", PATH_MAX - strlen(room) - 1);
    strncat(room, path, PATH_MAX - strlen(room) - 1);
    return room;
}

static void note(const char *call, const char *path, const char *other) {
    if (!record) return;
    fprintf(record, "%s\t%s\t%s\n", call, path, other);
    fflush(record);
}

/* Is it this call's turn to fail? 0, or the number of the error; a kill does not come back. */
static int fails(const char *call) {
    if (strcmp(call, failing) || counted++ != nth) return 0;
    note("failed", call, "");
    if (failure == KILL) raise(SIGKILL);
    return failure;
}

static const char *behind(int fd) { return fd >= 0 && fd < MOST ? opened[fd] : NULL; }

static int keep(int fd, const char *path) {
    if (fd >= 0 && fd < MOST) {
        free(opened[fd]);
        opened[fd] = watched(path) ? strdup(path) : NULL;
    }
    return fd;
}

#define OPEN(name) \
    int name(const char *given, int flags, ...) { \
        REAL(int, #name, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0; \
        va_end(rest); \
        char room[PATH_MAX]; \
        const char *path = absolute(given, room); \
        int error = watched(path) ? fails("open") : 0; \
        if (error > 0) return errno = error, -1; \
        int there = access(path, F_OK) == 0; \
        int named = (flags & O_TMPFILE) != O_TMPFILE; \
        char unnamed[2 * PATH_MAX]; \
        snprintf(unnamed, sizeof unnamed, "%s/.unnamed", path); \
        int fd = keep(real(given, flags, mode), named ? path : unnamed); \
        if (fd >= 0 && watched(path) && named) { \
            if (flags & O_CREAT && !there) note("create", path, ""); \
            else if (flags & O_TRUNC) note("empty", path, ""); \
        } \
        return fd; \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    REAL(int, "close", int);
    keep(fd, NULL);
    return real(fd);
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    const char *path = behind(fd);
    int error = path ? fails("write") : 0;
    if (error > 0) return errno = error, -1;
    if (error == SHORT && size > 1) size /= 2;
    off_t at = path ? lseek(fd, 0, SEEK_CUR) : 0;
    struct stat status;
    if (path && fcntl(fd, F_GETFL) & O_APPEND && !fstat(fd, &status)) at = status.st_size;
    ssize_t done = real(fd, data, size);
    if (path && done > 0 && record) {
        fprintf(record, "write\t%s\t%lld\t", path, (long long)at);
        for (ssize_t i = 0; i < done; i++) fprintf(record, "%02x", ((unsigned char *)data)[i]);
        fputc('\n', record);
        fflush(record);
    }
    return done;
}

/* Nothing has to be on the disk: no test outlives the machine. */
int fsync(int fd) {
    const char *path = behind(fd);
    int error = path ? fails("fsync") : 0;
    if (error > 0) return errno = error, -1;
    if (path) note("fsync", path, "");
    return 0;
}

int fchmod(int fd, mode_t mode) {
    REAL(int, "fchmod", int, mode_t);
    int error = behind(fd) ? fails("chmod") : 0;
    return error > 0 ? (errno = error, -1) : real(fd, mode);
}

int chmod(const char *given, mode_t mode) {
    REAL(int, "chmod", const char *, mode_t);
    char room[PATH_MAX];
    int error = watched(absolute(given, room)) ? fails("chmod") : 0;
    return error > 0 ? (errno = error, -1) : real(given, mode);
}

int fchmodat(int at, const char *given, mode_t mode, int flags) {
    REAL(int, "fchmodat", int, const char *, mode_t, int);
    char room[PATH_MAX];
    int error = watched(absolute(given, room)) ? fails("chmod") : 0;
    return error > 0 ? (errno = error, -1) : real(at, given, mode, flags);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    char first[PATH_MAX], second[PATH_MAX];
    const char *old = absolute(from, first), *new = absolute(to, second);
    int error = watched(new) ? fails("rename") : 0;
    if (error > 0) return errno = error, -1;
    int done = real(from, to);
    if (!done && watched(new)) note("rename", old, new);
    return done;
}

int unlink(const char *given) {
    REAL(int, "unlink", const char *);
    char room[PATH_MAX];
    const char *path = absolute(given, room);
    int error = watched(path) ? fails("unlink") : 0;
    if (error > 0) return errno = error, -1;
    int done = real(given);
    if (!done && watched(path)) note("unlink", path, "");
    return done;
}

int mkdir(const char *given, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    char room[PATH_MAX];
    const char *path = absolute(given, room);
    int error = watched(path) ? fails("mkdir") : 0;
    if (error > 0) return errno = error, -1;
    int done = real(given, mode);
    if (!done && watched(path)) note("mkdir", path, "");
    return done;
}

int flock(int fd, int operation) {
    REAL(int, "flock", int, int);
    int error = behind(fd) ? fails("flock") : 0;
    return error > 0 ? (errno = error, -1) : real(fd, operation);
}
