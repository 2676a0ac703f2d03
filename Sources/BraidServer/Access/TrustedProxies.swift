import BraidHTTP

/// The proxies whose `X-Forwarded-For` the server believes (`--trusted-proxy`).
///
/// Every client can send `X-Forwarded-For`. A proxy appends the address from which it received the request, so only the
/// part of the list that trusted proxies have appended is reliable.
package struct TrustedProxies: Sendable {
    private var networks: [IPNetwork] = []
    /// Whether the server trusts every peer at its Unix socket.
    private var isUnixSocketTrusted = false

    /// The value of `--trusted-proxy` that means all peers at the Unix socket. The log also contains this text as the
    /// address of a client at the Unix socket.
    private static let unixSocket = "unix"

    package init() {}

    /// Creates the set of the proxies with the given addresses. Returns `nil` if one of them is neither an IP address
    /// nor a network such as `10.0.0.0/8`, nor `unix`.
    package init?(_ addresses: [String]) {
        for address in addresses {
            if address == Self.unixSocket {
                isUnixSocketTrusted = true
            } else if let network = IPNetwork(address) {
                networks.append(network)
            } else {
                return nil
            }
        }
    }

    /// Returns the address of the client that sent a request: the last address of `X-Forwarded-For` that is not a
    /// trusted proxy's, or the first address if all addresses are those of trusted proxies. The search ends at an entry
    /// that is no IP address. If the connection's peer is not a trusted proxy, or the field is missing, returns the
    /// peer's address.
    func client(_ head: HTTPRequestHead?, peer: IPAddress?) -> String {
        guard isTrusted(peer), let list = head?.headers["x-forwarded-for"] else {
            return peer?.description ?? Self.unixSocket
        }
        var client = peer
        for entry in list.split(separator: ",").reversed() {
            guard let address = Self.address(entry) else { break }
            client = address
            if !isTrusted(address) { break }
        }
        return client?.description ?? Self.unixSocket
    }

    private func isTrusted(_ peer: IPAddress?) -> Bool {
        guard let peer else { return isUnixSocketTrusted }
        return networks.contains { $0.contains(peer) }
    }

    /// Reads an entry of `X-Forwarded-For`: an IP address. Some proxies append a port, and put an IPv6 address with a
    /// port into brackets.
    private static func address(_ entry: Substring) -> IPAddress? {
        let entry = entry.filter { $0 != " " && $0 != "\t" }
        if let address = IPAddress(entry) { return address }
        guard let colon = entry.lastIndex(of: ":"), entry[colon...].dropFirst().utf8.allSatisfy(\.isDigit) else {
            return IPAddress(entry.filter { $0 != "[" && $0 != "]" })
        }
        return IPAddress(entry[..<colon].filter { $0 != "[" && $0 != "]" })
    }
}
