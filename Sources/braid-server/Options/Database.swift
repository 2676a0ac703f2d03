import BraidPostgres
import BraidServer
import BraidStore

/// An SQLite file, a PostgreSQL database or `:memory:`, named by path or URL.
struct Database {
    let store: any SessionStore
    /// For the log, without password.
    let name: String

    static func isPostgres(_ name: String) -> Bool { name.hasPrefix("postgres://") || name.hasPrefix("postgresql://") }

    /// PostgreSQL connects at the first use.
    static func open(_ options: ServeOptions, logging log: LogLines) throws -> Database {
        guard isPostgres(options.database) else {
            let store = try SQLiteStore(
                path: options.database, options: options.store(logging: log), file: options.sqliteFile(logging: log))
            return Database(store: store, name: options.database)
        }
        #if PostgreSQL
        let store = try PostgresStore(
            url: options.database, options: options.store(logging: log), connects: false)
        return Database(store: store, name: store.name)
        #else
        throw withoutPostgres
        #endif
    }

    /// `isAtOneMoment`: `body` must see one moment while servers change data; with SQLite it always does.
    static func read<Value>(_ name: String, isAtOneMoment: Bool, _ body: (any StoredData) throws -> Value) throws
        -> Value
    {
        guard isPostgres(name) else { return try SQLiteStore.reading(name, body) }
        #if PostgreSQL
        return try PostgresStore.reading(name, isAtOneMoment: isAtOneMoment, body)
        #else
        throw withoutPostgres
        #endif
    }

    /// A new SQLite file or an empty PostgreSQL database. If `body` throws, nothing remains.
    static func fill<Value>(_ name: String, _ body: (any ArchiveTarget) throws -> Value) throws -> Value {
        guard isPostgres(name) else { return try SQLiteStore.creating(name, body) }
        #if PostgreSQL
        return try PostgresStore.filling(name, body)
        #else
        throw withoutPostgres
        #endif
    }

    private static let withoutPostgres = Failure(
        "This braid-server was built without PostgreSQL. Build one with it: "
            + "`swift build -c release --traits PostgreSQL` (it needs libpq; Debian: libpq-dev).")
}

// MARK: While a server starts

extension Database {
    /// `nil`: usable. Throws if waiting does not help: the database belongs to another application, for example.
    func reasonToWait() async throws -> StoreError? {
        // SQLite is open already.
        guard store.sharing != nil else { return nil }
        do {
            _ = try await store.check()
            return nil
        } catch let error as StoreError {
            switch error {
            case .unavailable, .busy: return error
            default: throw error
            }
        }
    }

    /// Waits for an answer for at most 3 seconds.
    func reasonToWaitAtStart() async throws -> StoreError? {
        let seconds = 3
        let (results, continuation) = AsyncStream.makeStream(of: Result<StoreError?, any Error>.self)
        Task {
            do {
                continuation.yield(.success(try await reasonToWait()))
            } catch {
                continuation.yield(.failure(error))
            }
        }
        let timer = Task {
            try await Task.sleep(for: .seconds(seconds))
            continuation.yield(.success(.unavailable("it has not answered for \(seconds) s")))
        }
        defer { timer.cancel() }
        for await result in results { return try result.get() }
        return nil
    }

    /// Returns when the database is available; logs each failed attempt.
    func becameAvailable(after first: StoreError, log: LogLines) async throws {
        var reason = first, delay = 1
        while true {
            log.write(.warning, "waiting for the database \(name); next attempt in \(delay) s. \(reason)")
            try await Task.sleep(for: .seconds(delay))
            guard let next = try await reasonToWait() else { break }
            (reason, delay) = (next, min(2 * delay, 10))
        }
        log.write(.warning, "the database \(name) is available")
    }
}
