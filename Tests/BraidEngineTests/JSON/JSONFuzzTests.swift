import TestSupport
import Testing

@testable import BraidEngine

/// The parser does not trap, and accepts exactly what a simple implementation of the grammar accepts.
struct JSONFuzzTests {
    static let seeds = [
        #"{"a":[1,-2.50,1e+10,{"b":"x\u00e9\ud83d\ude00"}],"c\n":null,"":"","t":true,"f":false}"#,
        #" [ "abcdefghijklmnop" , "é日😀" , [ [ ] , { } ] , 0 , -0 , 0.1e-5 , "\"\\\/\b\f\n\r\t" ] "#,
        "{\"" + (0..<20).map { "name\($0)\":\($0)" }.joined(separator: ",\"") + "}",
        #"{"k1":{"k1":{"k1":1,"k2":2},"k2":2},"k2":"k1"}"#,
        #"["\uD800\uDC00\uDBFF\uDFFF","12345678\\","\u0000"]"#,
        "[true,false,null,\n\t\r 12345678901234567890, 1.10 ]",
    ]

    @Test("The parser and a simple grammar accept the same prefixes of JSON texts")
    func allPrefixesAreJudgedRightly() {
        for seed in Self.seeds {
            let bytes = Array(seed.utf8)
            for end in 0...bytes.count { judge(Array(bytes[..<end])) }
            for start in 0...bytes.count { judge(Array(bytes[start...])) }
        }
        for (text, _) in JSONGrammarTests.accepted {
            let bytes = Array(text.utf8)
            for end in 0...bytes.count { judge(Array(bytes[..<end])) }
        }
    }

    @Test("The parser and a simple grammar accept the same short texts")
    func shortTexts() {
        let alphabet = Array("[]{},:\"\\1-0.eat \n".utf8) + [0xC3, 0xA9]
        var texts: [[UInt8]] = [[]]
        for _ in 0..<3 {
            texts = texts.flatMap { text in alphabet.map { text + [$0] } }
            for text in texts {
                judge(text)
                judge([UInt8(ascii: "[")] + text + [UInt8(ascii: "]")])
            }
        }
    }

    @Test("The parser and a simple grammar accept the same mutated texts", arguments: 0..<8)
    func mutatedTextsAreJudgedRightly(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let seeds = Self.seeds.map { Array($0.utf8) }
        let alphabet =
            Array("[]{},:\"\\ue019-+.Eetrfalsnd8bcDF \n\t\r/".utf8) + [
                0, 0x1F, 0x7F, 0x80, 0xA9, 0xBF, 0xC0, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF,
            ]
        for _ in 0..<JSONFuzzTests.rounds {
            var text = seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<max(1, text.count), using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0 where !text.isEmpty: text[index] = alphabet.randomElement(using: &random)!
                case 1 where !text.isEmpty: text.remove(at: index)
                case 2: text.insert(alphabet.randomElement(using: &random)!, at: min(index, text.count))
                case 3: text.removeLast(min(text.count, Int.random(in: 0...20, using: &random)))
                case 4 where !text.isEmpty:
                    let part = text[index..<min(text.count, index + Int.random(in: 0...12, using: &random))]
                    text.insert(contentsOf: part, at: Int.random(in: 0...text.count, using: &random))
                case 5 where !text.isEmpty: text.swapAt(index, Int.random(in: 0..<text.count, using: &random))
                default: text.append(alphabet.randomElement(using: &random)!)
                }
            }
            judge(text)
        }
    }

    @Test("The parser and a simple grammar accept the same random bytes")
    func randomBytesAreJudgedRightly() {
        var random = SeededGenerator(seed: 99)
        let tokens = [
            "[", "]", "{", "}", ",", ":", "\"a\"", "\"b\"", "1", "true", " ", "\"\\u0061\"", "null", "-0.5e1",
        ].map { Array($0.utf8) }
        for round in 0..<JSONFuzzTests.rounds {
            if round % 2 == 0 {
                judge(
                    (0..<Int.random(in: 0...24, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
            } else {
                judge(
                    (0..<Int.random(in: 0...14, using: &random)).flatMap { _ in tokens.randomElement(using: &random)! })
            }
        }
    }

    /// Optimized builds try more.
    static var rounds: Int {
        var rounds = 40_000
        assert(
            {
                rounds = 4_000; return true
            }())
        return rounds
    }

    private func judge(_ bytes: [UInt8]) {
        let expected = PlainGrammar.accepts(bytes)
        do throws(JSONError) {
            let text = try JSONText(parsing: bytes)
            guard expected else {
                Issue.record("accepted: \(String(decoding: bytes, as: UTF8.self).debugDescription)")
                return
            }
            // Every way of reading gives the same value.
            let value = text.value(), again = JSONText(value)
            if again.value() != value { Issue.record("tree: \(text)") }
            if (try? JSONText(parsing: text.pretty())) != text { Issue.record("pretty: \(text)") }
            if (try? JSONText(parsing: text.bytes))?.bytes != text.bytes { Issue.record("compact: \(text)") }
            if let elements = text.elements() {
                if elements.map({ $0.value() }) != value.arrayValue { Issue.record("elements: \(text)") }
            }
            for (name, member) in text.members() ?? []
            where text[name] != member || value.objectValue?[name] != member.value() {
                Issue.record("member \(name): \(text)")
            }
            if JSONLocations(of: bytes).position(of: .root) == nil { Issue.record("location: \(text)") }
        } catch {
            if expected { Issue.record("refused: \(String(decoding: bytes, as: UTF8.self).debugDescription) \(error)") }
            if !(0...bytes.count).contains(error.offset) || error.line < 1 || error.column < 1 || error.message.isEmpty
            {
                Issue.record("place: \(error)")
            }
        }
    }
}

/// RFC 8259 with two restrictions of RFC 7493 (no duplicate names, no lone surrogates), up to 128 levels deep.
/// Recursive, by characters, slow.
private struct PlainGrammar {
    private var rest: ArraySlice<Unicode.Scalar>

    static func accepts(_ bytes: [UInt8]) -> Bool {
        guard let string = String(validating: bytes, as: UTF8.self) else { return false }
        var grammar = PlainGrammar(rest: Array(string.unicodeScalars)[...])
        grammar.space()
        guard grammar.value(depth: 0) else { return false }
        grammar.space()
        return grammar.rest.isEmpty
    }

    private mutating func space() {
        while let first = rest.first, " \n\r\t".unicodeScalars.contains(first) { rest.removeFirst() }
    }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.unicodeScalars) else { return false }
        rest.removeFirst(text.unicodeScalars.count)
        return true
    }

    private mutating func value(depth: Int) -> Bool {
        switch rest.first {
        case "[":
            rest.removeFirst()
            space()
            if depth >= 128 { return false }
            if take("]") { return true }
            repeat {
                space()
                guard value(depth: depth + 1) else { return false }
                space()
            } while take(",")
            return take("]")
        case "{":
            rest.removeFirst()
            space()
            if depth >= 128 { return false }
            if take("}") { return true }
            var names: Set<[Unicode.Scalar]> = []
            repeat {
                space()
                guard let name = string(), names.insert(name).inserted else { return false }
                space()
                guard take(":") else { return false }
                space()
                guard value(depth: depth + 1) else { return false }
                space()
            } while take(",")
            return take("}")
        case "\"": return string() != nil
        case "t": return take("true")
        case "f": return take("false")
        case "n": return take("null")
        default: return number()
        }
    }

    private mutating func digits() -> Int {
        var count = 0
        while let first = rest.first, "0"..."9" ~= first {
            rest.removeFirst()
            count += 1
        }
        return count
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0"), digits() == 0 { return false }
        if take("."), digits() == 0 { return false }
        if take("e") || take("E") {
            _ = take("+") || take("-")
            if digits() == 0 { return false }
        }
        return true
    }

    private mutating func string() -> [Unicode.Scalar]? {
        guard take("\"") else { return nil }
        var units: [UInt16] = []
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                var scalars: [Unicode.Scalar] = []
                var decoder = UTF16(), iterator = units.makeIterator()
                while true {
                    switch decoder.decode(&iterator) {
                    case .scalarValue(let scalar): scalars.append(scalar)
                    case .emptyInput: return scalars
                    case .error: return nil
                    }
                }
            case "\\":
                guard let letter = rest.popFirst() else { return nil }
                if let simple =
                    (["\"": 0x22, "\\": 0x5C, "/": 0x2F, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9]
                    as [Unicode.Scalar: UInt16])[letter]
                {
                    units.append(simple)
                } else if letter == "u", rest.count >= 4, rest.prefix(4).allSatisfy({ $0.properties.isASCIIHexDigit }) {
                    units.append(UInt16(String(String.UnicodeScalarView(rest.prefix(4))), radix: 16)!)
                    rest.removeFirst(4)
                } else {
                    return nil
                }
            case "\u{0}"..<" ": return nil
            default: units.append(contentsOf: String(scalar).utf16)
            }
        }
        return nil
    }
}
