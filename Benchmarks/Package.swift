// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "braid-server", path: "..")],
    targets: [
        .target(name: "CSysEpoll"),
        .systemLibrary(name: "CSQLite"),
        .executableTarget(name: "Benchmarks", dependencies: ["CSysEpoll", "CSQLite", .product(name: "BraidEngine", package: "braid-server")]),
    ],
    swiftLanguageModes: [.v6]
)
