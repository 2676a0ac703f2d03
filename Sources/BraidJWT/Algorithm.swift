#if JWT
/// RFC 7518, section 3.1; RFC 8037, section 3.1.
enum Algorithm: String {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case edDSA = "EdDSA"

    /// `Ed25519` (RFC 9864) is EdDSA with the only curve that we know.
    init?(named name: String) { self.init(rawValue: name == "Ed25519" ? "EdDSA" : name) }

    /// `nil`: EdDSA signs the message itself.
    var digest: String? {
        switch self {
        case .hs256, .rs256, .ps256, .es256: "SHA256"
        case .rs384, .ps384: "SHA384"
        case .rs512, .ps512: "SHA512"
        case .edDSA: nil
        }
    }

    var isPSS: Bool { [.ps256, .ps384, .ps512].contains(self) }

    var isRSA: Bool { isPSS || [.rs256, .rs384, .rs512].contains(self) }
}
#endif
