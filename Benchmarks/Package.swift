// swift-tools-version: 6.1
import PackageDescription

// DIFFERENCEKIT names a checkout of github.com/ra1028/DifferenceKit; without it the diffs are measured without their
// peer.
let differenceKit = Context.environment["DIFFERENCEKIT"]

let package = Package(
    name: "Benchmarks",
    // By its path: always the server of the same commit.
    dependencies: [.package(name: "braid-server", path: "..")]
        + (differenceKit.map { [.package(name: "DifferenceKit", path: $0)] } ?? []),
    targets: [
        .target(name: "CSysEpoll"),
        .systemLibrary(name: "CSysSQLite"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CSysEpoll", "CSysSQLite", .product(name: "BraidEngine", package: "braid-server"),
                .product(name: "TestSupport", package: "braid-server"),
            ]
                + (differenceKit == nil ? [] : [.product(name: "DifferenceKit", package: "DifferenceKit")]),
            swiftSettings: differenceKit == nil ? [] : [.define("DIFFERENCEKIT")]),
    ],
    swiftLanguageModes: [.v6]
)
