import BraidEngine
import BraidRuntime
import BraidServer
import BraidSessions
import BraidStore
import Glibc

/// The directories with fixtures, subdirectories included: files with tables and sessions that the server loads at its
/// start.
///
/// `*.table.json` files contain table descriptions. `*.session.json` files contain bodies of `POST /v1/sessions`, with
/// an `id`. A session that already exists is not changed.
struct Fixtures {
    let directories: [String]

    /// Loads the fixtures, and throws the faults of all files. If a file cannot be read or parsed, stores nothing. If a
    /// session cannot be opened, the tables and the other sessions stay stored.
    func load(into app: App) async throws {
        var files = Contents(), faults: [String] = []
        for directory in directories {
            guard access(directory + "/.", R_OK | X_OK) == 0, let paths = Self.files(in: directory) else {
                faults.append("The fixtures directory \(directory) cannot be read.")
                continue
            }
            for path in paths.sorted() {
                do throws(FaultyFile) {
                    try files.add(path)
                } catch {
                    faults += error.faults
                }
            }
        }
        guard faults.isEmpty else { throw FaultyFile(faults) }
        for (path, description) in files.tables
        where try await app.store.table(description.name)?.description != description.text {
            _ = try await Self.register(description, of: path, in: app)
        }
        for (path, id, body) in files.sessions where try await app.store.sessionSummary(id) == nil {
            do {
                _ = try await app.sessions.open(SessionOpening(body), text: body)
                app.log.fixtureAct("session opened", [("session", id)], file: path)
            } catch StoreError.sessionExists {
                // Ignore this error: another server on the same database has just loaded the same fixture.
            } catch {
                faults += JSONFile(path).faults(of: error)
            }
        }
        guard faults.isEmpty else { throw FaultyFile(faults) }
    }

    static let tableSuffix = ".table.json"

    /// Registers the table description of a fixture file as a new version, and logs this act. The caller has checked
    /// that the latest version differs. Returns the number of the new version.
    static func register(_ description: TableDescription, of path: String, in app: App) async throws -> Int {
        let version = try await app.store.putTable(
            description.name, description: description.text, at: app.clock.instant())
        app.log.fixtureAct(
            "table registered", [("table", description.name), ("version", "\(version)")], file: path)
        return version
    }

    /// Returns the paths of the files in a directory and its subdirectories. The method does not follow symbolic links
    /// to directories. Returns `nil` if the directory cannot be read.
    ///
    /// - Parameter enter: called with each directory before the directory is read.
    static func files(in directory: String, entering enter: (String) -> Void = { _ in }) -> [String]? {
        enter(directory)
        guard let names = Files.names(in: directory) else { return nil }
        return names.flatMap { name in
            let path = "\(directory)/\(name)"
            var status = stat()
            let isDirectory = lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            return isDirectory ? files(in: path, entering: enter) ?? [] : [path]
        }
    }

    /// The parsed contents of the fixture files, in the order in which the files are loaded.
    private struct Contents {
        var tables: [(path: String, description: TableDescription)] = []
        var sessions: [(path: String, id: String, body: JSONText)] = []

        mutating func add(_ path: String) throws(FaultyFile) {
            if path.hasSuffix(Fixtures.tableSuffix) {
                let description = try JSONFile(path).read { try TableDescription($0) }
                if let other = tables.first(where: { $0.description.name == description.name }) {
                    throw FaultyFile(["\(path): describes \"\(description.name)\", as \(other.path) does"])
                }
                tables.append((path, description))
            } else if path.hasSuffix(".session.json") {
                let (id, body) = try JSONFile(path).read { body in
                    guard let id = try SessionOpening(body).id else {
                        throw Refusal(.badRequest, "a session fixture needs an `id`")
                    }
                    return (id, body.detached)
                }
                if let other = sessions.first(where: { $0.id == id }) {
                    throw FaultyFile(["\(path): opens \"\(id)\", as \(other.path) does"])
                }
                sessions.append((path, id, body))
            }
        }
    }
}
