import BraidEngine
import BraidRuntime
import BraidServer
import BraidSessions
import Glibc

/// Watches the table descriptions in the fixtures' directories. A changed description becomes a new version of its
/// table, and the table's sessions are bound to the new version. A session whose data do not fit the new version keeps
/// its version.
struct FixtureWatcher {
    let directories: [String]
    let app: App
    /// The content that each watched file had when the watcher last read it, by the file's path. The content is `nil`
    /// if the next call of `look` must load the file again.
    private var known: [String: [UInt8]?] = [:]
    private var tables: [String: String] = [:]

    init(directories: [String], app: App) {
        self.directories = directories
        self.app = app
    }

    /// Watches the files until the task is cancelled.
    mutating func run() async {
        guard let watch = DirectoryWatch() else {
            app.logLines?.write(.error, "the fixtures cannot be watched: \(String(cString: strerror(errno)))")
            return
        }
        app.watchedFiles.start()
        // The first call of `look` binds the sessions whose descriptions were changed while the server did not run.
        await look(with: watch)
        for await _ in watch.changes { await look(with: watch) }
    }

    /// Loads the files that have changed since the last call of this method, and watches new directories.
    private mutating func look(with watch: DirectoryWatch) async {
        var found: Set<String> = []
        for directory in directories {
            let paths = Fixtures.files(in: directory) { directory in
                // The watch of a directory begins before the directory is read, so that no change is missed.
                if !watch.add(directory) {
                    app.logLines?.write(.error, "\(directory) cannot be watched: \(String(cString: strerror(errno)))")
                }
            }
            for path in (paths ?? []).sorted() where path.hasSuffix(Fixtures.tableSuffix) {
                found.insert(path)
                guard let bytes = Files.bytes(of: path), known[path] != bytes else { continue }
                known[path] = bytes
                await load(path)
            }
        }
        for path in known.keys where !found.contains(path) {
            known[path] = nil
            tables[path] = nil
            app.watchedFiles.set(nil, of: path)
        }
    }

    /// Registers the description in a changed file, and binds the table's sessions to the new version. If the file is
    /// faulty, changes no table and no session.
    private mutating func load(_ path: String) async {
        var file = app.watchedFiles.file(path)
        defer { app.watchedFiles.set(file, of: path) }
        file.faults = []
        do {
            let description = try JSONFile(path).read { try TableDescription($0) }
            let name = description.name
            if let other = tables.first(where: { $0.value == name && $0.key != path })?.key {
                throw FaultyFile(["\(path): describes \"\(name)\", as \(other) does"])
            }
            tables[path] = name
            let version = try await register(description, of: path)
            file.table = (name, version)
            let (bound, left) = try await app.sessions.bindSessions(of: name, to: version)
            file.behind = left.map { session, error in
                (session, JSONFile.sentence(of: error))
            }
            if bound > 0 || file.behind.isEmpty {
                app.logLines?.write(
                    .notice, "\(path): table \"\(name)\" version \(version), \(bound) sessions bound to it")
            }
            for (session, detail) in file.behind {
                app.logLines?.write(.warning, "\(path): the session \"\(session)\" keeps its version: \(detail)")
            }
        } catch {
            if let error = error as? FaultyFile {
                file.faults = error.faults
            } else {
                // The error does not come from the file's content, so the next call of `look` must load the file again.
                file.faults = ["\(path): \(error)"]
                known.updateValue(nil, forKey: path)
            }
            for fault in file.faults { app.logLines?.write(.error, "\(fault)") }
        }
    }

    private func register(_ description: TableDescription, of path: String) async throws -> Int {
        if let table = try await app.store.table(description.name), table.description == description.text {
            return table.version
        }
        return try await Fixtures.register(description, of: path, in: app)
    }
}
