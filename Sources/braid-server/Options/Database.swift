import BraidPostgres
import BraidServer
import BraidStore

/// The database that `--database` or an argument names: an SQLite file, the URL of a PostgreSQL database, or for a
/// server `:memory:`.
enum Database {
    static func isPostgres(_ name: String) -> Bool { name.hasPrefix("postgres://") || name.hasPrefix("postgresql://") }

    /// Opens the database. Throws a `Failure` that says why the database cannot be opened. The first connection to a
    /// PostgreSQL database is opened only when the store is first used.
    static func open(_ options: ServeOptions, logging log: LogLines) throws -> OpenDatabase {
        try perform {
            guard isPostgres(options.database) else {
                let store = try SQLiteStore(
                    path: options.database, options: options.store(logging: log),
                    file: options.sqliteFile(logging: log))
                return OpenDatabase(store: store, name: options.database) { store.schemaNotice }
            }
            #if PostgreSQL
            let store = try PostgresStore(
                url: options.database, options: options.store(logging: log), connects: false)
            return OpenDatabase(store: store, name: store.name) { store.schemaNotice }
            #else
            throw withoutPostgres
            #endif
        }
    }

    /// Calls `body` with the data of a database. Throws a `Failure` that says why the data cannot be read.
    ///
    /// - Parameter isAtOneMoment: whether `body` must see the data at one moment, even while servers change it. For
    ///   SQLite, `body` always sees the data at one moment.
    static func read<Value>(_ name: String, isAtOneMoment: Bool, _ body: (any StoredData) throws -> Value) throws
        -> Value
    {
        try perform {
            guard isPostgres(name) else { return try SQLiteStore.reading(name, body) }
            #if PostgreSQL
            return try PostgresStore.reading(name, isAtOneMoment: isAtOneMoment, body)
            #else
            throw withoutPostgres
            #endif
        }
    }

    /// Creates an SQLite file, or opens an empty PostgreSQL database, and calls `body` to fill the database. If `body`
    /// throws, nothing of what `body` has inserted remains.
    static func fill<Value>(_ name: String, _ body: (any ArchiveTarget) throws -> Value) throws -> Value {
        try perform {
            guard isPostgres(name) else { return try SQLiteStore.creating(name, body) }
            #if PostgreSQL
            return try PostgresStore.filling(name, body)
            #else
            throw withoutPostgres
            #endif
        }
    }

    /// Calls `body`, and converts the errors of stores to a `Failure`.
    static func perform<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as StoreError {
            throw Failure("\(error)")
        }
    }

    private static let withoutPostgres = Failure(
        "This braid-server was built without PostgreSQL. Build one with it: "
            + "`swift build -c release --traits PostgreSQL` (it needs libpq; Debian: libpq-dev).")
}

/// A store that the server uses, and the name of the store's database.
struct OpenDatabase {
    var store: any SessionStore
    /// The database's name for the log. The name contains no password.
    var name: String
    /// Returns a text for the log about the schema of the opened database, such as an upgrade. Returns `nil` if the
    /// database was new or had the server's own schema version.
    var schemaNotice: @Sendable () -> String?

    /// Returns the reason why the server must wait for the database, or `nil` if the database can be used. Throws a
    /// `Failure` if waiting does not help, for example because the database belongs to another application.
    func reasonToWait() async throws -> StoreError? {
        // A store that servers cannot share is an SQLite store. It is already open, so the server need not wait.
        guard store.sharing != nil else { return nil }
        do {
            _ = try await store.check()
            return nil
        } catch let error as StoreError {
            switch error {
            case .unavailable, .busy: return error
            default: throw Failure("\(error)")
            }
        }
    }

    /// Returns the same as `reasonToWait`, but waits at most 3 seconds for an answer of the database.
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

    /// Waits until the database can be used, and logs each failed attempt.
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
