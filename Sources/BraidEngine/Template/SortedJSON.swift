/// The text that `$json` makes: no spaces, members sorted by code points, characters as they are.
extension JSONValue {
    func writeSorted(to text: inout String, _ budget: inout TemplateBudget) throws(TemplateError) {
        try budget.spend(steps: 1)
        let before = text.utf8.count
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let number): text += number.lexeme
        case .string(let string): string.writeQuoted(to: &text)
        case .array(let elements):
            text += "["
            for (position, element) in elements.enumerated() {
                if position > 0 { text += "," }
                try element.writeSorted(to: &text, &budget)
            }
            text += "]"
            return
        case .object(let object):
            text += "{"
            for (position, member) in object.members.sorted(by: { $0.name.precedes($1.name) }).enumerated() {
                if position > 0 { text += "," }
                member.name.writeQuoted(to: &text)
                text += ":"
                try budget.spend(output: member.name.utf8.count + 4)
                try member.value.writeSorted(to: &text, &budget)
            }
            text += "}"
            return
        }
        try budget.spend(output: text.utf8.count - before)
    }
}

extension String {
    fileprivate func writeQuoted(to text: inout String) {
        text += "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{08}": text += "\\b"
            case "\u{0C}": text += "\\f"
            case "\u{00}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
