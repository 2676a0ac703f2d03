import BraidEngine
import BraidStore
import Logging
import Synchronization

/// The sessions of this server: those in memory, and the way to those that are not.
final class Sessions: Sendable {
    let store: any SessionStore
    let source: Source
    private let streams: StreamLimits
    private let logger: Logger
    let keysUnderWay = KeysUnderWay()
    private let live = Mutex<[String: Session]>([:])
    private let loading = Mutex<[String: Task<Session?, any Error>]>([:])

    init(store: any SessionStore, source: Source, streams: StreamLimits = StreamLimits(), logger: Logger) {
        self.store = store
        self.source = source
        self.streams = streams
        self.logger = logger
    }

    /// The session, if it is in memory.
    func inMemory(_ id: String) -> Session? {
        live.withLock { $0[id] }.flatMap { $0.isStale ? nil : $0 }
    }

    /// The session, read from the store if it is not in memory. Throws `notFound`.
    func session(_ id: String) async throws -> Session {
        if let session = inMemory(id) { return session }
        // Many may ask at once; one of them reads.
        let task = loading.withLock { loading in
            if let task = loading[id] { return task }
            let task = Task { [self] in
                defer { forgetLoading(id) }
                return try await load(id)
            }
            loading[id] = task
            return task
        }
        guard let session = try await task.value else { throw ProblemError(.notFound, "There is no session \"\(id)\".") }
        return session
    }

    private func forgetLoading(_ id: String) { loading.withLock { $0[id] = nil } }

    private func load(_ id: String) async throws -> Session? {
        if let session = inMemory(id) { return session }
        guard let stored = try await store.session(id) else { return nil }
        guard let text = stored.description else { throw ProblemError(.internalError, "The session \"\(id)\" has no description.") }
        let binder = try TableDescription(text).binder
        let sections = try stored.sections.map { try StoredSection(facts: $0.facts, rows: $0.rows) }
        let displayed = stored.displayedSections?.elements()?.compactMap { $0.stringValue.map { SectionID($0) } }
        let model = TableModel(sections: sections, displayedSections: displayed, state: stored.state, nextKey: stored.nextKey)
        let snapshot = try binder.snapshot(of: model, revision: stored.facts.revision, now: timestamp(stored.facts.updated))
        return try await adopt(Session(facts: stored.facts, binder: binder, model: model, snapshot: snapshot, store: store, source: source, streams: streams))
    }

    /// Puts a session into memory, or gives the one that is there already. Nil when it was ended meanwhile: `end` takes
    /// out of memory what is there when the store has let go of it, so that whoever comes later must look again.
    private func adopt(_ session: Session) async throws -> Session? {
        let adopted = live.withLock { live in
            if let other = live[session.id], !other.isStale, other.number >= session.number { return other }
            live[session.id] = session
            return session
        }
        if try await store.sessionFacts(session.id)?.number == adopted.number { return adopted }
        forget(adopted.number, id: adopted.id)
        return nil
    }

    private func forget(_ number: Int, id: String) {
        let session = live.withLock { live in
            live[id]?.number == number ? live.removeValue(forKey: id) : nil
        }
        session?.markStale(.ended)
    }

    /// Opens a session. `text` is the request's body, kept for `reset` and `replay`.
    func open(
        _ opening: SessionOpening, text: JSONText, keep: (@Sendable (Session) -> KeptAnswer)? = nil
    ) async throws -> Session {
        let description: TableDescription
        var version: Int?
        switch opening.table {
        case .named(let name):
            guard let table = try await store.table(name) else { throw ProblemError(.notFound, "There is no table description \"\(name)\"; register it with PUT /v1/tables/\(name).") }
            description = try TableDescription(table.description)
            version = table.version
        case .inline(let text): description = try TableDescription(text)
        }
        let id = opening.id ?? source.sessionID()
        if inMemory(id) != nil { throw StoreError.sessionExists }
        let now = source.now()
        let model = try description.openingTable(models: opening.models, state: opening.state)
        let snapshot = try description.binder.snapshot(of: model, revision: 0, now: timestamp(now))
        let epoch = source.epoch()
        var facts = SessionFacts(
            id: id, number: 0, table: description.name, epoch: epoch, revision: 0, created: now, updated: now,
            totalRowCount: snapshot.totalRowCount)
        func session() -> Session {
            Session(facts: facts, binder: description.binder, model: model, snapshot: snapshot, store: store, source: source, streams: streams)
        }
        facts.number = try await store.createSession(NewSession(
            id: id, table: description.name, tableVersion: version, description: version == nil ? description.text : nil,
            epoch: epoch, created: now, opening: text, state: model.state,
            displayedSections: nil, nextKey: model.nextKey, totalRowCount: snapshot.totalRowCount,
            sections: model.sections.map(\.facts),
            rows: model.sections.flatMap { section in section.rows.map { (section.facts.number, $0) } },
            // The number is the store's to give; the answer does not have it.
            answer: keep?(session())))
        let session = session()
        logger.debug("session \(id) opened")
        // One that is ended at once was there all the same.
        return try await adopt(session) ?? session
    }

    func end(_ id: String) async throws {
        guard let number = try await store.deleteSession(id) else { throw ProblemError(.notFound, "There is no session \"\(id)\".") }
        forget(number, id: id)
    }

    /// Carries a command out on the session.
    func perform(
        _ command: Command, text: JSONText, on id: String, dryRun: Bool = false, ifMatch: String? = nil,
        keep: (@Sendable (Session, Session.Answer) -> KeptAnswer)? = nil
    ) async throws -> (session: Session, answer: Session.Answer) {
        try await with(id) { session in
            let answer = try await session.perform(command, text: text, dryRun: dryRun, keep: keep) { revision in
                guard let ifMatch, !etags(in: ifMatch, include: session.etag(revision), weakly: false) else { return }
                throw ProblemError(.etagMismatch, "The session is at \(session.etag(revision)), not at \(ifMatch).", headers: [("ETag", session.etag(revision))])
            }
            return (session, answer)
        }
    }

    /// Does something with a session, looked up again if it was dropped from memory meanwhile (`StaleSession`).
    func with<Value>(_ id: String, _ body: (Session) async throws -> Value) async throws -> Value {
        for _ in 0..<3 {
            do {
                return try await body(try await session(id))
            } catch is StaleSession {
                continue
            }
        }
        throw ProblemError(.unavailable, "The session is being reloaded; try again.", headers: [("Retry-After", "1")])
    }
}

/// Whether a list of entity tags, or `*`, names one (RFC 9110, 13.1). The weak comparison ignores `W/`.
func etags(in list: String, include etag: String, weakly: Bool) -> Bool {
    list.split(separator: ",").contains { item in
        let item = item.drop { $0 == " " || $0 == "\t" }
        let trimmed = item.prefix { $0 != " " && $0 != "\t" }
        if trimmed == "*" || trimmed == etag[...] { return true }
        return weakly && trimmed.hasPrefix("W/") && trimmed.dropFirst(2) == etag[...]
    }
}

/// What a session is opened with.
struct SessionOpening: Sendable {
    enum Table: Sendable {
        case named(String)
        case inline(JSONText)
    }

    var table: Table
    var id: String?
    var models: [(section: SectionID, models: [JSONText])] = []
    var state: JSONText?

    init(_ body: JSONText) throws {
        guard let members = body.members() else { throw Refusal(.badRequest, "The body must be an object: {\"table\": …, \"id\"?, \"models\"?, \"state\"?}.") }
        func fault(_ name: String, _ detail: String) -> Refusal {
            Refusal(.badRequest, "The body's member `\(name)` \(detail).", faults: [.init(pointer: JSONPointer.root.appending(name), detail: detail)])
        }
        var table: Table?
        for (name, value) in members {
            switch name {
            case "table":
                if let name = value.stringValue { table = .named(name) } else if value.kind == .object { table = .inline(value.detached) } else {
                    throw fault(name, "must be the name of a table description, or a description")
                }
            case "id":
                guard let id = value.stringValue, TableDescription.isName(id) else {
                    throw fault(name, "must have 1 to 64 of the characters A-Z, a-z, 0-9, \".\", \"_\", \"-\"")
                }
                self.id = id
            case "models":
                guard let sections = value.members() else { throw fault(name, "must be an object from section ids to arrays of models") }
                models = try sections.map { section, models in
                    guard let elements = models.elements() else {
                        throw Refusal(.badRequest, "The models of the section \"\(section)\" must be an array.", faults: [.init(pointer: JSONPointer.root.appending("models").appending(section), detail: "must be an array")])
                    }
                    return (SectionID(section), elements)
                }
            case "state":
                guard value.kind == .object else { throw fault(name, "must be an object") }
                state = value.detached
            default: throw fault(name, "is not known; a session is opened with `table`, `id`, `models`, `state`")
            }
        }
        guard let table else {
            throw Refusal(.badRequest, "The body's member `table`, a name or a description, is missing.", faults: [.init(pointer: .root, detail: "`table` is missing")])
        }
        self.table = table
    }
}
