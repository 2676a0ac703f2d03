/// For `$json`: no white space, members by code points, few escapes.
extension JSONValue {
    func writeSorted(to writer: inout JSONWriter, _ budget: inout JSONeBudget) throws(JSONeError) {
        try budget.spend(steps: 1)
        switch self {
        case .number(let number) where number.function != nil: throw .function(number.lexeme)
        case .null, .bool, .number, .string:
            let text = JSONText(self)
            try budget.spend(output: text.count)
            writer.value(text)
        case .array(let elements):
            writer.beginArray()
            for element in elements { try element.writeSorted(to: &writer, &budget) }
            writer.endArray()
        case .object(let object):
            writer.beginObject()
            for (name, value) in object.members.sorted(by: { $0.name.precedes($1.name) }) {
                try budget.spend(output: name.utf8.count + 4)
                writer.name(name)
                try value.writeSorted(to: &writer, &budget)
            }
            writer.endObject()
        }
    }
}
