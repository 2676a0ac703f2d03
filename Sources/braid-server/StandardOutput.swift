import BraidRuntime
import Glibc

/// The standard output of the process, to which a command prints its result.
enum StandardOutput {
    /// Prints a line of text.
    static func print(_ line: String) throws { try print(Array(line.utf8)) }

    /// Prints a command's result, followed by a line feed, to stdout. Throws a `Failure` if not all bytes could be
    /// written.
    static func print(_ bytes: [UInt8]) throws {
        guard Files.write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) else {
            throw Failure("The result could not be written: \(String(cString: strerror(errno))).")
        }
    }
}
