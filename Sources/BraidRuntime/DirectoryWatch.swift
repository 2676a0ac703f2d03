import Dispatch
import Glibc
import Synchronization

/// Notices files that were written and closed, renamed, moved or deleted, and new subdirectories (inotify(7)).
/// Watches directories, because most editors save by renaming a new file.
package final class DirectoryWatch {
    /// One element for all changes since the last.
    package let changes: AsyncStream<Void>
    private let descriptor: CInt
    private let source: any DispatchSourceRead
    private let directories: Directories

    private final class Directories: Sendable {
        let paths = Mutex<[CInt: String]>([:])

        func hasLink(_ name: String, in number: CInt) -> Bool {
            guard let directory = paths.withLock({ $0[number] }) else { return false }
            var status = stat()
            return lstat("\(directory)/\(name)", &status) == 0
                && (status.st_mode & S_IFMT == S_IFLNK || status.st_nlink > 1)
        }
    }

    /// `nil` on failure, with `errno`.
    package init?() {
        let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.changes = changes
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
        let directories = Directories()
        self.directories = directories
        source.setEventHandler { if Self.readEvents(from: descriptor, directories) { continuation.yield() } }
        source.setCancelHandler { close(descriptor) }
        source.resume()
    }

    deinit { source.cancel() }

    /// Does not watch subdirectories. `false` on failure, with `errno`.
    package func add(_ directory: String) -> Bool {
        let events =
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR
        let number = inotify_add_watch(descriptor, directory, UInt32(events))
        guard number >= 0 else { return false }
        directories.paths.withLock { $0[number] = directory }
        return true
    }

    /// A new file is no change, because it is still empty; a new link is.
    private static func readEvents(from descriptor: CInt, _ directories: Directories) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024), isChange = false
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return isChange }
            buffer.withUnsafeBytes { bytes in
                let head = MemoryLayout<inotify_event>.size
                var start = 0
                while start + head <= count {
                    let event = bytes.loadUnaligned(fromByteOffset: start, as: inotify_event.self)
                    let name = bytes[start + head..<min(start + head + Int(event.len), count)].prefix { $0 != 0 }
                    let isNewFile = event.mask & UInt32(IN_CREATE) != 0 && event.mask & UInt32(IN_ISDIR) == 0
                    if !isNewFile || directories.hasLink(String(decoding: name, as: UTF8.self), in: event.wd) {
                        isChange = true
                    }
                    start += head + Int(event.len)
                }
            }
        }
    }
}
