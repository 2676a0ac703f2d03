// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Fuzzing",
    dependencies: [.package(name: "braid-server", path: "..")],
    targets: [
        // Its folder HTTP has links to the parser's files: an executable's module cannot be imported by another package.
        .executableTarget(name: "Fuzzing", dependencies: [.product(name: "BraidEngine", package: "braid-server")])
    ],
    swiftLanguageModes: [.v6]
)
