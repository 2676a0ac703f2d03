import BraidEngine
import BraidRuntime
import BraidSessions

/// A file of JSON that a command reads, such as a fixture or a snapshot. The file's faults are reported as
/// `file:line:column: pointer: message`, without the parts that a fault does not have.
struct JSONFile {
    let path: String

    init(_ path: String) { self.path = path }

    /// Parses the file and passes its JSON to `make`. If the JSON is invalid or `make` throws, throws the faults, with
    /// their lines and columns in the file if they are known.
    func read<Value>(depthLimit: Int = 128, _ make: (JSONText) throws -> Value) throws(FaultyFile) -> Value {
        try read(depthLimit: depthLimit) { json, _ in try make(json) }
    }

    /// Returns the warnings that `find` reports for the file's JSON, each with its line and column.
    func warnings(_ find: (JSONText) throws -> [Refusal.Fault]) throws(FaultyFile) -> [String] {
        try read { json, bytes in lines(try find(json), in: bytes, marked: "warning: ") }
    }

    private func read<Value>(depthLimit: Int = 128, _ make: (JSONText, [UInt8]) throws -> Value) throws(FaultyFile)
        -> Value
    {
        guard let bytes = Files.bytes(of: path) else { throw FaultyFile(["\(path): \(Files.failure)"]) }
        do {
            return try make(try JSONText(parsing: bytes, depthLimit: depthLimit), bytes)
        } catch {
            throw FaultyFile(faults(of: error, in: bytes))
        }
    }

    /// Returns the text of an error, with the JSON Pointers of the error's faults if it has any.
    static func sentence(of error: any Error) -> String {
        guard let refusal = error as? Refusal else { return (error as? SessionError)?.message ?? "\(error)" }
        let places = refusal.faults.map { "\($0.pointer): \($0.detail)" }
        return places.isEmpty ? refusal.detail : places.joined(separator: "; ")
    }

    /// Returns the messages for an error that the file's JSON has caused. Each message describes one fault, with the
    /// fault's line and column in the file if they are known.
    func faults(of error: any Error) -> [String] { faults(of: error, in: Files.bytes(of: path)) }

    private func faults(of error: any Error, in bytes: [UInt8]?) -> [String] {
        switch error {
        case let error as JSONError: return ["\(path):\(error.line):\(error.column): \(error.message)"]
        case let refusal as Refusal: return place(refusal.faults, of: refusal.detail, in: bytes)
        case let error as SessionError: return ["\(path): \(error.message)"]
        default: return ["\(path): \(error)"]
        }
    }

    private func place(_ faults: [Refusal.Fault], of detail: String, in bytes: [UInt8]?) -> [String] {
        guard !faults.isEmpty, let bytes else { return ["\(path): \(detail)"] }
        return lines(faults, in: bytes)
    }

    private func lines(_ faults: [Refusal.Fault], in bytes: [UInt8], marked mark: String = "") -> [String] {
        guard !faults.isEmpty else { return [] }
        let locations = JSONLocations(of: bytes)
        return faults.map { fault in
            let place = locations.position(nearest: fault.pointer)
            let pointer = fault.pointer.tokens.isEmpty ? "" : "\(fault.pointer): "
            return "\(path):\(place.map { "\($0.line):\($0.column): " } ?? " ")\(mark)\(pointer)\(fault.detail)"
        }
    }
}

/// An error with the messages for the faults of one or several files, one on each line.
struct FaultyFile: Error, CustomStringConvertible {
    let faults: [String]
    init(_ faults: [String]) { self.faults = faults }
    var description: String { faults.joined(separator: "\n") }
}
