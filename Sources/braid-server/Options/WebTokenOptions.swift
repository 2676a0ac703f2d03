import BraidJWT
import BraidSessions

/// JSON Web Tokens that another system signs.
struct WebTokenOptions {
    var jwks: String?
    var secretFile: String?
    var issuer: String?
    var audience: String?
    var leeway = 30
    var claim = "braid"
    var role: [String] = []

    static let options: [CommandOption<WebTokenOptions>] = [
        // Apps whose users log in elsewhere, with a service that publishes its keys.
        .optionalText(
            "jwks", \.jwks,
            help:
                "A file with the public keys of JSON Web Tokens, as a JSON Web Key Set: RSA, P-256 or Ed25519. Read again when it changes and at SIGHUP."
        ),
        // Apps with a login of their own, which signs tokens itself.
        .optionalText(
            "jwt-secret-file", \.secretFile,
            help:
                "A file with the secret of JSON Web Tokens that HS256 signs: at least 32 characters, or two secrets in two lines. Read again as --jwks."
        ),
        // Keys that sign for several services.
        .optionalText("jwt-issuer", \.issuer, help: "What a JSON Web Token must have as `iss`."),
        .optionalText(
            "jwt-audience", \.audience,
            help: "What a JSON Web Token must have in `aud`. Without this option, one with `aud` is refused."),
        // Machines whose clocks differ.
        .integer(
            "jwt-leeway", \.leeway, in: 0...300,
            help: "Seconds by which a JSON Web Token may be expired or not yet valid."),
        // Services whose claims must have names of their own, such as https://app.example/braid.
        .text(
            "jwt-claim", \.claim,
            help: "The claim that says what a JSON Web Token allows: {\"role\", \"sessions\", \"tables\", \"claims\"}."),
        // Services that cannot add such a claim.
        .repeatedText(
            "jwt-role", \.role,
            help:
                "A role for JSON Web Tokens without that claim: ROLE:CLAIM=VALUE if CLAIM is VALUE or a list with it, ROLE:CLAIM if it is there. CLAIM is a name or a JSON Pointer. Can be given several times; the highest role counts."
        ) { rule throws(WrongValue) in try check(role: rule) },
    ]

    var areAccepted: Bool { jwks != nil || secretFile != nil }

    private static func check(role rule: String) throws(WrongValue) {
        #if JWT
        guard RoleRule(rule) == nil else { return }
        throw WrongValue(
            "must be like participant:groups=editors, viewer:sub or controller:/realm_access/roles=admin, not '\(rule)'"
        )
        #endif
    }

    /// `nil` if none are accepted.
    func tokens(_ clock: Clock) throws -> (any SignedTokens)? {
        guard areAccepted else {
            guard issuer == nil, audience == nil, claim == Self().claim, role.isEmpty else {
                throw Failure(
                    "--jwt-issuer, --jwt-audience, --jwt-claim and --jwt-role need the keys of JSON Web Tokens: --jwks or --jwt-secret-file."
                )
            }
            return nil
        }
        #if JWT
        var rules = TokenRules()
        (rules.issuer, rules.audience, rules.claim) = (issuer, audience, claim)
        rules.leeway = leeway * 1000
        rules.roles = role.compactMap { RoleRule($0) }
        return try WebTokens(KeyFiles(jwks: jwks, secret: secretFile), rules: rules, clock: clock)
        #else
        throw Failure(
            "This braid-server was built without JSON Web Tokens. Build one with them: "
                + "`Scripts/build-static --traits JWT` (it needs OpenSSL's libcrypto; Debian: libssl-dev).")
        #endif
    }
}
