@testable import BraidEngine

/// From JSON-e's reference implementation or specification; `jsone_oracle.py` writes one as a line.
struct OracleCase {
    enum Outcome: Equatable, CustomStringConvertible {
        case value(JSONValue)
        case absent
        case error(String)

        var description: String {
            switch self {
            case .value(let value): "value \(value.shown)"
            case .absent: "absent"
            case .error(let message): "error \(message)"
            }
        }
    }

    static let now = "2017-01-19T16:27:20.974Z"

    let line: String
    let template: JSONValue
    /// `nil` if it is not valid.
    let context: JSONeContext?
    let expected: Outcome

    init(_ line: some StringProtocol) {
        self.line = String(line)
        guard case .object(let object) = parsed(String(line)), case .object(let names)? = object["context"],
            let template = object["template"]
        else { preconditionFailure("not a case: \(line)") }
        self.template = template
        context = try? JSONeContext(now: Self.now, names)
        expected = object["result"].map { .value($0) } ?? (object["absent"] == nil ? .error("") : .absent)
    }

    var actual: Outcome {
        guard let context else { return .error("the context is not valid") }
        var budget = JSONeBudget()
        do {
            let value = try JSONeTemplate(template).render(context, budget: &budget)
            return value.map { .value($0) } ?? .absent
        } catch {
            return .error("\(error.kind): \(error.message) at /\(error.pointer.joined(separator: "/"))")
        }
    }

    /// By the rules of the specification's tests: numbers by value, and no result equals null.
    var isAsSpecified: Bool {
        switch (expected, actual) {
        case (.absent, .absent), (.value(.null), .absent), (.error, .error): true
        case (.value(let expected), .value(let actual)): expected == actual
        default: false
        }
    }

    /// `nil` if both agree; messages may differ.
    var disagreement: String? {
        let actual = actual
        switch (expected, actual) {
        case (.absent, .absent), (.error, .error): return nil
        case (.value(let expected), .value(let actual)) where expected.isDrawnLike(actual): return nil
        default: return "\(line)\n  expected \(expected)\n  but was  \(actual)"
        }
    }
}

extension JSONValue {
    /// Equal and written the same: unlike `==`, tells 1 from 1.0.
    func isDrawnLike(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number, .number): templateText == other.templateText
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isDrawnLike($1) }
        case (.object(let left), .object(let right)):
            left.count == right.count && left.members.allSatisfy { right[$0.name]?.isDrawnLike($0.value) ?? false }
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        default: self == other
        }
    }

    var shown: String {
        var writer = JSONWriter(), budget = JSONeBudget(steps: .max, output: .max)
        do { try writeSorted(to: &writer, &budget) } catch { return "\(error)" }
        return writer.text.text
    }
}

func parsed(_ text: String) -> JSONValue {
    do { return try JSONValue(parsing: text) } catch { preconditionFailure("not JSON: \(text): \(error)") }
}
