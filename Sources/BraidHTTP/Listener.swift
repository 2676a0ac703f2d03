import CEpoll
import Glibc

package enum HTTPAddress: Sendable, Equatable, CustomStringConvertible {
    /// The system chooses a port for 0.
    case tcp(host: String, port: Int)
    case unix(path: String)

    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}

/// The server does not start, or `braid-server health` gets no answer.
package struct HTTPServerError: Error, CustomStringConvertible {
    package var description: String

    package init(_ what: String, errno code: Int32) {
        description = "\(what): \(String(cString: strerror(code)))"
    }

    package init(_ what: String) {
        description = what
    }
}

struct Listener: Sendable {
    let socket: Int32
    let address: HTTPAddress
    /// Of the Unix socket's file that this made, so that `close` removes no other's.
    private var file: (device: dev_t, inode: ino_t)?
    private let backlog: Int32

    init(
        _ address: HTTPAddress, socketMode: mode_t = 0o600, backlog: Int, userTimeout: Int
    ) throws(HTTPServerError) {
        self.backlog = Int32(clamping: backlog)
        switch address {
        case .tcp(let host, let port):
            (socket, self.address) = try Self.bindTCP(host, port, userTimeout: userTimeout)
        case .unix(let path):
            socket = try Self.bindUnix(path)
            self.address = address
            var status = stat()
            if stat(path, &status) == 0 { file = (status.st_dev, status.st_ino) }
            // Nobody can connect before `listen`, so the umask's permissions were safe.
            guard chmod(path, socketMode) == 0 else {
                let code = errno
                close()
                throw HTTPServerError("cannot set the permissions of \(address)", errno: code)
            }
        }
        guard listen(socket, self.backlog) == 0 else {
            let code = errno
            close()
            throw HTTPServerError("cannot listen on \(address)", errno: code)
        }
    }

    /// Refuses new connections and drops unaccepted ones, but keeps the port. A Unix socket's file gets another name.
    func suspend() {
        switch address {
        case .tcp: _ = shutdown(socket, Int32(SHUT_RD))
        case .unix(let path): rename(path, Self.suspendedPath(path))
        }
    }

    func resume() {
        switch address {
        case .tcp: _ = listen(socket, backlog)
        case .unix(let path): rename(Self.suspendedPath(path), path)
        }
    }

    private static func suspendedPath(_ path: String) -> String { path + ".suspended" }

    func close() {
        if case .unix(let path) = address, let file {
            var status = stat()
            if stat(path, &status) == 0, status.st_dev == file.device, status.st_ino == file.inode { unlink(path) }
        }
        Glibc.close(socket)
    }

    private static func bindTCP(_ host: String, _ port: Int, userTimeout: Int) throws(HTTPServerError) -> (
        Int32, HTTPAddress
    ) {
        guard (0...65_535).contains(port) else { throw HTTPServerError("\(port) is not a port from 0 to 65535") }
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, String(port), &hints, &list)
        guard failure == 0 else {
            throw HTTPServerError("cannot resolve \(host): \(String(cString: gai_strerror(failure)))")
        }
        defer { freeaddrinfo(list) }
        var code = EADDRNOTAVAIL
        var next = list
        while let info = next?.pointee {
            next = info.ai_next
            let socket = cepoll_socket(info.ai_family)
            guard socket >= 0 else {
                code = errno
                continue
            }
            set(socket, SOL_SOCKET, SO_REUSEADDR, 1)
            // Accepted sockets inherit it. The server writes together what it has, so Nagle's algorithm would only
            // delay.
            set(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            // Closes connections of vanished clients.
            set(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: userTimeout))
            if bind(socket, info.ai_addr, info.ai_addrlen) == 0 {
                guard port == 0 else { return (socket, .tcp(host: host, port: port)) }
                // The system keeps a suspended listener's port only if it was bound by its number. So bind it again,
                // while this socket holds it.
                defer { Glibc.close(socket) }
                return try bindTCP(host, takenPort(socket), userTimeout: userTimeout)
            }
            code = errno
            Glibc.close(socket)
        }
        throw HTTPServerError("cannot listen on \(HTTPAddress.tcp(host: host, port: port))", errno: code)
    }

    private static func takenPort(_ socket: Int32) -> Int {
        var storage = sockaddr_storage()
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
                // `sockaddr_in6` has its port at the same offset.
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket, $0, &length) }
                return Int(UInt16(bigEndian: address.pointee.sin_port))
            }
        }
    }

    private static func bindUnix(_ path: String) throws(HTTPServerError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard !path.isEmpty, path.utf8.count <= room else {
            throw HTTPServerError("the socket's path must have 1 to \(room) bytes: \(path)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let socket = cepoll_socket(AF_UNIX)
        guard socket >= 0 else { throw HTTPServerError("cannot make a socket", errno: errno) }
        func attempt(_ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ socket: Int32) -> Bool {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
        }
        if attempt(bind, socket) { return socket }
        var code = errno
        if code == EADDRINUSE, isSocket(path) {
            // If nobody listens, a killed process has left the file.
            let probe = cepoll_socket(AF_UNIX)
            let isStale = probe >= 0 && !attempt(connect, probe) && errno == ECONNREFUSED
            if probe >= 0 { Glibc.close(probe) }
            if isStale, unlink(path) == 0 {
                if attempt(bind, socket) { return socket }
                code = errno
            }
        }
        Glibc.close(socket)
        throw HTTPServerError("cannot listen on \(HTTPAddress.unix(path: path))", errno: code)
    }

    private static func isSocket(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    private static func set(_ socket: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // The server works without these options.
        _ = setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
