// Declares C functions that Swift's module Glibc does not contain.
#include <sys/epoll.h>
#include <stddef.h>

/// Calls memmem, which Glibc declares only with _GNU_SOURCE.
const void *csys_find(const void *bytes, size_t count, const void *wanted, size_t length);
