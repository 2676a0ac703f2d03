import BraidHTTP
import BraidRuntime

/// A list of names with weights, as in `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2).
///
/// The list's elements after the 64th are ignored, and so are an element's parameters after the 16th. The event loop's
/// thread parses such lists before the server has checked the request's token, so their parsing must be short.
struct WeightedNames: Sendable {
    /// The names in lower case, with weights in thousandths. Parameters other than `q` are ignored.
    private let elements: [(name: String, weight: Int)]

    private static let mostElements = 64
    private static let mostParameters = 16

    init(_ field: String) {
        elements = field.utf8[...].split(atUnquoted: ",", atMost: Self.mostElements).compactMap { element in
            // An element of the list consists of a name and parameters, which semicolons separate.
            let parts = element.split(atUnquoted: ";", atMost: Self.mostParameters + 1).map(Self.text)
            guard let name = parts.first else { return nil }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Self.thousandths($0.dropFirst(2)) }
            return (name, weight ?? 1_000)
        }
    }

    /// Returns the weight of a name, 0...1000. Returns `nil` if the list does not contain the name.
    subscript(name: String) -> Int? { elements.lazy.filter { $0.name == name }.map(\.weight).max() }

    /// Returns a part of an element in lower case, without its blanks.
    private static func text(_ part: Substring.UTF8View) -> String {
        String(decoding: part.filter { !$0.isBlank }.map(\.lowercased), as: UTF8.self)
    }

    /// Reads a weight: `0.25` is 250. Returns `nil` if the text is not a weight.
    private static func thousandths(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let decimals = parts.count == 2 ? parts[1] : ""
        guard let whole = parts.first, whole == "0" || whole == "1", decimals.utf8.count <= 3,
            let rest = Int(digits: decimals + String(repeating: "0", count: 3 - decimals.utf8.count))
        else { return nil }
        return min(1_000, (whole == "1" ? 1_000 : 0) + rest)
    }
}

extension Substring.UTF8View {
    /// Returns the first parts between separators that are in no quoted string (RFC 9110, 5.6.4), without empty parts.
    func split(atUnquoted separator: Unicode.Scalar, atMost limit: Int) -> [Substring.UTF8View] {
        var parts: [Substring.UTF8View] = [], start = startIndex, isQuoted = false, isEscaped = false
        for index in indices {
            switch self[index] {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: separator) where !isQuoted:
                if start < index { parts.append(self[start..<index]) }
                if parts.count == limit { return parts }
                start = self.index(after: index)
            default: break
            }
        }
        if start < endIndex { parts.append(self[start...]) }
        return parts
    }
}

/// The media types that a client accepts, each with its weight (RFC 9110, 12.5.1).
struct Accept: Sendable {
    /// The media ranges that the client accepts, such as `text/*`.
    private let ranges: WeightedNames

    init(_ field: String) { ranges = WeightedNames(field) }

    /// Returns the weight of a media type, 0...1000: the weight of the most specific range that contains the type. A
    /// type of weight 0 is not acceptable.
    func weight(of type: String) -> Int {
        for range in [type, type.prefix { $0 != "/" } + "/*", "*/*"] {
            if let weight = ranges[range] { return weight }
        }
        return 0
    }

    /// Returns whether the `Accept` field names a media type itself, not only by a wildcard.
    func names(_ type: String) -> Bool { ranges[type] != nil }
}

extension HTTPRequestHead {
    /// The parsed `Accept` field of the request. `nil` if the field is missing or empty: such a client accepts every
    /// media type.
    var accept: Accept? { headers["accept"].flatMap { $0.isEmpty ? nil : Accept($0) } }

    /// Returns whether the client prefers the type `alternative` to JSON. If the weights are equal, `alternative` is
    /// preferred only if the field names it: `*/*` means JSON.
    func prefers(_ alternative: String) -> Bool {
        guard let accept else { return false }
        let weight = accept.weight(of: alternative), json = accept.weight(of: "application/json")
        return weight > json || (weight == json && weight > 0 && accept.names(alternative))
    }
}
