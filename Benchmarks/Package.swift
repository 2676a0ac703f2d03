// swift-tools-version: 6.1
import PackageDescription

// The environment variable DIFFERENCEKIT contains the path of a checkout of github.com/ra1028/DifferenceKit. Without
// this variable, the benchmark `diff` measures the engine without the comparison to DifferenceKit.
let differenceKit = Context.environment["DIFFERENCEKIT"]

let package = Package(
    name: "Benchmarks",
    // The dependency is a path, so the benchmarks always measure the server of the same commit.
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
