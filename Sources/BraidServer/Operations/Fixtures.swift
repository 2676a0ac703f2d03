import BraidEngine
import BraidStore
import Foundation

/// A directory of `*.table.json` (descriptions) and `*.session.json` (bodies of `POST /v1/sessions`, with an `id`),
/// loaded at start, directories inside it included. A session that is there already is left alone.
struct Fixtures {
    let directory: String

    /// Throws with every fault of every file.
    func load(into app: App) async throws {
        guard let paths = FileManager.default.enumerator(atPath: directory)?.compactMap({ $0 as? String }) else {
            throw Failure("The fixtures directory \(directory) cannot be read.")
        }
        let sorted = paths.sorted().map { "\(directory)/\($0)" }
        var faults: [String] = []
        for path in sorted where path.hasSuffix(".table.json") {
            let file = DescriptionFile(path: path)
            faults += file.faults
            guard let description = file.description else { continue }
            if try await app.store.table(description.name)?.description != description.text {
                _ = try await app.store.putTable(description.name, description: description.text, at: app.source.now())
            }
        }
        if faults.isEmpty {
            for path in sorted where path.hasSuffix(".session.json") {
                if let fault = await open(path, in: app.sessions) { faults.append(fault) }
            }
        }
        guard faults.isEmpty else { throw Failure(faults.joined(separator: "\n")) }
    }

    private func open(_ path: String, in sessions: Sessions) async -> String? {
        guard let data = FileManager.default.contents(atPath: path) else { return "\(path): cannot be read" }
        do {
            let body = try JSONText(parsing: [UInt8](data))
            let opening = try SessionOpening(body)
            guard let id = opening.id else { return "\(path): a session fixture needs an `id`" }
            if try await sessions.store.sessionFacts(id) != nil { return nil }
            _ = try await sessions.open(opening, text: body)
            return nil
        } catch let error as JSONError {
            return "\(path):\(error.line):\(error.column): \(error.message)"
        } catch let refusal as Refusal {
            let faults = refusal.faults.map { "\n\(path): \($0.pointer): \($0.detail)" }.joined()
            return "\(path): \(refusal.detail)\(faults)"
        } catch let problem as ProblemError {
            return "\(path): \(problem.detail)"
        } catch {
            return "\(path): \(error)"
        }
    }
}
