import Synchronization

/// A source of the ids that `uuid()` makes in templates.
///
/// A command that is executed again must make the same ids. The source for such a command therefore derives each id
/// from values such as the command's revision, and from the number of ids that the command has made before.
public final class IDSource: Sendable {
    private let count = Mutex(0)
    private let make: @Sendable (Int) -> String

    /// Creates a source from a function that returns the id for a number. The source passes 0 for its first id, 1 for
    /// the next id, and so on.
    public init(_ make: @escaping @Sendable (Int) -> String) { self.make = make }

    /// The source of random ids, for commands that are never executed again: UUIDs of version 4 (RFC 9562).
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

    /// Returns the text of a UUID (RFC 9562), which contains 122 bits of the first 16 bytes.
    ///
    /// - Parameters:
    ///   - bytes: at least 16 bytes. The method sets the version and the variant in them.
    ///   - version: 4 if the bytes are random, 8 if they are derived from something.
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
