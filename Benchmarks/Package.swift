// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "braid-server", path: "..")],
    targets: [
        .executableTarget(name: "Benchmarks", dependencies: [.product(name: "BraidEngine", package: "braid-server")])
    ],
    swiftLanguageModes: [.v6]
)
