import BraidEngine

extension ServerCommand {
    /// Creates the command from the arguments that follow its name, and from environment variables if
    /// `readsEnvironment` is true. The arguments take precedence over the variables, and the variables over the
    /// defaults.
    /// - Throws: A `UsageError` for the first mistake.
    init(_ given: [String], environment: [String: String]) throws(UsageError) {
        self.init()
        var read: Set<String> = []
        let values = try readOptions(given, read: &read)
        if Self.readsEnvironment { try readVariables(environment, except: read) }
        try readArguments(values)
    }

    /// Reads the options of the command line and adds their names to `read`. Returns the other arguments, such as file
    /// names.
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

    /// Reads the environment variables of all options that the command line does not contain.
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

    /// Stores the value of an option in the command. An error message begins with `place`, the name of the option or
    /// variable: `--port` or `BRAID_PORT`.
    private mutating func store(
        _ value: String, with store: (String, inout Self) throws(WrongValue) -> Void, of place: String
    ) throws(UsageError) {
        do throws(WrongValue) {
            try store(value, &self)
        } catch {
            throw UsageError("\(place) \(error.complaint).")
        }
    }

    /// Returns whether an argument begins with a dash. A dash alone is a value.
    private static func isOption(_ argument: String) -> Bool { argument.hasPrefix("-") && argument != "-" }

    private static func unknownOption(_ name: String) -> UsageError {
        let known = options.map { "--\($0.name)" } + ["--help", "--version"]
        let near = name.hasPrefix("--") ? Spelling.nearest(to: name, among: known, mistakes: 2) : nil
        return UsageError("\(name) is not an option.\(near.map { " Did you mean \($0)?" } ?? "")")
    }
}
