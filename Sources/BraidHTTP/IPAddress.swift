import BraidRuntime
import CEpoll
import Glibc

package struct IPAddress: Sendable, Hashable {
    /// IPv4 as IPv4-mapped (RFC 4291, 2.5.5.2).
    fileprivate var bytes = SIMD16<UInt8>()

    fileprivate static let mapped = SIMD16<UInt8>(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0)

    /// `nil` with a Unix socket.
    init?(peerOf socket: CInt) {
        let isKnown = withUnsafeMutableBytes(of: &bytes) {
            $0.withMemoryRebound(to: UInt8.self) { cepoll_peer(socket, $0.baseAddress) }
        }
        guard isKnown != 0 else { return nil }
    }

    /// `192.0.2.1` or `2001:db8::1`.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        guard !text.utf8.contains(0) else { return nil }  // `inet_pton` would ignore the bytes after a NUL.
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard withUnsafeMutableBytes(of: &bytes, { inet_pton(AF_INET6, text, $0.baseAddress) }) == 1 else {
                return nil
            }
        } else {
            bytes = Self.mapped
            guard withUnsafeMutableBytes(of: &bytes, { inet_pton(AF_INET, text, $0.baseAddress.map { $0 + 12 }) }) == 1
            else { return nil }
        }
    }

    package var isIPv4: Bool { (0..<12).allSatisfy { bytes[$0] == Self.mapped[$0] } }
}

extension IPAddress: CustomStringConvertible {
    /// RFC 5952.
    package var description: String {
        let isIPv4 = isIPv4
        return withUnsafeBytes(of: bytes) { bytes in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
                let source = bytes.baseAddress.map { isIPv4 ? $0 + 12 : $0 }
                guard let source, let start = text.baseAddress,
                    inet_ntop(isIPv4 ? AF_INET : AF_INET6, source, start, socklen_t(text.count)) != nil
                else { return "" }
                return String(cString: start)
            }
        }
    }
}

/// Addresses that begin with the same bits.
package struct IPNetwork: Sendable, Hashable {
    private let address: IPAddress
    private let mask: SIMD16<UInt8>

    /// `10.0.0.0/8`, `2001:db8::/32`, or one address. Ignores bits after the prefix.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        var length = 128
        if parts.count > 1 {
            let most = address.isIPv4 && !first.utf8.contains(UInt8(ascii: ":")) ? 32 : 128
            guard let given = Int(digits: parts[1]), given <= most else { return nil }
            length = 128 - most + given
        }
        self.address = address
        var mask = SIMD16<UInt8>()
        for index in 0..<16 {
            let bits = min(8, max(0, length - 8 * index))
            mask[index] = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
        }
        self.mask = mask
    }

    package func contains(_ address: IPAddress) -> Bool { address.bytes & mask == self.address.bytes & mask }
}
