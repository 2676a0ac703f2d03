#ifndef CEPOLL_H
#define CEPOLL_H

// What Swift's module Glibc lacks. Must not include netinet/in.h, which conflicts with that module. Sockets and events
// are non-blocking and closed on exec; -1 with errno if there is none.
#include <sys/epoll.h>

/// An eventfd, to wake an event loop.
int cepoll_event(void);
/// Never blocks.
void cepoll_signal(int event);
/// A stream socket.
int cepoll_socket(int family);
int cepoll_accept(int listener);
/// The other end's address, IPv4 as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2). Returns 0 if it has no IP address.
int cepoll_peer(int socket, unsigned char address[16]);
/// Bytes written but not acknowledged by the other end. -1 if unknown.
int cepoll_unacknowledged(int socket);

/// Arguments of main; 0 if the C library does not tell.
int cepoll_argument_count(void);
/// The index must be below the count.
const char *cepoll_argument(int index);

/// Of the calling thread (gettid(2)).
int cepoll_thread_id(void);
// How the system schedules one thread (sched(7), sched_setattr(2)). Both can be undone, and need no privilege; another
// policy is an operator's choice for the process (chrt(1)), and stays.

/// Short slices (Linux 6.12): when the thread becomes ready, it soon interrupts others, but gets no more of the
/// processor. Undoes an inherited `cepoll_give_way`.
void cepoll_run_soon(int thread);
/// SCHED_BATCH: when the thread becomes ready, it interrupts no other.
void cepoll_give_way(int thread);
/// The calling thread; at most 15 bytes.
void cepoll_name_thread(const char *name);

/// Returns unused pages to the system (malloc_trim): some milliseconds for each 100 MB.
void cepoll_trim_memory(void);
/// The size from which a block is mapped separately and unmapped when freed (M_MMAP_THRESHOLD). By default it rises to
/// as much as 32 MiB, and smaller freed blocks are kept.
void cepoll_map_blocks(int bytes);

#endif
