import BraidEngine
import BraidRuntime
@preconcurrency import Glibc

/// The environment variables `BRAID_…`.
enum EnvironmentVariables {
    static let prefix = "BRAID_"
    /// The variable that contains the controller's token.
    static let token = "BRAID_TOKEN"
    /// The variable with which test suites find the server's binary.
    static let binary = "BRAID_SERVER_BINARY"
    /// The prefix of other variables that only test suites use. For example, `Scripts/with-postgres` sets
    /// `BRAID_TEST_POSTGRES`.
    static let testPrefix = "BRAID_TEST_"

    /// The environment variables of the process.
    static func ofProcess() -> [String: String] {
        var variables: [String: String] = [:]
        var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        while let variable = next?.pointee {
            let parts = String(cString: variable).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if let name = parts.first, let value = parts.dropFirst().first { variables[String(name)] = String(value) }
            next = next?.successor()
        }
        return variables
    }

    /// Throws a `UsageError` if an environment variable `BRAID_…` is neither a setting nor one of the variables of test
    /// suites or of service links. The error names all such variables. Without this check, nobody would notice a
    /// misspelled limit.
    static func check(_ environment: [String: String], known: [String]) throws(UsageError) {
        let known = known + [token]
        let unknown = environment.filter { name, value in
            name.hasPrefix(prefix) && !known.contains(name) && name != binary && !name.hasPrefix(testPrefix)
                && !isServiceLink(name, value)
        }
        guard !unknown.isEmpty else { return }
        let complaints = unknown.keys.sorted().map { name in
            "\(name) is not a setting.\(Spelling.nearest(to: name, among: known, mistakes: 2).map { " Did you mean \($0)?" } ?? "")"
        }
        throw UsageError(complaints.joined(separator: "\n"))
    }

    /// Returns whether Kubernetes or Docker sets a variable with this name and value for a service whose name begins
    /// with "braid": `BRAID_SERVICE_HOST`, `BRAID_SERVER_SERVICE_PORT_HTTP`, `BRAID_PORT_8080_TCP_ADDR`, or
    /// `BRAID_SERVER_PORT=tcp://10.0.0.1:8080`.
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        let words = name.split(separator: "_"), protocols = ["TCP", "UDP", "SCTP"]
        if words.last == "PORT", protocols.contains(where: { value.hasPrefix("\($0.lowercased())://") }) { return true }
        return zip(words, words.dropFirst()).contains { word, next in
            word == "SERVICE"
                ? next == "HOST" || next == "PORT" : Int(digits: word) != nil && protocols.contains(String(next))
        }
    }
}
