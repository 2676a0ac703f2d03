import BraidEngine
import Synchronization

/// The files of table descriptions that the server watches (`--watch`), for `GET /v1/fixtures`.
package final class WatchedFiles: Sendable {
    package struct File: Sendable {
        /// The table and version that the server last accepted from the file. `nil` if none since its start.
        package var table: (name: String, version: Int)?
        /// Why the file's current content was not accepted, such as `file:line:column: pointer: message`.
        package var faults: [String] = []
        /// The sessions that could not be bound to this version, with the reasons.
        package var behind: [(session: String, detail: String)] = []

        package init() {}
    }

    private struct Known {
        /// By path. `nil` if the server watches no files.
        var files: [String: File]?
        var revision = 0
    }

    private let known = Mutex(Known())

    package func start() { change { $0 = [:] } }

    package func file(_ path: String) -> File { known.withLock { $0.files?[path] } ?? File() }

    package func set(_ file: File?, of path: String) { change { $0?[path] = file } }

    private func change(_ body: (inout [String: File]?) -> Void) {
        known.withLock {
            body(&$0.files)
            $0.revision += 1
        }
    }

    /// Waits until the files have another revision, the time is over or the task is cancelled. People save files rarely,
    /// so it looks only ten times a second.
    func waitForChange(of revision: Int, within time: Duration) async {
        let deadline = ContinuousClock.now + time
        while known.withLock({ $0.revision }) == revision, .now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    func write(to writer: inout JSONWriter) {
        let (files, revision) = known.withLock { ($0.files, $0.revision) }
        writer.beginObject()
        writer.name("revision")
        writer.value(revision)
        writer.name("watching")
        writer.value(files != nil)
        writer.name("files")
        writer.beginArray()
        for (path, file) in (files ?? [:]).sorted(by: { $0.key < $1.key }) {
            writer.beginObject()
            writer.name("file")
            writer.value(path)
            if let table = file.table {
                writer.name("table")
                writer.value(table.name)
                writer.name("version")
                writer.value(table.version)
            }
            writer.name("faults")
            writer.beginArray()
            for fault in file.faults { writer.value(fault) }
            writer.endArray()
            writer.name("behind")
            writer.beginArray()
            for (session, detail) in file.behind {
                writer.beginObject()
                writer.name("session")
                writer.value(session)
                writer.name("detail")
                writer.value(detail)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
