import Glibc

/// A file that keeps room on the disk. When the disk is full, the file is deleted, so that writes that make room, such
/// as deleting sessions, can be performed.
struct ReserveFile {
    let path: String
    let size: Int

    var isInPlace: Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && Int(facts.st_size) == size
    }

    /// Makes the reserve file if it does not exist. Returns whether the file exists afterwards.
    ///
    /// The file is first written with twice its size. A disk that has room only for the reserve counts as full.
    func make() -> Bool {
        if isInPlace { return true }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // The file is written, not allocated, because not every file system can allocate. Some would write the file
        // instead.
        let block = [UInt8](repeating: 0, count: 1 << 16)
        var written = 0
        while written < 2 * size {
            let count = block.withUnsafeBytes { write(descriptor, $0.baseAddress, min($0.count, 2 * size - written)) }
            guard count > 0 else { break }
            written += count
        }
        if written == 2 * size, fsync(descriptor) == 0, ftruncate(descriptor, off_t(size)) == 0 { return true }
        unlink(path)
        return false
    }

    func release() { unlink(path) }
}
