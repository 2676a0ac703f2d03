import BraidHTTP
import BraidRuntime

/// Names with weights, as in `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2). Only 64 elements and 16 parameters
/// count: the event loop parses them before the token is checked.
struct WeightedNames: Sendable {
    /// Lower case; weights in thousandths.
    private let elements: [(name: String, weight: Int)]

    private static let mostElements = 64
    private static let mostParameters = 16

    init(_ field: String) {
        elements = field.utf8[...].split(atUnquoted: ",", atMost: Self.mostElements).compactMap { element in
            let parts = element.split(atUnquoted: ";", atMost: Self.mostParameters + 1).map(Self.text)
            guard let name = parts.first else { return nil }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Self.thousandths($0.dropFirst(2)) }
            return (name, weight ?? 1_000)
        }
    }

    /// 0...1000; `nil`: not named.
    subscript(name: String) -> Int? { elements.lazy.filter { $0.name == name }.map(\.weight).max() }

    /// Lower case, no blanks.
    private static func text(_ part: Substring.UTF8View) -> String {
        String(decoding: part.filter { !$0.isBlank }.map(\.lowercased), as: UTF8.self)
    }

    /// `0.25` is 250.
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
    /// Split outside quoted strings (RFC 9110, 5.6.4), without empty parts.
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

/// RFC 9110, 12.5.1.
struct Accept: Sendable {
    private let ranges: WeightedNames

    init(_ field: String) { ranges = WeightedNames(field) }

    /// 0...1000, of the most specific range.
    func weight(of type: String) -> Int {
        for range in [type, type.prefix { $0 != "/" } + "/*", "*/*"] {
            if let weight = ranges[range] { return weight }
        }
        return 0
    }

    /// Names the type itself, not by a wildcard.
    func names(_ type: String) -> Bool { ranges[type] != nil }
}

extension HTTPRequestHead {
    /// `nil`: everything is accepted.
    var accept: Accept? { headers["accept"].flatMap { $0.isEmpty ? nil : Accept($0) } }

    /// Whether the client prefers it to JSON. With equal weights the field must name it: `*/*` means JSON.
    package func prefers(_ alternative: String) -> Bool {
        guard let accept else { return false }
        let weight = accept.weight(of: alternative), json = accept.weight(of: "application/json")
        return weight > json || (weight == json && weight > 0 && accept.names(alternative))
    }
}

/// RFC 9110, 12.5.3.
struct AcceptEncoding: Sendable {
    private let weights: WeightedNames

    init(_ field: String) { weights = WeightedNames(field) }

    /// `nil` is the plain body.
    func accepts(_ coding: ContentCoding?) -> Bool { weight(of: coding) > 0 }

    /// With equal weights, compressed. `nil`: plain.
    var preferred: ContentCoding? {
        let best = ContentCoding.allCases.reduce(nil as ContentCoding?) { best, coding in
            weight(of: coding) > (best.map { weight(of: $0) } ?? 0) ? coding : best
        }
        guard let best, weight(of: best) >= weights["identity"] ?? 0 else { return nil }
        return best
    }

    private func weight(of coding: ContentCoding?) -> Int {
        switch coding {
        // Accepted unless excluded.
        case nil: weights["identity"] ?? (weights["*"] == 0 ? 0 : 1)
        case .gzip: weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0
        case .zstd: weights["zstd"] ?? weights["*"] ?? 0
        }
    }
}

extension HTTPRequestHead {
    /// `nil`: compress nothing.
    var acceptEncoding: AcceptEncoding? { headers["accept-encoding"].map(AcceptEncoding.init) }
}
