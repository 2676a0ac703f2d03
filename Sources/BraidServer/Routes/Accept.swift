/// What a client takes for an answer (RFC 9110, 12.5.1).
extension HTTPRequestHead {
    /// The media ranges that it names and does not refuse by `q=0`, in lower case; nil when it says nothing.
    var acceptedTypes: [String]? {
        guard let accept = headers["accept"], !accept.isEmpty else { return nil }
        return accept.split(separator: ",").compactMap { range in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            let isRefused = parts.dropFirst().contains { $0.hasPrefix("q=0") && !$0.contains { ("1"..."9").contains($0) } }
            return isRefused ? nil : parts.first
        }
    }

    /// Whether it asks for something else than JSON by its name: `*/*` means JSON.
    func accepts(_ type: String) -> Bool { acceptedTypes?.contains(type) == true }
}
