#ifndef CEPOLL_H
#define CEPOLL_H

// The functions for event loops, memory and processes that Glibc's Swift module does not contain. This header must not include
// netinet/in.h, which conflicts with Glibc's module.
#include <sys/epoll.h>

/// Creates an event counter that wakes a loop: non-blocking, closed on exec. Returns -1 and sets errno on failure.
int cepoll_event(void);
/// Adds one to an event counter, which wakes the counter's loop. Never blocks.
void cepoll_signal(int event);
/// Creates a stream socket: non-blocking, closed on exec. Returns -1 and sets errno on failure.
int cepoll_socket(int family);
/// Accepts the next waiting connection: non-blocking, closed on exec. Returns -1 and sets errno on failure.
int cepoll_accept(int listener);
/// Writes the IP address of a connected socket's peer to `address`, an IPv4 address as an IPv4-mapped IPv6 address (RFC
/// 4291, 2.5.5.2). Returns 0 if the peer has no IP address.
int cepoll_peer(int socket, unsigned char address[16]);
/// Returns the number of written bytes that the peer has not acknowledged, or -1 if the socket does not know this
/// number.
int cepoll_unacknowledged(int socket);

/// Returns the number of arguments of the process's main function, or 0 if the C library does not tell it.
int cepoll_argument_count(void);
/// Returns an argument of the process's main function. The index is from 0 to below the number of arguments.
const char *cepoll_argument(int index);

/// Returns the kernel's ID of the calling thread (gettid(2)).
int cepoll_thread_id(void);
/// Sets the niceness of one thread of this process (setpriority(2), "C library/kernel differences"). Lowering a
/// priority needs no privilege.
void cepoll_set_niceness(int thread, int niceness);
/// Sets the name of the calling thread. The name has at most 15 bytes.
void cepoll_name_thread(const char *name);

/// Returns unused pages to the system (malloc_trim). The call takes some milliseconds for each 100 MB.
void cepoll_trim_memory(void);
/// Sets the size in bytes from which a block is mapped separately and unmapped when it is freed (M_MMAP_THRESHOLD). By
/// default the allocator raises this size to as much as 32 MiB, and keeps smaller freed blocks that it cannot unmap.
void cepoll_map_blocks(int bytes);

#endif
