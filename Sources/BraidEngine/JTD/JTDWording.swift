/// Values and names in messages, truncated to a readable length.

/// Returns a value for a sentence: a scalar itself, or the kind of an array or object.
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

/// Returns a string in quotes, escaped.
func quoted(_ string: String) -> String { JSONText.string(cut(string)).text }

/// Returns a list of names, after words that fit the number of names: `are "a", "b" and 7 more`.
func listed(_ names: [String], none: String, one: String, many: String) -> String {
    guard !names.isEmpty else { return none }
    let words = names.count == 1 ? one : many
    let shown = names.prefix(names.count > 9 ? 8 : 9).map(quoted).joined(separator: ", ")
    let rest = names.count > 9 ? " and \(names.count - 8) more" : ""
    return words.isEmpty ? shown + rest : "\(words) \(shown)\(rest)"
}

private func cut(_ string: String) -> String {
    let limit = 60
    let scalars = string.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
        end < scalars.endIndex
    else { return string }
    return String(scalars[..<end]) + "…"
}
