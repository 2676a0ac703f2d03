import ArgumentParser
import BraidHTTP
import BraidRuntime
import BraidServer
import Glibc

/// Who may use the server.
struct AccessOptions: ParsableArguments {
    @Option(help: "A file with the controller's token. (Or the environment variable BRAID_TOKEN.)")
    var tokenFile: String?
    @Flag(help: "Serve without a token on any address: everyone who reaches it is a controller.")
    var allowAnonymous = false
    @Option(
        help:
            "An origin whose web pages may use the API, like https://app.example, or * for all. Can be given several times."
    )
    var allowOrigin: [String] = []

    func validate() throws {
        for origin in allowOrigin where PagePolicy.origin(origin) == nil {
            throw ValidationError(
                "--allow-origin takes an origin, like https://app.example or http://localhost:3000, or *; not \"\(origin)\""
            )
        }
    }

    /// The controller's token; nil when everyone is a controller. Never taken from the command line, which others on
    /// the machine can read.
    func controllerToken() throws -> String? {
        let variable = getenv("BRAID_TOKEN").map { String(cString: $0) }
        if let file = tokenFile {
            guard variable == nil else {
                throw Failure("There are two tokens: one in the file \(file), one in BRAID_TOKEN. Give one of them.")
            }
            guard let text = Files.bytes(of: file).flatMap({ String(validating: $0, as: UTF8.self) }) else {
                throw Failure("The token file \(file) cannot be read.")
            }
            return try token(text, "The token file \(file)")
        }
        return try variable.map { try token($0, "The environment variable BRAID_TOKEN") }
    }

    /// An empty one is a mistake, and not to be taken for none.
    private func token(_ text: String, _ place: String) throws -> String {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let token = words.first.map(String.init) else { throw Failure("\(place) is empty.") }
        guard words.count == 1, Bearer.isToken(token) else {
            throw Failure(
                "\(place) does not have a token: one word of visible ASCII characters. (openssl rand -hex 32 makes one.)"
            )
        }
        return token
    }

    /// Refuses to serve everyone on an address that others can reach.
    func checkAddress(_ address: HTTPAddress, token: String?) throws {
        guard token == nil, !allowAnonymous, case .tcp(let host, _) = address, !Loopback.contains(host) else { return }
        throw Failure(
            "\(host) is not a loopback address, and there is no token: give one (--token-file, or the environment variable BRAID_TOKEN), or --allow-anonymous to let everyone in who can reach it."
        )
    }

    func pages(for address: HTTPAddress, token: String?) -> PagePolicy {
        let origins = allowOrigin.compactMap { PagePolicy.origin($0) }
        guard token == nil, case .tcp(let host, _) = address, Loopback.contains(host) else {
            return PagePolicy(origins: origins, isOpen: token == nil)
        }
        return PagePolicy(origins: origins, isOpen: true, hosts: [PagePolicy.host(host).lowercased()])
    }
}

/// Addresses that only this machine reaches.
enum Loopback {
    /// Whether the host's name or address leads there, and nowhere else.
    static func contains(_ host: String) -> Bool {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return false }
        defer { freeaddrinfo(list) }
        var next = list
        while let info = next?.pointee {
            guard let address = info.ai_addr, isLoopback(address, info.ai_family) else { return false }
            next = info.ai_next
        }
        return true
    }

    private static func isLoopback(_ address: UnsafeMutablePointer<sockaddr>, _ family: Int32) -> Bool {
        switch family {
        case AF_INET:
            // 127.0.0.0/8 (RFC 1122, 3.2.1.3)
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 24 == 127
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin6_addr) { bytes in
                    // ::1, or an IPv4 loopback address inside ::ffff:0:0/96 (RFC 4291, 2.5.3 and 2.5.5.2)
                    bytes.prefix(15).allSatisfy { $0 == 0 } && bytes[15] == 1
                        || bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
                            && bytes[12] == 127
                }
            }
        default: false
        }
    }
}
