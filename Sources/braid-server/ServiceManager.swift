import BraidHTTP
import BraidRuntime
import Glibc

/// Such as systemd with `Type=notify`, if there is one: datagrams of `NAME=value` lines to `NOTIFY_SOCKET`
/// (sd_notify(3)).
struct ServiceManager {
    /// `@` first: in Linux's abstract namespace.
    private let path = getenv("NOTIFY_SOCKET").map { String(cString: $0) }

    /// Microseconds between two `WATCHDOG=1`, if expected from this process.
    private var watchdogTime: Int? {
        if let process = getenv("WATCHDOG_PID"), String(cString: process) != "\(getpid())" { return nil }
        return getenv("WATCHDOG_USEC").flatMap { Int(digits: String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil }
    }

    /// `READY=1`, for example.
    func notify(_ message: String) {
        guard let path else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        guard !name.isEmpty, name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        if name[0] == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        // An abstract name ends by its length, not a zero byte.
        let length = (MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + name.count
        _ = withUnsafeBytes(of: &address) { bytes in
            bytes.baseAddress.map {
                sendto(
                    socket, message, message.utf8.count, Int32(MSG_NOSIGNAL),
                    $0.assumingMemoryBound(to: sockaddr.self), socklen_t(length))
            }
        }
    }

    /// `WATCHDOG=1` after each answer to `GET /healthz`: if the event loops hang, the messages stop, and the process is
    /// restarted.
    func startWatchdog(of server: HTTPAddress) {
        guard path != nil, let time = watchdogTime else { return }
        startThread(named: "watchdog") {
            while true {
                let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                if (try? StatusLine.asking(server, request).status) == 200 { notify("WATCHDOG=1") }
                // A third, so that one failure does no harm.
                usleep(UInt32(clamping: max(time / 3, 1_000)))
            }
        }
    }
}
