// The thread sanitizer sees the atomics of Swift's Mutex where they are compiled into our code, which is when nobody else
// wants the lock. When somebody does, the lock changes hands inside libswiftSynchronization, which is not instrumented,
// and everything that it guards looks like a race. Preloaded, these two tell the sanitizer what happened.
// Source: the Swift toolchain, stdlib/public/Synchronization/Mutex/LinuxImpl.swift.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// Not there in programs that are not instrumented.
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
