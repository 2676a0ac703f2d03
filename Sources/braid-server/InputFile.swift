import Foundation

/// A file that a command is given: also a pipe, as `/dev/stdin` and a shell's `<(…)` are, which can be read once only.
enum InputFile {
    /// Nil: it cannot be read.
    static func bytes(of path: String) -> [UInt8]? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        do {
            return try file.readToEnd().map { [UInt8]($0) } ?? []
        } catch {
            return nil
        }
    }
}

/// What a command prints, with a line's end.
enum StandardOutput {
    /// Throws a `Failure` where not all of it could be written.
    static func print(_ bytes: [UInt8]) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(bytes + [UInt8(ascii: "\n")]))
        } catch {
            throw Failure("The result could not be written: \(String(cString: strerror(errno))).")
        }
    }
}
