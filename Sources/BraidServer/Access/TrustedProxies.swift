import BraidHTTP

/// `--trusted-proxy`: whose `X-Forwarded-For` is believed. Everyone can send it, and a proxy appends its client, so
/// only what trusted proxies appended is reliable.
package struct TrustedProxies: Sendable {
    private var networks: [IPNetwork] = []
    private var isUnixSocketTrusted = false

    /// The Unix socket in the option's value, and its clients in the log.
    private static let unixSocket = "unix"

    package init() {}

    /// `nil` if one is no IP address, no network such as `10.0.0.0/8` and not `unix`.
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

    /// The last address of `X-Forwarded-For` that is no trusted proxy's, or the first if all are. The search ends at an
    /// entry that is no address. From other peers, and without the field: the peer.
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

    /// Some proxies append a port, and bracket an IPv6 address with one.
    private static func address(_ entry: Substring) -> IPAddress? {
        let entry = entry.filter { $0 != " " && $0 != "\t" }
        if let address = IPAddress(entry) { return address }
        guard let colon = entry.lastIndex(of: ":"), entry[colon...].dropFirst().utf8.allSatisfy(\.isDigit) else {
            return IPAddress(entry.filter { $0 != "[" && $0 != "]" })
        }
        return IPAddress(entry[..<colon].filter { $0 != "[" && $0 != "]" })
    }
}
