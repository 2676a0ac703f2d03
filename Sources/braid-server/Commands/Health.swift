import BraidHTTP
import BraidRuntime
import Glibc

/// For a container's HEALTHCHECK, without another HTTP client.
struct Health: ServerCommand {
    static let name = "health"
    static let abstract = "Check whether a running server can serve requests."
    static let discussion = """
        Requests /readyz, or the URL's path if it has one. Exit status 0 if the answer is 200 within 5 seconds, otherwise 1. \
        Without a URL, asks the server on this machine, at --socket (BRAID_SOCKET) or --port (BRAID_PORT).
        """
    static let arguments: [CommandArgument<Health>] = [
        .optional("url", \.url, help: "http://HOST:PORT, instead of --port on this machine.") {
            url throws(WrongValue) in
            guard let target = target(of: url) else { throw WrongValue("must be http://HOST:PORT, not '\(url)'") }
            guard ports.contains(target.port) else {
                throw WrongValue("must have a port from 1 to 65535, not \(target.port)")
            }
        }
    ]
    static let options: [CommandOption<Health>] = [
        // `BRAID_PORT=0` is right for the server, and wrong here only without another address.
        .integer("port", \.port, in: 0...65_535, help: "The port on this machine."),
        // For containers whose server listens on no port.
        .optionalText("socket", \.socket, help: "The Unix socket that the server listens on."),
    ]
    static let readsEnvironment = true
    private static let ports = 1...65_535

    var url: String?
    var port = 8080
    var socket: String?

    func run() throws {
        let (server, host, path) = try target()
        let request = "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
        do {
            let line = try StatusLine.asking(server, request)
            print("\(server)\(path): \(line.status)")
            if line.status != 200 { throw ReportedFailure() }
        } catch let error as HTTPServerError {
            throw Failure("\(server): \(error)")
        }
    }

    private func target() throws -> (server: HTTPAddress, host: String, path: String) {
        if let target = url.flatMap({ Self.target(of: $0) }) {
            let bare = target.host.hasPrefix("[") ? String(target.host.dropFirst().dropLast()) : target.host
            return (.tcp(host: bare, port: target.port), "\(target.host):\(target.port)", target.path)
        }
        if let socket { return (.unix(path: socket), "localhost", "/readyz") }
        guard Self.ports.contains(port) else {
            throw UsageError(
                "The port is \(port), which is no server's port. Set --port or BRAID_PORT to the server's port.")
        }
        return (.tcp(host: "127.0.0.1", port: port), "127.0.0.1:\(port)", "/readyz")
    }

    /// `http://HOST[:PORT][/PATH][?QUERY]` (RFC 3986, 3), nothing else.
    private static func target(of url: String) -> (host: String, port: Int, path: String)? {
        let isVisible = url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isVisible, url.prefix(7).lowercased() == "http://" else { return nil }
        let rest = url.dropFirst(7).prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { return nil }
        // An IPv6 address has colons; its host ends at the bracket.
        let hostEnd =
            authority.hasPrefix("[")
            ? authority.firstIndex(of: "]").map(authority.index(after:)) : authority.firstIndex(of: ":")
        if authority.hasPrefix("["), hostEnd == nil { return nil }
        let host = authority[..<(hostEnd ?? authority.endIndex)]
        let behind = authority[host.endIndex...]
        guard !host.isEmpty, host != "[]", behind.isEmpty || behind.hasPrefix(":") else { return nil }
        let digits = behind.dropFirst()
        guard let port = digits.isEmpty ? 80 : Int(clampingDigits: digits) else { return nil }
        let path = rest[authority.endIndex...]
        return (
            String(host), port,
            path.isEmpty || path == "/" ? "/readyz" : path.hasPrefix("?") ? "/" + path : String(path)
        )
    }
}

/// The first line of an HTTP answer.
struct StatusLine {
    let status: Int

    static func asking(_ server: HTTPAddress, _ request: String) throws(HTTPServerError) -> StatusLine {
        let socket = try connected(to: server)
        defer { close(socket) }
        var rest = Array(request.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw HTTPServerError("the request could not be sent", errno: errno) }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        while !answer.contains(UInt8(ascii: "\n")), answer.count < 1024 {
            var piece = [UInt8](repeating: 0, count: 512)
            let count = recv(socket, &piece, piece.count, 0)
            guard count >= 0 else {
                throw HTTPServerError(errno == EAGAIN ? "no answer within 5 seconds" : "no answer", errno: errno)
            }
            guard count > 0 else { break }
            answer += piece[..<count]
        }
        let words = String(
            decoding: answer.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }, as: UTF8.self
        ).split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(digits: words[1]) else {
            throw HTTPServerError("the answer is not HTTP")
        }
        return StatusLine(status: status)
    }

    private static func connected(to server: HTTPAddress) throws(HTTPServerError) -> Int32 {
        switch server {
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
                throw HTTPServerError("the socket's path is too long")
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            return try withUnsafeBytes(of: &address) { bytes throws(HTTPServerError) in try connected(AF_UNIX, bytes) }
        case .tcp(let host, let port):
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            let failure = getaddrinfo(host, String(port), &hints, &list)
            guard failure == 0 else {
                throw HTTPServerError("cannot resolve \(host): \(String(cString: gai_strerror(failure)))")
            }
            defer { freeaddrinfo(list) }
            var last = HTTPServerError("\(host) has no address"), next = list
            while let info = next?.pointee {
                next = info.ai_next
                do throws(HTTPServerError) {
                    return try connected(
                        info.ai_family, UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen)))
                } catch { last = error }
            }
            throw last
        }
    }

    private static func connected(_ family: Int32, _ address: UnsafeRawBufferPointer) throws(HTTPServerError) -> Int32 {
        let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0, let start = address.baseAddress else {
            throw HTTPServerError("cannot make a socket", errno: errno)
        }
        var time = timeval(tv_sec: 5, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {  // `SO_SNDTIMEO` also limits the time of `connect`.
            setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connect(socket, start.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count)) == 0 else {
            let code = errno
            close(socket)
            throw HTTPServerError("cannot connect", errno: code)
        }
        return socket
    }
}
