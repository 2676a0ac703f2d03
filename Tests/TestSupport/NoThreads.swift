#if os(Linux)
import Glibc

/// Makes every later start of a thread in this process fail. Call this function only in the process of an exit test.
///
/// The system does not limit the threads of the superuser, so the superuser's process becomes a process of `nobody`.
public func refuseThreads() {
    if geteuid() == 0 { precondition(setgid(65534) == 0 && setuid(65534) == 0) }
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    precondition(setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) == 0)
}
#endif
