import BraidRuntime

/// Tokens that another system signs: JSON Web Tokens.
package protocol SignedTokens: Sendable {
    /// The verified token, if it is cached; `nil`: `verify`.
    func known(_ presented: PresentedToken) -> AccessToken?
    /// Takes up to a millisecond of processor time.
    func verify(_ presented: PresentedToken) throws(TokenRefusal) -> AccessToken
    /// Whether the key is still there.
    func hasKey(_ key: SHA256Digest) -> Bool

    /// The files with the keys.
    var files: [String] { get }
    /// Reads the files again; `nil` if no key has changed, or the number of keys. Throws if one cannot be used: the old
    /// keys stay.
    func readKeys() throws -> Int?
}

/// Why a signed token is refused: for the log, never for the client.
package struct TokenRefusal: Error, Equatable {
    /// One word.
    package let check: String

    package init(_ check: String) { self.check = check }
}
