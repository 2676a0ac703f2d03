/// A scalar itself, else "an array" or "an object", at a readable length.
func shown(_ value: JSONValue) -> String {
    switch value {
    case .null: "null"
    case .bool(let bool): "\(bool)"
    case .number(let number): cut(number.lexeme)
    case .string(let string): quoted(string)
    case .array: "an array"
    case .object: "an object"
    }
}

/// Cut to 60 scalars, escaped as in JSON.
func quoted(_ string: String) -> String { JSONText.string(cut(string)).text }

/// `are "a", "b"`; of more than nine, `are "a", …, "h" and 7 more`.
func listed(_ names: [String], none: String, one: String, many: String) -> String {
    guard !names.isEmpty else { return none }
    let words = names.count == 1 ? one : many
    let shown = names.prefix(names.count > 9 ? 8 : 9).map(quoted).joined(separator: ", ")
    let rest = names.count > 9 ? " and \(names.count - 8) more" : ""
    return words.isEmpty ? shown + rest : "\(words) \(shown)\(rest)"
}

/// Without the middle above 2,000 scalars, which a client's text can cause.
package func shortened(_ sentence: String) -> String {
    let limit = 1_000
    let scalars = sentence.unicodeScalars
    guard let start = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
        let end = scalars.index(scalars.endIndex, offsetBy: -limit, limitedBy: start)
    else { return sentence }
    return String(scalars[..<start]) + "…" + String(scalars[end...])
}

private func cut(_ string: String) -> String {
    let limit = 60
    let scalars = string.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
        end < scalars.endIndex
    else { return string }
    return String(scalars[..<end]) + "…"
}
