import BraidPostgres
import BraidStore

/// The database that `--database` or an argument names: an SQLite file or the URL of a PostgreSQL database.
enum Database {
    static func isPostgres(_ name: String) -> Bool { name.hasPrefix("postgres://") || name.hasPrefix("postgresql://") }

    /// Opens the database. Throws a `Failure` that says why it cannot be opened.
    static func open(_ options: ServeOptions) throws -> OpenDatabase {
        try perform {
            guard isPostgres(options.database) else {
                let store = try SQLiteStore(path: options.database, options: options.sqlite)
                return OpenDatabase(store: store, name: options.database)
            }
            #if PostgreSQL
            let store = try PostgresStore(url: options.database, options: options.postgres)
            return OpenDatabase(store: store, name: store.name)
            #else
            throw withoutPostgres
            #endif
        }
    }

    /// Calls `body` with the data of a database. Throws a `Failure` that says why the data cannot be read.
    ///
    /// - Parameter isAtOneMoment: whether `body` must see the data at one moment, even while servers change it. Always
    ///   true for SQLite.
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

    /// Calls `body` with a new database, which keeps what `body` inserts only if `body` returns.
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

/// An open store and the name of its database.
struct OpenDatabase {
    var store: any SessionStore
    /// The database's name for the log. The name contains no password.
    var name: String
}
