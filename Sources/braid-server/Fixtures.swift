import BraidEngine
import BraidServer
import BraidStore
import Foundation

/// Directories of `*.table.json` (descriptions) and `*.session.json` (bodies of `POST /v1/sessions`, with an `id`),
/// loaded at start, directories inside them included. A session that is there already is left alone.
struct Fixtures {
    let directories: [String]

    /// Throws with every fault of every file; nothing is stored unless each by itself is right.
    func load(into app: App) async throws {
        var files = Files(), faults: [String] = []
        for directory in directories {
            guard access(directory + "/.", R_OK | X_OK) == 0,
                let paths = FileManager.default.enumerator(atPath: directory)?.compactMap({ $0 as? String })
            else {
                faults.append("The fixtures directory \(directory) cannot be read.")
                continue
            }
            for path in paths.sorted().map({ "\(directory)/\($0)" }) {
                do throws(FaultyFile) {
                    try files.add(path)
                } catch {
                    faults += error.faults
                }
            }
        }
        guard faults.isEmpty else { throw FaultyFile(faults) }
        for (_, description) in files.tables
        where try await app.store.table(description.name)?.description != description.text {
            _ = try await app.store.putTable(description.name, description: description.text, at: app.source.instant())
        }
        for (path, id, body) in files.sessions where try await app.store.sessionFacts(id) == nil {
            do {
                _ = try await app.sessions.open(SessionOpening(body), text: body)
            } catch StoreError.sessionExists {
                // Another server has loaded it at the same moment.
            } catch {
                faults += JSONFile(path).faults(of: error)
            }
        }
        guard faults.isEmpty else { throw FaultyFile(faults) }
    }

    /// What the files hold, in their order.
    private struct Files {
        var tables: [(path: String, description: TableDescription)] = []
        var sessions: [(path: String, id: String, body: JSONText)] = []

        mutating func add(_ path: String) throws(FaultyFile) {
            if path.hasSuffix(".table.json") {
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
