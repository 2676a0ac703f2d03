import BraidEngine
import BraidRuntime
import BraidSessions

/// Reports faults as `file:line:column: pointer: message`, without what a fault lacks.
struct JSONFile {
    let path: String
    private let content: Result<[UInt8], Failure>

    init(_ path: String) {
        self.path = path
        content = Files.bytes(of: path).map { .success($0) } ?? .failure(Failure("\(path): \(Files.failure)"))
    }

    /// Throws the faults of the JSON or of `make`.
    func read<Value>(depthLimit: Int = 128, _ make: (JSONText) throws -> Value) throws(Failure) -> Value {
        let bytes = try content.get()
        do {
            return try make(try JSONText(parsing: bytes, depthLimit: depthLimit))
        } catch {
            throw Failure(faults: faults(of: error))
        }
    }

    /// Without the file: pointers and details, or the message.
    static func sentence(of error: any Error) -> String {
        guard let refusal = error as? Refusal else { return (error as? SessionError)?.message ?? "\(error)" }
        let places = refusal.faults.map { "\($0.pointer): \($0.detail)" }
        return places.isEmpty ? refusal.detail : places.joined(separator: "; ")
    }

    func faults(of error: any Error) -> [String] {
        switch error {
        case let error as JSONError: return ["\(path):\(error.line):\(error.column): \(error.message)"]
        case let refusal as Refusal:
            let lines = lines(refusal.faults)
            return lines.isEmpty ? ["\(path): \(refusal.detail)"] : lines
        case let error as SessionError: return ["\(path): \(error.message)"]
        default: return ["\(path): \(error)"]
        }
    }

    func warnings(_ faults: [Refusal.Fault]) -> [String] { lines(faults, marked: "warning: ") }

    private func lines(_ faults: [Refusal.Fault], marked mark: String = "") -> [String] {
        guard !faults.isEmpty, let bytes = try? content.get() else { return [] }
        let locations = JSONLocations(of: bytes)
        return faults.map { fault in
            let place = locations.position(nearest: fault.pointer)
            let pointer = fault.pointer.tokens.isEmpty ? "" : "\(fault.pointer): "
            return "\(path):\(place.map { "\($0.line):\($0.column): " } ?? " ")\(mark)\(pointer)\(fault.detail)"
        }
    }
}
