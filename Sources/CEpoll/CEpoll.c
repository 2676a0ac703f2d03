#define _GNU_SOURCE
#include "CEpoll.h"
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int argument_count;
static char **argument_values;

#ifdef __GLIBC__
// Only glibc passes main's arguments to constructors.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    argument_count = count;
    argument_values = values;
}
#endif

int cepoll_argument_count(void) { return argument_count; }

const char *cepoll_argument(int index) { return argument_values[index]; }

int cepoll_event(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void cepoll_signal(int event) {
    uint64_t one = 1;
    ssize_t written = write(event, &one, sizeof one);
    // EAGAIN: the counter is at its maximum, which wakes the loop as well.
    (void)written;
}

int cepoll_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

int cepoll_accept(int listener) { return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int cepoll_peer(int socket, unsigned char address[16]) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    if (getpeername(socket, (struct sockaddr *)&peer, &length) != 0) return 0;
    if (peer.ss_family == AF_INET6) {
        memcpy(address, &((struct sockaddr_in6 *)&peer)->sin6_addr, 16);
        return 1;
    }
    if (peer.ss_family != AF_INET) return 0;
    memset(address, 0, 10);
    memset(address + 10, 0xff, 2);
    memcpy(address + 12, &((struct sockaddr_in *)&peer)->sin_addr, 4);
    return 1;
}

int cepoll_unacknowledged(int socket) {
    int bytes = 0;
    return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

int cepoll_thread_id(void) { return (int)syscall(SYS_gettid); }

/// Not all C libraries declare `sched_attr`. `runtime` is a slice's nanoseconds, 0 for the default.
static void schedule(int thread, uint32_t policy, int nicer, uint64_t runtime) {
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; }
        attributes = {.policy = policy, .runtime = runtime};
    int present = sched_getscheduler(thread);
    if (present != SCHED_OTHER && present != SCHED_BATCH) return;
    attributes.size = sizeof attributes;
    attributes.nice = getpriority(PRIO_PROCESS, (id_t)thread) + nicer;
    if (attributes.nice > 19) attributes.nice = 19;
    syscall(SYS_sched_setattr, thread, &attributes, 0);
}

/// 0.1 ms is the shortest that Linux allows.
void cepoll_run_soon(int thread) { schedule(thread, SCHED_OTHER, 0, 100000); }

void cepoll_give_way(int thread) { schedule(thread, SCHED_BATCH, 4, 0); }

void cepoll_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

void cepoll_trim_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void cepoll_map_blocks(int bytes) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, bytes);
#else
    (void)bytes;
#endif
}
