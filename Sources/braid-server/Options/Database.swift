import BraidPostgres
import BraidStore

/// What `--database` names: an SQLite file, or a PostgreSQL database by its address.
enum Database {
    static func isPostgres(_ name: String) -> Bool { name.hasPrefix("postgres://") || name.hasPrefix("postgresql://") }

    /// Opens it; throws a `Failure` that says why it cannot be.
    static func open(_ options: ServeOptions) throws -> OpenDatabase {
        do {
            guard isPostgres(options.database) else {
                let store = try SQLiteStore(path: options.database, options: options.sqlite)
                return OpenDatabase(store: store, name: options.database)
            }
            #if PostgreSQL
            let store = try PostgresStore(url: options.database, options: options.postgres)
            return OpenDatabase(store: store, name: store.name)
            #else
            throw Failure(
                "This braid-server was built without PostgreSQL. Build one with it: "
                    + "`swift build -c release --traits PostgreSQL` (it needs libpq; Debian: libpq-dev).")
            #endif
        } catch let error as StoreError {
            throw Failure("\(error)")
        }
    }
}

/// A store, and what the server needs to know of where it is.
struct OpenDatabase {
    var store: any SessionStore
    /// For the log: without a password.
    var name: String
}
