import Glibc

/// A file that only occupies room on the disk. When the disk is full, the server deletes this file. The free room then
/// lets the server perform requests that make more room, such as deleting sessions.
struct ReserveFile {
    let path: String
    let size: Int

    var isInPlace: Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && Int(facts.st_size) == size
    }

    /// Makes the reserve file if it does not exist. Returns whether the file exists with its full size afterwards.
    ///
    /// The method writes twice the file's size and then shortens the file. So if the disk has room only for the reserve
    /// file itself, it still counts as full.
    func make() -> Bool {
        if isInPlace { return true }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Write the bytes instead of calling `posix_fallocate`. Not every file system supports that call, and on some
        // file systems the call itself would write the bytes.
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
