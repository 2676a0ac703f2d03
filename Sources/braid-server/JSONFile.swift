import BraidEngine
import BraidRuntime
import BraidSessions

/// Reports the faults of a file of JSON as `file:line:column: pointer: message`, without the parts that a fault lacks.
struct JSONFile {
    let path: String

    init(_ path: String) { self.path = path }

    /// Throws the faults if the JSON is invalid or `make` throws.
    func read<Value>(depthLimit: Int = 128, _ make: (JSONText) throws -> Value) throws(Failure) -> Value {
        try read(depthLimit: depthLimit) { json, _ in try make(json) }
    }

    func warnings(_ find: (JSONText) throws -> [Refusal.Fault]) throws(Failure) -> [String] {
        try read { json, bytes in lines(try find(json), in: bytes, marked: "warning: ") }
    }

    private func read<Value>(depthLimit: Int = 128, _ make: (JSONText, [UInt8]) throws -> Value) throws(Failure)
        -> Value
    {
        guard let bytes = Files.bytes(of: path) else { throw Failure("\(path): \(Files.failure)") }
        do {
            return try make(try JSONText(parsing: bytes, depthLimit: depthLimit), bytes)
        } catch {
            throw Failure(faults: faults(of: error, in: bytes))
        }
    }

    /// Without a file: the pointers and details of the error's faults, or its message.
    static func sentence(of error: any Error) -> String {
        guard let refusal = error as? Refusal else { return (error as? SessionError)?.message ?? "\(error)" }
        let places = refusal.faults.map { "\($0.pointer): \($0.detail)" }
        return places.isEmpty ? refusal.detail : places.joined(separator: "; ")
    }

    /// One message for each fault.
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
