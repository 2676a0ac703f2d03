import BraidRuntime
import BraidServer
import BraidSessions

/// Reads the keys of signed tokens again, when a file changes and at SIGHUP. A file that cannot be used is logged; the
/// old keys stay.
struct KeyWatcher: Sendable {
    let signed: any SignedTokens
    let app: App

    func run() async {
        guard let watch = DirectoryWatch() else { return reportFailure() }
        for directory in Set(signed.files.map(Self.directory)) where !watch.add(directory) { reportFailure() }
        // A change before the watch began.
        read(because: "the keys have changed")
        for await _ in watch.changes { read(because: "the keys have changed") }
    }

    /// `reason` begins a line of the log.
    func read(because reason: String) {
        do {
            guard let count = try signed.readKeys() else { return }
            app.sessions.tokens.endSigned()
            app.logLines?.write(.notice, "\(reason): the number of keys for JSON Web Tokens is \(count)")
        } catch {
            app.logLines?.write(.error, "\(reason): \(error) The server goes on as before.")
        }
    }

    private func reportFailure() {
        app.logLines?.write(.error, "the key files cannot be watched: \(Files.failure). SIGHUP reads them again")
    }

    private static func directory(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }
}
