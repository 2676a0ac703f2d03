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

/// The kernel's number of the calling thread (gettid(2)).
int cepoll_thread_id(void);
/// Sets the niceness of one thread of this process (setpriority(2), "C library/kernel differences"). To lower a priority
/// takes no privilege.
void cepoll_set_niceness(int thread, int niceness);
/// Names the calling thread: at most 15 bytes.
void cepoll_name_thread(const char *name);

/// Gives the pages that hold nothing back to the system (malloc_trim). Takes some milliseconds for each 100 MB.
void cepoll_trim_memory(void);
/// Blocks from this size on are mapped each by itself, and unmapped when they are freed (M_MMAP_THRESHOLD); by default
/// the allocator moves that limit up to 32 MiB, and keeps what it then cannot give back.
void cepoll_map_blocks(int bytes);

#endif
