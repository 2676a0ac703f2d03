import Foundation
internal import GRDB

extension SQLiteStore {
    /// Writes a copy of a database, whole and of one moment, also while a server is using it. The copy is compact, and
    /// opens as any other. Throws if there is a file at `target`.
    public static func backup(of path: String, to target: String) throws {
        do {
            guard access(path, F_OK) == 0 else { throw StoreError.io("there is no file \(path)") }
            guard access(target, F_OK) != 0 else { throw StoreError.io("there is a file \(target) already") }
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let source = try DatabaseQueue(path: path, configuration: configuration)
            try source.inDatabase { db in
                try Opening.recognise(db, path: path)
                // One read transaction; the copy is flushed before it ends.
                try db.execute(sql: "VACUUM INTO ?", arguments: [target])
            }
        } catch {
            throw StoreError(error, path: path)
        }
    }
}
