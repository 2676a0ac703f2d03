import Glibc

package enum Files {
    /// What `errno` means, as the rest of a sentence.
    package static var failure: String {
        errno == ENOENT ? "does not exist" : "cannot be read: \(String(cString: strerror(errno)))"
    }

    /// Also of a pipe, such as `/dev/stdin` or `<(…)`. `nil` if unreadable: ``failure`` says why.
    package static func bytes(of path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var status = stat()
        if fstat(file, &status) == 0, status.st_size > 0 { bytes.reserveCapacity(Int(status.st_size) + 1) }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { piece.deallocate() }
        while true {
            let count = read(file, into: piece)
            guard count >= 0 else { return nil }
            if count == 0 { return bytes }
            bytes.append(contentsOf: piece[..<count])
        }
    }

    /// read(2), repeated after a signal. 0 at the end, -1 with `errno`.
    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 || errno != EINTR { return count }
        }
    }

    /// Writes all, and blocks until then. `false` on failure, with `errno`.
    @discardableResult
    package static func write(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Bool {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }

    /// Reads and drops all. Blocks until the end or an error.
    package static func readToEnd(of descriptor: Int32) {
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            // Another process may have made it non-blocking.
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&entry, 1, -1)
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { return }
        }
    }

    /// Unordered, without `.` and `..`. `nil` if unreadable: ``failure`` says why.
    package static func names(in directory: String) -> [String]? {
        guard let stream = opendir(directory) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
