import BraidPostgres
import BraidServer
import BraidStore

/// The database that `--database` names: an SQLite file or the URL of a PostgreSQL database.
enum Database {
    static func isPostgres(_ name: String) -> Bool { name.hasPrefix("postgres://") || name.hasPrefix("postgresql://") }

    /// Opens the database. Throws a `Failure` that says why it cannot be opened.
    static func open(_ options: ServeOptions, logging log: LogLines) throws -> OpenDatabase {
        do {
            guard isPostgres(options.database) else {
                let store = try SQLiteStore(path: options.database, options: options.sqlite(logging: log))
                return OpenDatabase(store: store, name: options.database, schemaNotice: store.schemaNotice)
            }
            #if PostgreSQL
            let store = try PostgresStore(url: options.database, options: options.postgres(logging: log))
            return OpenDatabase(store: store, name: store.name, schemaNotice: store.schemaNotice)
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

/// An open store and the name of its database.
struct OpenDatabase {
    var store: any SessionStore
    /// The database's name for the log. The name contains no password.
    var name: String
    /// What opening the database did to its schema, for the log.
    var schemaNotice: String?
}
