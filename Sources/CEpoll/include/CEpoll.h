#ifndef CEPOLL_H
#define CEPOLL_H

// Functions for event loops, memory and processes that Swift's module Glibc does not contain. This header must not
// include netinet/in.h, which conflicts with the module Glibc.
#include <sys/epoll.h>

/// Creates an event counter (eventfd), which can wake an event loop. The descriptor is non-blocking and closed on exec.
/// Returns -1 and sets errno on failure.
int cepoll_event(void);
/// Adds one to an event counter, which wakes the event loop that waits for the counter. Never blocks.
void cepoll_signal(int event);
/// Creates a stream socket, which is non-blocking and closed on exec. Returns -1 and sets errno on failure.
int cepoll_socket(int family);
/// Accepts the next waiting connection of a listening socket. The new socket is non-blocking and closed on exec.
/// Returns -1 and sets errno on failure.
int cepoll_accept(int listener);
/// Writes the IP address of the other end of a connected socket to `address`. An IPv4 address is written as an
/// IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2). Returns 0 if the other end has no IP address.
int cepoll_peer(int socket, unsigned char address[16]);
/// Returns the number of bytes that were written to a socket and that the other end has not acknowledged. Returns -1 if
/// this number is not known for the socket.
int cepoll_unacknowledged(int socket);

/// Returns the number of arguments of the process's main function, or 0 if the C library does not provide the
/// arguments.
int cepoll_argument_count(void);
/// Returns one argument of the process's main function. The index counts from 0 and must be less than the number of
/// arguments.
const char *cepoll_argument(int index);

/// Returns the kernel's ID of the calling thread (gettid(2)).
int cepoll_thread_id(void);
/// Sets the niceness of one thread of this process (setpriority(2), "BUGS"). Lowering a thread's priority needs no
/// privilege.
void cepoll_set_niceness(int thread, int niceness);
/// Sets the name of the calling thread. The name has at most 15 bytes.
void cepoll_name_thread(const char *name);

/// Returns unused memory pages to the operating system (malloc_trim). The call takes some milliseconds for each 100 MB.
void cepoll_trim_memory(void);
/// Sets the size in bytes from which the allocator maps a block separately and unmaps it when it is freed
/// (M_MMAP_THRESHOLD). By default, the allocator raises this size to as much as 32 MiB. It then keeps freed blocks
/// below this size.
void cepoll_map_blocks(int bytes);

#endif
