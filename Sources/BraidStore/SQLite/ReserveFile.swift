import Glibc

/// Room on the disk that is kept for the day it is full: given back then, so that what makes room (deleting sessions,
/// for one) can be written.
struct ReserveFile {
    let path: String
    let size: Int

    var isInPlace: Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && Int(facts.st_size) == size
    }

    /// Makes the file if it is not there. Returns whether it is.
    ///
    /// It is written at twice its size first: a disk on which nothing but the reserve would fit is as good as full.
    func make() -> Bool {
        if isInPlace { return true }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Written, not allocated: not every file system can, and some would fall back to this anyway.
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
