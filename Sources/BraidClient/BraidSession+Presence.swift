import Foundation
import Synchronization

extension BraidSession {
    /// One of those present in a session.
    public struct PresentClient: Codable, Sendable, Hashable {
        /// The same as long as the client and its token are.
        public var id: String
        /// `nil` if the token has none.
        public var user: User?
        /// What the token allows.
        public var role: Role
        /// `nil` if at no row. It may have moved, or be gone.
        public var at: Place?
        /// The client's own.
        public var data: JSON?
        /// When it became present, RFC 3339.
        public var since: String

        /// A row.
        public struct Place: Codable, Sendable, Hashable {
            /// The row's.
            public var id: String
            /// If several sections display a row with this id.
            public var section: String?
        }
    }

    /// Everybody present, in the order in which they came.
    public func presence() async throws -> [PresentClient] {
        struct List: Decodable { var present: [PresentClient] }
        return try await client.value(of: Request("GET", ["v1", "sessions", id, "presence"]), as: List.self).present
    }

    /// Shows this client to the others, in place of what it has shown.
    ///
    /// It lasts for 30 seconds, and as long as the client has a subscription with `presence`, which repeats it after
    /// each connection. Commands do not wait for it.
    ///
    /// - Parameters:
    ///   - row: an index path counts only now.
    ///   - data: at most 1,024 bytes.
    ///   - isolation: the actor on which calls take their places in the order at once.
    @discardableResult
    public func setPresence(
        at row: RowReference? = nil, data: JSON? = nil, isolation: isolated (any Actor)? = #isolation
    ) async throws -> PresentClient {
        try await appear(OwnPresence.Entry(at: row?.json, data: data))
    }

    /// Ends this client's presence.
    public func leavePresence(isolation: isolated (any Actor)? = #isolation) async throws {
        client.presence.shown.withLock { $0[id] = nil }
        _ = try await inTurn { try await client.data(of: presenceRequest("DELETE")) }
    }

    /// After a stream was opened.
    func appearAgain() async {
        guard let entry = client.presence.shown.withLock({ $0[id] }) else { return }
        do {
            try await appear(entry)
        } catch let problem as Problem where entry.at != nil && [404, 409].contains(problem.status) {
            // Its row may be gone.
            guard client.presence.shown.withLock({ $0[id]?.number == entry.number }) else { return }
            _ = try? await appear(OwnPresence.Entry(at: nil, data: entry.data))
        } catch {
            // The next connection tries again.
        }
    }

    @discardableResult
    private func appear(_ entry: OwnPresence.Entry, isolation: isolated (any Actor)? = #isolation) async throws
        -> PresentClient
    {
        client.presence.shown.withLock { $0[id] = entry }
        let shown: PresentClient = try await inTurn {
            try await client.value(of: presenceRequest("PUT", body: entry.json))
        }
        client.presence.shown.withLock { all in
            guard all[id]?.number == entry.number else { return }
            all[id]?.at = try? shown.at.map { try JSON(encoding: $0) }
        }
        return shown
    }

    /// In the order of the calls, apart from the commands.
    private func inTurn<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ send: () async throws -> Value
    ) async throws -> Value {
        let place = client.commands.enter(id + "/presence")
        defer { client.commands.leave(place) }
        try await client.commands.wait(at: place)
        return try await send()
    }

    private func presenceRequest(_ method: String, body: JSON? = nil) -> Request {
        Request(method, ["v1", "sessions", id, "presence"], query: ["client": client.presence.name], body: body)
    }
}

/// What a client shows to the others, by session.
final class OwnPresence: Sendable {
    /// To the server, a token and a name are one client.
    let name = UUID().uuidString
    let shown = Mutex<[String: Entry]>([:])

    struct Entry: Sendable {
        /// By its id as soon as it is known.
        var at: JSON?
        let data: JSON?
        /// Tells one call from another.
        let number = UUID()

        var json: JSON {
            var members: [String: JSON] = [:]
            members["at"] = at
            members["data"] = data
            return .object(members)
        }
    }
}

/// Everybody, or what has changed.
struct PresenceEvent: Decodable {
    var present: [BraidSession.PresentClient]?
    var changed: [BraidSession.PresentClient]?
    var left: [String]?

    /// Changed ones keep their places.
    func apply(to list: inout [BraidSession.PresentClient]) {
        list = present ?? list
        for client in changed ?? [] {
            if let index = list.firstIndex(where: { $0.id == client.id }) {
                list[index] = client
            } else {
                list.append(client)
            }
        }
        guard let left, !left.isEmpty else { return }
        let gone = Set(left)
        list.removeAll { gone.contains($0.id) }
    }
}
