import BraidRuntime
import Glibc

/// What a command prints, with a line's end.
enum StandardOutput {
    /// Throws a `Failure` where not all of it could be written.
    static func print(_ bytes: [UInt8]) throws {
        guard Files.write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) else {
            throw Failure("The result could not be written: \(String(cString: strerror(errno))).")
        }
    }
}
