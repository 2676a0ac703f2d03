import BraidEngine

/// Fuzzes the JSON parser. Accepted JSON can be written in each form, and parsing the written text gives the same
/// value. The error for a refused text must name a place in the text.
func fuzzJSON(_ input: [UInt8]) {
    do throws(JSONError) {
        let text = try JSONText(parsing: input)
        let value = text.value()
        claim(String(validating: input, as: UTF8.self) != nil, "accepted what is not UTF-8")
        claim((try? JSONText(parsing: text.bytes))?.bytes == text.bytes, "the compact text is not its own")
        claim((try? JSONText(parsing: text.pretty())) == text, "the indented text is another")
        let again = JSONText(value)
        claim(again.value() == value, "the tree is not written as it is")
        claim((try? JSONText(parsing: again.bytes)) != nil, "what is written cannot be parsed")
        claim((try? JSONValue(parsing: input)) == value, "the tree's parser differs")
        claim(text.depth <= 128, "deeper than the limit")
        if let elements = text.elements() { claim(elements.map { $0.value() } == value.arrayValue, "elements") }
        for (name, member) in text.members() ?? [] {
            claim(text[name] == member && value.objectValue?[name] == member.value(), "the member \(name)")
            claim(text[JSONPointer.root.appending(name)] == member, "the pointer to \(name)")
            claim(
                JSONPointer(JSONPointer.root.appending(name).description)?.tokens.first?.hasSameBytes(as: name) == true,
                "the pointer's text")
            claim(
                JSONLocations(of: input).position(of: JSONPointer.root.appending(name)) != nil, "the place of \(name)")
        }
        let merged = value.merging(patch: value)
        claim(merged.merging(patch: value) == merged, "to merge twice is not to merge once")
    } catch {
        claim(
            (0...input.count).contains(error.offset) && error.line >= 1 && error.column >= 1 && !error.message.isEmpty,
            "the place of a fault")
        claim((try? JSONValue(parsing: input)) == nil, "the tree's parser differs")
    }
}
