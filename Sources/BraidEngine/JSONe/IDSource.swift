import Synchronization

/// Makes the ids of `uuid()`. A command that is executed again must make the same ones, so its source derives them, for
/// example from the revision and the number of ids before.
public final class IDSource: Sendable {
    private let count = Mutex(0)
    private let make: @Sendable (Int) -> String

    /// From a function of the id's number, from 0.
    public init(_ make: @escaping @Sendable (Int) -> String) { self.make = make }

    /// UUIDs of version 4 (RFC 9562), for commands that are never executed again.
    public static let random = IDSource { _ in
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        return uuid(&bytes, version: 4)
    }

    func next() -> String {
        make(
            count.withLock { count in
                defer { count &+= 1 }
                return count
            })
    }

    /// A UUID (RFC 9562) of the first 16 bytes, in which the version, 4 if they are random, 8 if derived, and the
    /// variant are set.
    public static func uuid(_ bytes: inout [UInt8], version: UInt8) -> String {
        bytes[6] = version << 4 | bytes[6] & 0x0F
        bytes[8] = 0x80 | bytes[8] & 0x3F
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.prefix(16).enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
