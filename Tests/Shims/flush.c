// For LD_PRELOAD: a disk whose flushes are slow, held or failing, and crashes at a chosen point of a commit.
//
// BRAID_TEST_FLUSH_MICROSECONDS: how long each flush takes longer.
// BRAID_TEST_FLUSH_GATE: a directory of which these files are read:
//   closed   its exclusive lock holds each flush, which makes the file `held`
//   failing  each flush fails with EIO
//   strike   "k 7": SIGKILL before the 7th write or flush from then on; "f 7": the 7th flush fails with EIO
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static int opened(const char *name) {
    const char *directory = getenv("BRAID_TEST_FLUSH_GATE");
    char path[4096];
    if (!directory) return -1;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/// Whether the call must fail.
static int strikes(int is_flush) {
    static atomic_int calls, flushes;
    char text[32] = "";
    int file = opened("strike");
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count < 3) return 0;
    int call = ++calls, flush = is_flush ? ++flushes : 0, number = atoi(text + 2);
    if (text[0] == 'k' && call >= number) kill(getpid(), SIGKILL);
    return text[0] == 'f' && is_flush && flush >= number;
}

static void pass(void) {
    char held[4096];
    int gate = opened("closed");
    if (gate < 0) return;
    if (flock(gate, LOCK_SH | LOCK_NB) != 0) {
        snprintf(held, sizeof held, "%s/held", getenv("BRAID_TEST_FLUSH_GATE"));
        close(creat(held, 0600));
        flock(gate, LOCK_SH);
    }
    close(gate);
}

static int flush(const char *function, int descriptor) {
    const char *delay = getenv("BRAID_TEST_FLUSH_MICROSECONDS");
    if (delay) {
        struct timespec time = {0, atol(delay) * 1000};
        nanosleep(&time, NULL);
    }
    pass();
    int failing = opened("failing");
    if (failing >= 0) close(failing);
    if (failing >= 0 || strikes(1)) {
        errno = EIO;
        return -1;
    }
    return ((int (*)(int))dlsym(RTLD_NEXT, function))(descriptor);
}

int fdatasync(int descriptor) { return flush("fdatasync", descriptor); }
int fsync(int descriptor) { return flush("fsync", descriptor); }

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    strikes(0);
    return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(
        descriptor, bytes, count, offset);
}
