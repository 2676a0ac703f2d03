import BraidEngine
import Synchronization

/// The files of table descriptions that the server watches (`--watch`), with their faults. `GET /v1/fixtures` answers
/// with these files.
package final class WatchedFiles: JSONWritable, Sendable {
    /// A watched description file.
    package struct File: Sendable {
        /// The name of the table that the file described when the server last accepted the file, and the version with
        /// this description. `nil` if the server has not accepted the file since its start.
        package var table: (name: String, version: Int)?
        /// Why the server has not accepted the file's current content: messages such as `file:line:column: pointer:
        /// message`.
        package var faults: [String] = []
        /// The sessions that the server could not bind to the version in `table`, with the reasons.
        package var behind: [(session: String, detail: String)] = []

        package init() {}
    }

    private struct Known {
        /// The files by their paths. `nil` if the server watches no files.
        var files: [String: File]?
        /// The number of changes of `files`.
        var revision = 0
    }

    private let known = Mutex(Known())

    /// Records that the server watches files. Before this call, `files` is `nil`.
    package func start() { change { $0 = [:] } }

    package func file(_ path: String) -> File { known.withLock { $0.files?[path] } ?? File() }

    /// Stores the state of a watched file. The value `nil` removes the state, for example of a file that was deleted.
    package func set(_ file: File?, of path: String) { change { $0?[path] = file } }

    private func change(_ body: (inout [String: File]?) -> Void) {
        known.withLock {
            body(&$0.files)
            $0.revision += 1
        }
    }

    /// Waits until `self.revision` differs from the parameter `revision`, at most for the given time. The wait also ends
    /// if the task is cancelled, for example because the server stops.
    ///
    /// People save files rarely, so this method compares the revisions only ten times in a second.
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
