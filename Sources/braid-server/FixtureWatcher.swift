import BraidEngine
import BraidRuntime
import BraidServer
import BraidSessions
import Glibc

/// `--watch`: a changed description becomes a new version, to which the table's sessions are bound. Where a session's
/// data do not fit, it keeps its version.
struct FixtureWatcher {
    let directories: [String]
    let app: App
    private var files: [String: Known] = [:]
    /// By table, the file that counts. A second one waits until the first is gone or has another table.
    private var owners: [String: String] = [:]

    private struct Known {
        let bytes: [UInt8]?
        let description: Result<TableDescription, Failure>
        /// The next `look` loads it.
        var isWaiting = true
        var isReported = false

        var table: String? { (try? description.get())?.name }
    }

    init(directories: [String], app: App) {
        self.directories = directories
        self.app = app
    }

    mutating func run() async {
        guard let watch = DirectoryWatch() else {
            app.logLines?.write(.error, "the fixtures cannot be watched: \(String(cString: strerror(errno)))")
            return
        }
        app.watchedFiles.start()
        // Binds sessions whose descriptions changed while the server did not run.
        await look(with: watch)
        for await _ in watch.changes { await look(with: watch) }
    }

    private mutating func look(with watch: DirectoryWatch) async {
        var found = Fixtures.Found()
        for directory in directories {
            _ = found.add(directory) { directory in
                // Before the directory is read, so that no change is missed.
                if !watch.add(directory) {
                    app.logLines?.write(.error, "\(directory) cannot be watched: \(String(cString: strerror(errno)))")
                }
            }
        }
        // All files are read before any is loaded: two may have swapped tables.
        var paths: [String] = []
        for path in found.paths where path.hasSuffix(Fixtures.tableSuffix) {
            let bytes = Files.bytes(of: path)
            if bytes == nil, errno == ENOENT { continue }
            paths.append(path)
            if let known = files[path], known.bytes == bytes { continue }
            files[path] = Known(
                bytes: bytes,
                description: Result { () throws(Failure) in
                    try JSONFile(path).read(app.sessions.descriptions.compile(new:))
                })
        }
        for path in Set(files.keys).subtracting(paths) {
            files[path] = nil
            app.watchedFiles.set(nil, of: path)
        }
        // A faulty file keeps its table: it is probably being edited.
        owners = owners.filter { table, path in files[path].map { $0.table ?? table == table } ?? false }
        for path in paths { await load(path) }
    }

    /// Loads the file if it waits. A faulty one changes nothing.
    private mutating func load(_ path: String) async {
        guard var known = files[path], known.isWaiting else { return }
        var file = app.watchedFiles.file(path)
        let reported = known.isReported ? file.faults : nil
        file.faults = []
        known.isWaiting = false
        do {
            let description = try known.description.get(), name = description.name
            if let owner = owners[name], owner != path {
                known.isWaiting = true
                throw Failure("\(path): describes \"\(name)\", as \(owner) does")
            }
            owners[name] = path
            let version = try await register(description, of: path)
            file.table = (name, version)
            let (bound, left) = try await app.sessions.bindSessions(of: name, to: version)
            file.behind = left.map { session, error in
                (session, JSONFile.sentence(of: error))
            }
            if bound > 0 || file.behind.isEmpty {
                app.logLines?.write(
                    .notice,
                    "\(path): table \"\(name)\" version \(version), \(counted(bound, "session")) bound to it")
            }
            for (session, detail) in file.behind {
                app.logLines?.write(.warning, "\(path): the session \"\(session)\" keeps its version: \(detail)")
            }
        } catch let error as Failure {
            file.faults = error.faults
        } catch {
            // Not the file's fault: the next `look` tries again.
            file.faults = ["\(path): \(error)"]
            known.isWaiting = true
        }
        known.isReported = true
        files[path] = known
        guard file.faults != reported else { return }
        for fault in file.faults { app.logLines?.write(.error, "\(fault)") }
        app.watchedFiles.set(file, of: path)
    }

    private func register(_ description: TableDescription, of path: String) async throws -> Int {
        if let table = try await app.store.table(description.name), table.description == description.text {
            return table.version
        }
        return try await Fixtures.register(description, of: path, in: app)
    }
}
