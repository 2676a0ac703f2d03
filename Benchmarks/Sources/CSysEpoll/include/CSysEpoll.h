// What Glibc's Swift module lacks.
#include <sys/epoll.h>
