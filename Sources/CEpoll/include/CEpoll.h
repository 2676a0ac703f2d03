#ifndef CEPOLL_H
#define CEPOLL_H

// What Glibc's Swift module lacks for an event loop, and of its allocator. netinet/in.h stays out: it would clash with that module.
#include <sys/epoll.h>

/// A counter that wakes a loop: non-blocking, closed on exec. -1 and errno on failure.
int cepoll_event(void);
/// Adds one to the counter. Never blocks.
void cepoll_signal(int event);
/// A stream socket: non-blocking, closed on exec. -1 and errno on failure.
int cepoll_socket(int family);
/// The next waiting connection: non-blocking, closed on exec. -1 and errno on failure.
int cepoll_accept(int listener);
/// How many written bytes the peer has not acknowledged yet; -1 where the socket cannot tell.
int cepoll_unacknowledged(int socket);

/// Gives the pages that hold nothing back to the system (malloc_trim). Takes some milliseconds for each 100 MB.
void cepoll_trim_memory(void);
/// Blocks from this size on are mapped each by itself, and unmapped when they are freed (M_MMAP_THRESHOLD); by default
/// the allocator moves that limit up to 32 MiB, and keeps what it then cannot give back.
void cepoll_map_blocks(int bytes);

#endif
