import BraidEngine
import BraidRuntime
import BraidServer
import BraidSessions
import BraidStore
import Glibc

/// `--fixtures`: `*.table.json` are descriptions, `*.session.json` bodies of `POST /v1/sessions` with an `id`. Existing
/// sessions are not changed.
struct Fixtures {
    let directories: [String]

    /// Throws the faults of all files. With a faulty file, stores nothing; if only a session cannot be opened, the
    /// tables stay.
    func load(into app: App) async throws {
        var files = Contents(), faults: [String] = []
        var found = Found()
        for directory in directories where access(directory + "/.", R_OK | X_OK) != 0 || !found.add(directory) {
            faults.append("The fixtures directory \(directory) \(Files.failure).")
        }
        for path in found.paths {
            do throws(Failure) {
                try files.add(path, compiling: app.sessions.descriptions.compile(new:))
            } catch {
                faults += error.faults
            }
        }
        guard faults.isEmpty else { throw Failure(faults: faults) }
        for (path, description) in files.tables
        where try await app.store.table(description.name)?.description != description.text {
            _ = try await Self.register(description, of: path, in: app)
        }
        var opened: [(path: String, id: String)] = []
        for (path, id, body) in files.sessions where try await app.store.sessionSummary(id) == nil {
            do {
                _ = try await app.sessions.open(SessionOpening(body), text: body)
                opened.append((path, id))
            } catch StoreError.sessionExists {
                // Another server on this database was first.
            } catch let refusal as Refusal where refusal.code == .templateFailed {
                // The pointers lead into the description, not this file.
                faults.append("\(path): \(JSONFile.sentence(of: refusal))")
            } catch {
                faults += JSONFile(path).faults(of: error)
            }
        }
        guard faults.isEmpty else {
            // The server will not start: leave no session behind, log none.
            for (_, id) in opened { try? await app.sessions.end(id) }
            throw Failure(faults: faults)
        }
        for (path, id) in opened { app.log.fixtureAct("session opened", [("session", id)], file: path) }
    }

    static let tableSuffix = ".table.json"

    /// The latest version must differ: the caller has checked.
    static func register(_ description: TableDescription, of path: String, in app: App) async throws -> Int {
        let version = try await app.store.putTable(
            description.name, description: description.text, at: app.clock.instant())
        app.log.fixtureAct(
            "table registered", [("table", description.name), ("version", "\(version)")], file: path)
        return version
    }

    /// The files, with those of subdirectories and links, each directory once. Not names that begin with a dot: an
    /// editor's locks and copies, and the folders to which a Kubernetes volume links.
    struct Found {
        private(set) var paths: [String] = []
        private var known: Set<[UInt]> = []

        /// `enter` runs before a directory is read. `false`: cannot be read; `Files.failure` says why.
        mutating func add(_ directory: String, entering enter: (String) -> Void = { _ in }) -> Bool {
            enter(directory)
            var status = stat()
            guard stat(directory, &status) == 0 else { return false }
            guard known.insert([UInt(status.st_dev), UInt(status.st_ino)]).inserted else { return true }
            guard let names = Files.names(in: directory) else { return false }
            for name in names.sorted() where !name.hasPrefix(".") {
                let path = "\(directory)/\(name)"
                if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                    _ = add(path, entering: enter)
                } else {
                    paths.append(path)
                }
            }
            return true
        }
    }

    private struct Contents {
        var tables: [(path: String, description: TableDescription)] = []
        var sessions: [(path: String, id: String, body: JSONText)] = []

        mutating func add(
            _ path: String, compiling compile: (JSONText) throws -> TableDescription
        ) throws(Failure) {
            if path.hasSuffix(Fixtures.tableSuffix) {
                let description = try JSONFile(path).read(compile)
                if let other = tables.first(where: { $0.description.name == description.name }) {
                    throw Failure("\(path): describes \"\(description.name)\", as \(other.path) does")
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
                    throw Failure("\(path): opens \"\(id)\", as \(other.path) does")
                }
                sessions.append((path, id, body))
            }
        }
    }
}
