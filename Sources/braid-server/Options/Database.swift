import BraidPostgres
import BraidStore
import Logging

/// The database that `--database` names: an SQLite file or the URL of a PostgreSQL database.
enum Database {
    static func isPostgres(_ name: String) -> Bool { name.hasPrefix("postgres://") || name.hasPrefix("postgresql://") }

    /// Opens the database. Throws a `Failure` that says why it cannot be opened. A PostgreSQL database that cannot be
    /// reached is opened later.
    static func open(_ options: ServeOptions) throws -> OpenDatabase {
        do {
            guard isPostgres(options.database) else {
                let store = try SQLiteStore(path: options.database, options: options.sqlite)
                return OpenDatabase(store: store, name: options.database)
            }
            #if PostgreSQL
            let store = try PostgresStore(
                url: options.database, options: options.postgres, mayBeUnavailable: !options.deterministic)
            return OpenDatabase(store: store, name: store.name, unavailable: store.unavailable)
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
    /// The reason why the database could not be reached. `nil` if it could.
    var unavailable: StoreError?

    /// Waits until the database can be reached, and logs each failed attempt. Throws a `Failure` if the server cannot use
    /// the database, for example because it belongs to another application.
    func becameAvailable(logger: Logger) async throws {
        guard var reason = unavailable else { return }
        var delay = 1
        while true {
            logger.warning("waiting for the database \(name); next attempt in \(delay) s. \(reason)")
            try await Task.sleep(for: .seconds(delay))
            delay = min(2 * delay, 10)
            do {
                try await store.check()
                return logger.warning("the database \(name) is available")
            } catch let error as StoreError {
                switch error {
                case .unavailable, .busy: reason = error
                default: throw Failure("\(error)")
                }
            }
        }
    }
}
