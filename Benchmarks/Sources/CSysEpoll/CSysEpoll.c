#define _GNU_SOURCE
#include "CSysEpoll.h"
#include <string.h>

const void *csys_find(const void *bytes, size_t count, const void *wanted, size_t length) { return memmem(bytes, count, wanted, length); }
