import Synchronization

/// The ids of `uuid()`. A command that runs again must get the same ones: derive them, for example from the revision
/// and the number of ids before.
public final class IDSource: Sendable {
    private let count = Mutex(0)
    private let make: @Sendable (Int) -> String

    /// `make` gets the id's number, from 0.
    public init(_ make: @escaping @Sendable (Int) -> String) { self.make = make }

    /// Version 4 (RFC 9562), for what never runs again.
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

    /// Sets version (4 random, 8 derived) and variant in 16 bytes (RFC 9562).
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
