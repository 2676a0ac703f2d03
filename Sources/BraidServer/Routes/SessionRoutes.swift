import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

/// Open, list, read and end sessions; read snapshots.
func sessionRoutes(_ sessions: SessionHost) -> [Route] {
    [
        Route("POST", "/v1/sessions", takesBody: true, takesKey: true, servesLimitedTokens: true) { context in
            let body = try context.json(), isMinimal = context.head.returnPreference == "minimal"
            var given = try SessionOpening(body)
            try await context.requester.require(opening: &given, in: sessions)
            let opening = given
            func open(keeping keep: KeepsAnswer?) async throws -> HTTPResponse {
                var keptAnswer: (@Sendable (Session) -> KeptAnswer)?
                if let keep {
                    keptAnswer = {
                        keep($0.openedHead(isMinimal: isMinimal).kept(snapshotOf: isMinimal ? nil : $0))
                    }
                }
                let (session, snapshot) = try await sessions.open(
                    opening, text: body.detached, keptAnswer: keptAnswer)
                context.logOpened(session, opening)
                return session.openedResponse(with: isMinimal ? nil : snapshot)
            }
            guard let key = try IdempotencyKey(context) else { return try await open(keeping: nil) }
            return try await sessions.once(key, replay: { try await sessions.replayed($0, context) }) { keep in
                try await open(keeping: keep)
            }
        },
        Route("GET", "/v1/sessions", query: ["limit", "after", "table"], servesLimitedTokens: true) { context in
            let limit = try context.integer("limit", in: 1...1000) ?? 100
            let after = context.query("after")
            var page = try await sessions.summaries(
                of: context.query("table"), after: after, limit: limit + 1, within: context.requester.scope)
            let next = page.count > limit ? page[limit - 1].id : nil
            page = Array(page.prefix(limit))
            return .object {
                $0.member("sessions", page)
                $0.member("next", next)
            }
        },
        Route("GET", "/v1/sessions/{id}", for: .role(.viewer)) { context in
            var summary = try await context.summary(sessions)
            // What they do not see does not count.
            if context.requester.role != .controller {
                summary.totalRowCount = try await context.withTable(sessions) { $0.totalRowCount }
            }
            return .json(summary)
        },
        Route("GET", "/v1/sessions/{id}/table") { context in
            let id = context.parameter("id")
            guard let binding = try await context.session(sessions).binding else {
                throw ProblemError(.tableNotFound, "The session \"\(id)\" was opened without a table description.")
            }
            var hash = StableHash()
            hash.combine(binding.text.bytes)
            let tag = "\"\(String(UInt(bitPattern: hash.value), radix: 36))\""
            var response =
                context.head.notModified(tag)
                ?? .json(binding.text.bytes, headers: [("ETag", tag)])
            if let version = binding.version { response.headers.append(("Table-Version", "\(version)")) }
            return response
        },
        Route("DELETE", "/v1/sessions/{id}", obeysIfMatch: true) { context in
            let id = context.parameter("id"), condition = context.head.positionCondition
            try await sessions.end(id, number: context.requester.sessionNumber, if: condition)
            context.logAct("session ended", ("session", id))
            return HTTPResponse(status: 204)
        },
        Route(
            "GET", "/v1/sessions/{id}/snapshot", for: .role(.viewer),
            query: WindowQuery.parameters.union(Looker.parameters).union(["at"]),
            atOnce: { context in
                let request = try SnapshotRequest(context)
                guard request.position == nil, let session = sessions.currentInMemory(context.parameter("id")) else {
                    return nil
                }
                try context.require(session)
                return try session.displayedAtOnce(to: request.looker)?.smallSnapshot(request)
            },
            { context in
                let request = try SnapshotRequest(context)
                return try await context.withTable(sessions, seenBy: request.looker) { table in
                    return try await table.snapshot(request)
                }
            }),
    ]
}

extension Exchange {
    fileprivate func logOpened(_ session: Session, _ opening: SessionOpening) {
        let origin = opening.from.map { [(name: "from", value: $0.session)] } ?? []
        logAct("session opened", values: [("session", session.id)] + origin + session.boundTableValues)
    }
}

private struct SnapshotRequest {
    let context: Exchange
    /// `nil`: the whole snapshot.
    let window: WindowQuery?
    /// `nil`: the current one.
    let position: Position?
    let looker: Looker

    init(_ context: Exchange) throws {
        self.context = context
        window = try WindowQuery(context)
        looker = try Looker(context)
        position = try context.query("at").map { try Position($0) }
    }
}

extension Session {
    /// For a log line.
    var boundTableValues: [(name: String, value: String)] {
        guard let binding else { return [] }
        return [("table", binding.table)] + (binding.version.map { [("version", "\($0)")] } ?? [])
    }

    /// Without the snapshot and its fields.
    fileprivate func openedHead(isMinimal: Bool) -> HTTPResponse {
        let location = ("Location", "/v1/sessions/\(id)")
        return HTTPResponse(
            status: 201,
            headers: isMinimal
                ? [location, ("ETag", position.entityTag), ("Preference-Applied", "return=minimal")] : [location])
    }

    fileprivate func openedResponse(with opened: Snapshot?) -> HTTPResponse {
        var response = openedHead(isMinimal: opened == nil)
        guard let opened else { return response }
        let snapshot = displayed.snapshotResponse(of: opened)
        response.headers += snapshot.headers
        response.body = snapshot.body
        return response
    }

}

extension DisplayedTable {
    /// Small or cached. Otherwise `nil`.
    fileprivate func smallSnapshot(_ request: SnapshotRequest) throws -> HTTPResponse? {
        let context = request.context
        guard let window = request.window else { return isLarge ? nil : wholeSnapshot(request) }
        return try notModified(request, of: nil)
            ?? encodedSmallWindow(window, for: context.account).map { HTTPResponse($0, to: context.head) }
    }

    fileprivate func snapshot(_ request: SnapshotRequest) async throws -> HTTPResponse {
        var past: SessionTable?
        if let position = request.position { past = try await table(at: position, seenBy: request.looker) }
        if let window = request.window {
            if let unchanged = notModified(request, of: past?.snapshot) { return unchanged }
            return HTTPResponse(
                try await encodedWindow(window, of: past, for: request.context.account), to: request.context.head)
        }
        return await withTaskExecutorPreference(past == nil && isLarge ? Workers.shared.long : nil) {
            wholeSnapshot(request, of: past?.snapshot)
        }
    }

    /// `past`: an earlier snapshot.
    fileprivate func wholeSnapshot(_ request: SnapshotRequest, of past: Snapshot? = nil) -> HTTPResponse {
        notModified(request, of: past) ?? snapshotResponse(of: past)
    }

    private func notModified(_ request: SnapshotRequest, of past: Snapshot?) -> HTTPResponse? {
        request.context.head.notModified(position(at: past?.revision ?? position.revision).entityTag)
    }

    /// `past`: an earlier snapshot. Only the current one can be cached.
    func snapshotResponse(of past: Snapshot? = nil) -> HTTPResponse {
        if let past { return snapshotResponse(body(of: past), at: past.revision) }
        if isTooLargeToCache {
            let (revision, stream) = streamedSnapshot()
            return snapshotResponse(.stream(stream), at: revision)
        }
        let (revision, bytes) = encodedSnapshot()
        return snapshotResponse(.shared(bytes), at: revision)
    }

    private func snapshotResponse(_ body: HTTPBody, at revision: Int) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [("Content-Type", "application/json"), ("ETag", position(at: revision).entityTag)], body: body)
    }

    /// A large one is encoded while it is sent.
    func body(of snapshot: Snapshot) -> HTTPBody {
        Session.isStreamed(snapshot) ? .stream(stream(of: snapshot)) : .bytes(encoded(snapshot))
    }
}

extension SessionSummary: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.member("id", id)
            $0.member("table", table)
            $0.member("tableVersion", tableVersion)
            $0.member("epoch", epoch)
            $0.member("revision", revision)
            $0.member("created", Instant(millisecondsSince1970: created))
            $0.member("updated", Instant(millisecondsSince1970: updated))
            $0.member("totalRowCount", totalRowCount)
        }
    }
}
