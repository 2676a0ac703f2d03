import BraidRuntime
import Glibc

/// The standard output of the process, for a command's result.
enum StandardOutput {
    /// Prints a command's result, followed by a line feed, to stdout. Throws a `Failure` if not all bytes could be
    /// written.
    static func print(_ bytes: [UInt8]) throws {
        guard Files.write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) else {
            throw Failure("The result could not be written: \(String(cString: strerror(errno))).")
        }
    }
}
