import Foundation
import Glibc

/// A file system of a few megabytes, to be filled without filling the machine's disk.
final class SmallDisk {
    static let isAvailable = (try? SmallDisk(megabytes: 1)) != nil
    private let directory: TemporaryDirectory
    var path: String { directory.url.path }

    init(megabytes: Int) throws {
        directory = try TemporaryDirectory()
        guard mount("none", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else { throw POSIXError(.EPERM) }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Leaves 200 kB.
    func fill() {
        let file = open(path + "/filler", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        let block = [UInt8](repeating: 0, count: 4096)
        var size = 0
        while write(file, block, block.count) == block.count { size += block.count }
        ftruncate(file, off_t(size - 200_000))
        close(file)
    }

    func clear() { unlink(path + "/filler") }
}
