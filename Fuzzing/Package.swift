// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Fuzzing",
    // The dependency is a path, so the fuzz targets always test the server of the same commit.
    dependencies: [.package(name: "braid-server", path: "..")],
    targets: [
        .executableTarget(
            name: "Fuzzing",
            dependencies: [
                .product(name: "BraidEngine", package: "braid-server"),
                .product(name: "BraidHTTP", package: "braid-server"),
                .product(name: "BraidRuntime", package: "braid-server"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
