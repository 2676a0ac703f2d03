import BraidEngine
import BraidRuntime
import BraidSessions

/// A file of JSON, with its faults told as `file:line:column: pointer: message`.
struct JSONFile {
    let path: String

    init(_ path: String) { self.path = path }

    /// Makes something of the file's JSON. What `make` refuses is told with its place in the file.
    func read<Value>(depthLimit: Int = 128, _ make: (JSONText) throws -> Value) throws(FaultyFile) -> Value {
        try read(depthLimit: depthLimit) { json, _ in try make(json) }
    }

    /// What `find` has to say of the file's JSON that is no fault, told as its faults are.
    func warnings(_ find: (JSONText) throws -> [Refusal.Fault]) throws(FaultyFile) -> [String] {
        try read { json, bytes in lines(try find(json), in: bytes, marked: "warning: ") }
    }

    private func read<Value>(depthLimit: Int = 128, _ make: (JSONText, [UInt8]) throws -> Value) throws(FaultyFile)
        -> Value
    {
        guard let bytes = Files.bytes(of: path) else { throw FaultyFile(["\(path): cannot be read"]) }
        do {
            return try make(try JSONText(parsing: bytes, depthLimit: depthLimit), bytes)
        } catch {
            throw FaultyFile(faults(of: error, in: bytes))
        }
    }

    /// An error that something made of the file's JSON led to, with its places in the file.
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

/// What is wrong with a file, a line each.
struct FaultyFile: Error, CustomStringConvertible {
    let faults: [String]
    init(_ faults: [String]) { self.faults = faults }
    var description: String { faults.joined(separator: "\n") }
}
