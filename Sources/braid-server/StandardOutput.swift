import BraidRuntime
import Glibc

/// The standard output of the process, for a command's result.
enum StandardOutput {
    /// Prints the bytes and a line feed. Throws a `Failure` if not all bytes could be written.
    static func print(_ bytes: [UInt8]) throws {
        guard Files.write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) else {
            throw Failure("The result could not be written: \(String(cString: strerror(errno))).")
        }
    }
}
