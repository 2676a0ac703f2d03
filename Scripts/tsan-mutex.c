// Tells the thread sanitizer about Swift's Mutex. While only one thread wants a lock, the lock's atomic operations are
// inlined into our own code, which the sanitizer sees. If several threads want a lock, one thread passes the lock to
// another inside libswiftSynchronization. This library is not instrumented, so accesses to the guarded data look like
// races. The two functions below are preloaded, and report these locks and unlocks to the sanitizer. Source: the Swift
// toolchain, stdlib/public/Synchronization/Mutex/LinuxImpl.swift.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// These two functions are the sanitizer's. They do not exist in programs that are not instrumented.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

SWIFT void lock_slow(uint32_t thread, SELF) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void unlock_slow(SELF) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFT void lock_slow(uint32_t thread, SELF) {
    static SWIFT void (*real)(uint32_t, SELF);
    if (!real) real = dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    real(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void unlock_slow(SELF) {
    static SWIFT void (*real)(SELF);
    if (!real) real = dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    if (__tsan_release) __tsan_release(self);
    real(self);
}
