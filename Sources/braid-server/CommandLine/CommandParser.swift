import BraidEngine
import BraidRuntime
@preconcurrency import Glibc

extension ServerCommand {
    /// The command line goes before the environment (where `readsEnvironment`), and that before the defaults.
    init(_ given: [String], environment: [String: String]) throws(UsageError) {
        self.init()
        var read: Set<String> = []
        let values = try readOptions(given, read: &read)
        if Self.readsEnvironment { try readVariables(environment, except: read) }
        try readArguments(values)
    }

    /// Adds the options' names to `read`; returns the other arguments.
    private mutating func readOptions(_ given: [String], read: inout Set<String>) throws(UsageError) -> [String] {
        let options = Self.options
        var rest = given[...], values: [String] = []
        while let argument = rest.popFirst() {
            if argument == "--" {
                values += rest
                break
            }
            guard Self.isOption(argument) else {
                values.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let name = parts.first, let option = options.first(where: { "--\($0.name)" == name }) else {
                throw Self.unknownOption(parts.first ?? argument)
            }
            var value = parts.dropFirst().first
            if option.form == .flag {
                guard value == nil else {
                    throw UsageError("\(name) is a flag: leave out the value after '='.")
                }
                value = "true"
            } else if value == nil, let next = rest.first, !Self.isOption(next) {
                value = rest.popFirst()
            }
            guard let value else {
                let next = rest.first.map { " To pass '\($0)' as the value, write \(name)=\($0)." } ?? ""
                throw UsageError("\(name) needs a value.\(next)")
            }
            try store(value, with: option.store, of: name)
            read.insert(option.name)
        }
        return values
    }

    private mutating func readVariables(
        _ environment: [String: String], except read: Set<String>
    ) throws(UsageError) {
        for option in Self.options where !read.contains(option.name) {
            guard let text = environment[option.variable], !text.isEmpty else { continue }
            let values = option.form == .repeatedValue ? text.split(separator: ",").map(String.init) : [text]
            for value in values { try store(value, with: option.store, of: option.variable) }
        }
    }

    private mutating func readArguments(_ values: [String]) throws(UsageError) {
        var rest = values[...]
        for argument in Self.arguments {
            guard let first = rest.popFirst() else {
                if argument.form == .optional { continue }
                throw UsageError("The argument <\(argument.name)> is missing.")
            }
            try store(first, with: argument.store, of: "The argument <\(argument.name)>")
            while argument.form == .repeated, let next = rest.popFirst() {
                try store(next, with: argument.store, of: "The argument <\(argument.name)>")
            }
        }
        if let extra = rest.first { throw UsageError("The command has no argument for '\(extra)'.") }
    }

    /// `place` begins a message: `--port` or `BRAID_PORT`.
    private mutating func store(
        _ value: String, with store: (String, inout Self) throws(WrongValue) -> Void, of place: String
    ) throws(UsageError) {
        do throws(WrongValue) {
            try store(value, &self)
        } catch {
            throw UsageError("\(place) \(error.complaint).")
        }
    }

    /// A dash alone is a value.
    private static func isOption(_ argument: String) -> Bool { argument.hasPrefix("-") && argument != "-" }

    private static func unknownOption(_ name: String) -> UsageError {
        let known = options.map { "--\($0.name)" } + ["--help", "--version"]
        let near = name.hasPrefix("--") ? Spelling.nearest(to: name, among: known, mistakes: 2) : nil
        return UsageError("\(name) is not an option.\(near.map { " Did you mean \($0)?" } ?? "")")
    }
}

enum EnvironmentVariables {
    static let prefix = "BRAID_"
    static let token = "BRAID_TOKEN"
    /// For test suites: where the binary is.
    static let binary = "BRAID_SERVER_BINARY"
    /// Of test suites; `Scripts/with-postgres` sets `BRAID_TEST_POSTGRES`.
    static let testPrefix = "BRAID_TEST_"

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

    /// Refuses `BRAID_…` that nothing reads: nobody would notice a misspelled limit.
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

    /// Set by Kubernetes or Docker for a service whose name begins with "braid": `BRAID_SERVICE_HOST`,
    /// `BRAID_SERVER_SERVICE_PORT_HTTP`, `BRAID_PORT_8080_TCP_ADDR`, or `BRAID_SERVER_PORT=tcp://10.0.0.1:8080`.
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        let words = name.split(separator: "_"), protocols = ["TCP", "UDP", "SCTP"]
        if words.last == "PORT", protocols.contains(where: { value.hasPrefix("\($0.lowercased())://") }) { return true }
        return zip(words, words.dropFirst()).contains { word, next in
            word == "SERVICE"
                ? next == "HOST" || next == "PORT" : Int(digits: word) != nil && protocols.contains(String(next))
        }
    }
}
