import BraidHTTP
import BraidRuntime
import BraidServer
import Glibc

struct AccessOptions {
    var tokenFile: String?
    var allowAnonymous = false
    var allowOrigin: [String] = []
    var trustedProxy: [String] = []
    var webTokens = WebTokenOptions()

    static let options: [CommandOption<AccessOptions>] =
        ownOptions + WebTokenOptions.options.map { $0.inside(\.webTokens) }

    private static let ownOptions: [CommandOption<AccessOptions>] = [
        // Above each option: who needs it.

        // Every server that others can reach.
        .optionalText(
            "token-file", \.tokenFile,
            help:
                "A file with the controller's token, or with two tokens in two lines while the token is being replaced. SIGHUP reads it again. (Or the environment variable BRAID_TOKEN.)"
        ),
        // Demos in a container, and servers behind a proxy that checks users itself.
        .flag(
            "allow-anonymous", \.allowAnonymous,
            help: "Serve without a token on any address. Everyone who can connect is a controller."),
        // Web apps from another origin than the server's.
        .repeatedText(
            "allow-origin", \.allowOrigin,
            help:
                "An origin whose web pages may use the API, such as https://app.example, or * for all. Can be given several times."
        ) { origin throws(WrongValue) in
            guard PagePolicy.origin(origin) == nil else { return }
            throw WrongValue(
                "must be an origin like https://app.example or http://localhost:3000, or *, not '\(origin)'")
        },
        // Servers behind a proxy, whose log would otherwise name only the proxy.
        .repeatedText(
            "trusted-proxy", \.trustedProxy,
            help:
                "A proxy whose X-Forwarded-For names the client in the log: an IP address, a network such as 10.0.0.0/8, or unix for the Unix socket. Can be given several times."
        ) { proxy throws(WrongValue) in
            guard TrustedProxies([proxy]) == nil else { return }
            throw WrongValue("must be an IP address, a network such as 10.0.0.0/8, or unix, not '\(proxy)'")
        },
    ]

    var proxies: TrustedProxies { TrustedProxies(trustedProxy) ?? TrustedProxies() }

    /// Usually one, two while an operator replaces it, none if everyone is a controller. Never from the command line,
    /// which other users of the machine can read.
    func controllerTokens() throws -> [String] {
        let variable = getenv(EnvironmentVariables.token).map { String(cString: $0) }
        if let file = tokenFile {
            guard variable == nil else {
                throw Failure("There are two tokens: one in the file \(file), one in BRAID_TOKEN. Use one of them.")
            }
            guard let bytes = Files.bytes(of: file) else { throw Failure("The token file \(file) \(Files.failure).") }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Failure("The token file \(file) is not UTF-8.")
            }
            return try tokens(in: text, upTo: 2, "The token file \(file)")
        }
        return try variable.map { try tokens(in: $0, upTo: 1, "The environment variable BRAID_TOKEN") } ?? []
    }

    /// Throws if there is none: a server must not run without by mistake.
    private func tokens(in text: String, upTo most: Int, _ place: String) throws -> [String] {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.split(whereSeparator: \.isWhitespace) }
            .filter { !$0.isEmpty }
        guard !lines.isEmpty else { throw Failure("\(place) is empty.") }
        guard lines.count <= most, lines.allSatisfy({ $0.count == 1 && $0.allSatisfy { Bearer.isToken($0) } }) else {
            throw Failure(
                "\(place) must contain one word of visible ASCII characters\(most == 1 ? "" : ", or two in two lines"). `openssl rand -hex 32` prints such a token."
            )
        }
        return lines.joined().map(String.init)
    }

    /// Whether everybody who can connect is a controller.
    func isOpen(_ tokens: [String]) -> Bool { tokens.isEmpty && !webTokens.areAccepted }

    /// Throws if other machines can reach a server without a token, unless `--allow-anonymous` is given.
    func checkAddress(_ address: HTTPAddress, tokens: [String]) throws {
        guard isOpen(tokens), !allowAnonymous, case .tcp(let host, _) = address, !Loopback.contains(host) else {
            return
        }
        throw Failure(
            "\(host) is not a loopback address, and the server has no token. Set one with --token-file or the environment variable BRAID_TOKEN, or let everyone who can connect use the server with --allow-anonymous."
        )
    }

    /// `isOpen`: there is no token.
    func pages(for address: HTTPAddress, isOpen: Bool) -> PagePolicy {
        let origins = allowOrigin.compactMap { PagePolicy.origin($0) }
        let namesHosts = !origins.isEmpty && !origins.contains("*")
        guard isOpen, case .tcp(let host, _) = address, namesHosts || Loopback.contains(host) else {
            return PagePolicy(origins: origins, isOpen: isOpen)
        }
        return PagePolicy(origins: origins, isOpen: true, hosts: [PagePolicy.host(host).lowercased()])
    }
}

enum Loopback {
    /// Whether all addresses of the host are loopback.
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
                    // ::1, or IPv4 loopback in ::ffff:0:0/96 (RFC 4291, 2.5.3 and 2.5.5.2)
                    bytes.prefix(15).allSatisfy { $0 == 0 } && bytes[15] == 1
                        || bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
                            && bytes[12] == 127
                }
            }
        default: false
        }
    }
}
