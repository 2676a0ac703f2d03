#if os(Linux)
import Glibc

/// From now on, starting a thread fails: only for the process of an exit test. The superuser's threads are not limited,
/// so its process becomes `nobody`'s.
public func refuseThreads() {
    if geteuid() == 0 { precondition(setgid(65534) == 0 && setuid(65534) == 0) }
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    precondition(setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) == 0)
}
#endif
