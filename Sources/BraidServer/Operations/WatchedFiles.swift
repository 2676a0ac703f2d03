import BraidEngine
import Synchronization

/// The files of table descriptions that the server watches (`--watch`), for `GET /v1/fixtures`.
package final class WatchedFiles: JSONWritable, Sendable {
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

    public func write(to writer: inout JSONWriter) {
        let (files, revision) = known.withLock { ($0.files, $0.revision) }
        writer.object {
            $0.member("revision", revision)
            $0.member("watching", files != nil)
            $0.array("files", of: (files ?? [:]).sorted { $0.key < $1.key }) { writer, known in
                let (path, file) = known
                writer.object {
                    $0.member("file", path)
                    $0.member("table", file.table?.name)
                    $0.member("version", file.table?.version)
                    $0.member("faults", file.faults)
                    $0.array("behind", of: file.behind) { writer, behind in
                        writer.object {
                            $0.member("session", behind.session)
                            $0.member("detail", behind.detail)
                        }
                    }
                }
            }
        }
    }
}
