import Dispatch
import Glibc
import Synchronization

/// Notices changes in directories: a file was written and closed, renamed, moved or deleted, or a subdirectory was
/// created. Source: inotify(7).
///
/// The class watches directories and not single files, because most editors save a file by renaming a new file to its
/// name.
public final class DirectoryWatch {
    /// Yields an element after changes in the watched directories. All changes before the reader asks for the next
    /// element result in one element.
    public let changes: AsyncStream<Void>
    private let descriptor: CInt
    private let source: any DispatchSourceRead
    /// The watched directories by inotify's numbers for them.
    private let directories: Directories

    private final class Directories: Sendable {
        let paths = Mutex<[CInt: String]>([:])

        /// Returns whether a name in a watched directory is a symbolic link, or one of several names of a file.
        func hasLink(_ name: String, in number: CInt) -> Bool {
            guard let directory = paths.withLock({ $0[number] }) else { return false }
            var status = stat()
            return lstat("\(directory)/\(name)", &status) == 0
                && (status.st_mode & S_IFMT == S_IFLNK || status.st_nlink > 1)
        }
    }

    /// Creates a watch that does not watch any directory yet. Returns `nil` if the operating system cannot create a
    /// watch. Then `errno` says why.
    public init?() {
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

    /// Starts to watch a directory, but not its subdirectories. If the directory is watched already, the call has no
    /// effect.
    ///
    /// - Returns: `false` if the directory cannot be watched. Then `errno` says why.
    public func add(_ directory: String) -> Bool {
        let events =
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR
        let number = inotify_add_watch(descriptor, directory, UInt32(events))
        guard number >= 0 else { return false }
        directories.paths.withLock { $0[number] = directory }
        return true
    }

    /// Reads the events that inotify has reported. Returns whether at least one of them is a change.
    ///
    /// The event that a file was created is not yet a change, because a new file is still empty. A new link is not.
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
