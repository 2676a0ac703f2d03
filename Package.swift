// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "braid-server",
    // The oldest versions of Apple's systems that have Swift's `Mutex` and `Duration`.
    platforms: [.iOS(.v18), .macOS(.v15), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .executable(name: "braid-server", targets: ["braid-server"]),
        .library(name: "BraidEngine", targets: ["BraidEngine"]),
        .library(name: "BraidClient", targets: ["BraidClient"]),
        // For the package of the fuzzing targets.
        .library(name: "BraidHTTP", targets: ["BraidHTTP"]),
        .library(name: "BraidRuntime", targets: ["BraidRuntime"]),
        // For the package of the benchmarks.
        .library(name: "TestSupport", targets: ["TestSupport"]),
    ],
    traits: [
        .trait(
            name: "PostgreSQL",
            description:
                "Sessions can be kept in PostgreSQL, too (--database postgres://…). Needs libpq (Debian: libpq-dev)."),
        .trait(
            name: "JWT",
            description: "JSON Web Tokens (--jwks, --jwt-secret-file). Needs libcrypto (Debian: libssl-dev)."),
    ],
    targets: [
        .target(name: "BraidEngine"),
        .target(name: "BraidClient"),
        .target(name: "BraidStore", dependencies: ["BraidEngine", "BraidRuntime", "CAssets", "CSQLite"]),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // Without the trait PostgreSQL, the target BraidPostgres contains no code.
        .target(
            name: "BraidPostgres",
            dependencies: [
                "BraidStore", "BraidEngine", "BraidRuntime", "CAssets",
                .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ]),
        // OpenSSL's library for signatures. Linked statically, it adds 3.0 MB.
        .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
        // Without the trait JWT, the target BraidJWT contains no code.
        .target(
            name: "BraidJWT",
            dependencies: [
                "BraidSessions", "BraidEngine", "BraidRuntime",
                .target(name: "CCrypto", condition: .when(traits: ["JWT"])),
            ]),
        // The files that are compiled into the server's binary, such as the web pages.
        .target(name: "CAssets"),
        .target(name: "CEpoll"),
        // The system's libraries for SHA-256 (CMD) and for compression (CZlib, CZstd). Every Debian system has these
        // libraries, because dpkg needs them.
        .systemLibrary(name: "CMD"),
        .systemLibrary(name: "CZlib"),
        .systemLibrary(name: "CZstd"),
        .target(name: "BraidRuntime", dependencies: ["CEpoll", "CMD", "CZlib", "CZstd"]),
        .target(name: "BraidHTTP", dependencies: ["BraidRuntime", "CEpoll"]),
        .target(
            name: "BraidSessions",
            dependencies: ["BraidEngine", "BraidStore", "BraidRuntime"]),
        .target(
            name: "BraidServer",
            dependencies: [
                "BraidEngine", "BraidStore", "BraidRuntime", "BraidSessions", "BraidHTTP", "CAssets",
            ]),
        .target(
            name: "BraidTestMode",
            dependencies: [
                "BraidServer", "BraidEngine", "BraidStore", "BraidRuntime", "BraidSessions", "BraidHTTP",
            ]),
        .executableTarget(
            name: "braid-server",
            dependencies: [
                "BraidServer", "BraidTestMode", "BraidSessions", "BraidHTTP", "BraidRuntime", "BraidStore",
                "BraidPostgres", "BraidJWT",
            ]),
        .executableTarget(
            name: "attendees-example", dependencies: ["BraidEngine"], path: "Examples/library", exclude: ["README.md"]),
        // A program with which the clients' conformance kit tests the Swift client.
        .executableTarget(
            name: "braid-client-driver", dependencies: ["BraidClient"], path: "Clients/conformance/drivers/swift"),
        .target(
            name: "TestSupport",
            dependencies: [
                .target(name: "CZlib", condition: .when(platforms: [.linux])),
                .target(name: "CZstd", condition: .when(platforms: [.linux])),
            ],
            path: "Tests/TestSupport"),
        .testTarget(
            name: "BraidEngineTests", dependencies: ["BraidEngine", "TestSupport"],
            resources: [.copy("JSONe/Golden"), .copy("JTD/SchemaGolden")]),
        .testTarget(
            name: "BraidStoreTests",
            dependencies: ["BraidStore", "BraidPostgres", "BraidEngine", "BraidRuntime", "CSQLite", "TestSupport"],
            exclude: ["Schemas"]),
        .testTarget(name: "BraidClientTests", dependencies: ["BraidClient"]),
        .testTarget(
            name: "EndToEndTests", dependencies: ["braid-server", "BraidEngine", "BraidClient", "TestSupport"],
            exclude: ["Flows", "Golden"]),
        .testTarget(
            name: "BraidJWTTests",
            dependencies: ["BraidJWT", "BraidSessions", "BraidEngine", "BraidRuntime", "TestSupport"]),
        .testTarget(name: "BraidRuntimeTests", dependencies: ["BraidRuntime", "TestSupport"]),
        .testTarget(name: "BraidHTTPTests", dependencies: ["BraidHTTP", "BraidRuntime", "CEpoll", "TestSupport"]),
        .testTarget(
            name: "BraidSessionsTests",
            dependencies: ["BraidSessions", "BraidRuntime", "BraidStore", "BraidEngine", "TestSupport"]),
        .testTarget(
            name: "BraidServerTests",
            dependencies: [
                "BraidServer", "BraidTestMode", "BraidSessions", "BraidHTTP", "BraidRuntime", "BraidStore",
                "BraidEngine", "BraidJWT",
            ]),
    ],
    swiftLanguageModes: [.v6],
    // For #embed.
    cLanguageStandard: .gnu2x
)

#if !os(Linux)
// The server needs Linux. Elsewhere, the package consists of the engine, the Swift client, their tests and two programs
// that use them. The package needs no other package.
let portable: Set = [
    "BraidClient", "BraidClientTests", "BraidEngine", "BraidEngineTests", "CZlib", "CZstd", "TestSupport",
    "attendees-example", "braid-client-driver",
]
package.dependencies = []
package.products.removeAll { !portable.contains($0.name) }
package.targets.removeAll { !portable.contains($0.name) }
#endif
