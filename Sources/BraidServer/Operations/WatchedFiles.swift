import BraidEngine
import BraidSessions
import Synchronization

/// `--watch`: the description files, for `GET /v1/fixtures`.
package final class WatchedFiles: Sendable {
    package struct File: Sendable {
        /// Last accepted from the file since the start.
        package var table: (name: String, version: Int)?
        /// Why its current content was not accepted: `file:line:column: pointer: message`.
        package var faults: [String] = []
        /// Sessions that could not be bound to this version, and why.
        package var behind: [(session: String, detail: String)] = []

        package init() {}
    }

    private struct Known {
        /// By path. `nil`: none are watched.
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

    /// Returns when there is another revision, the time is over or the task is cancelled. Looks ten times a second;
    /// people save rarely.
    func waitForChange(of revision: Int, within time: Duration) async {
        let deadline = ContinuousClock.now + time
        while known.withLock({ $0.revision }) == revision, .now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Without what the requester's token does not cover.
    func list(within scope: TokenScope) -> JSONText {
        let (files, revision) = known.withLock { ($0.files, $0.revision) }
        let covered = (files ?? [:]).filter { scope.covers(table: $0.value.table?.name) }
        return .object {
            $0.member("revision", revision)
            $0.member("watching", files != nil)
            $0.array("files", of: covered.sorted { $0.key < $1.key }) { writer, known in
                let (path, file) = known
                writer.object {
                    $0.member("file", path)
                    $0.member("table", file.table?.name)
                    $0.member("version", file.table?.version)
                    $0.member("faults", file.faults)
                    $0.array("behind", of: file.behind.filter { scope.covers(session: $0.session) }) { writer, behind in
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
