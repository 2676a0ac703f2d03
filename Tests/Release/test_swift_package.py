"""Checks that an app that uses the Swift client neither resolves nor builds any dependency of the server."""
import json
import subprocess

import pytest

MANIFEST = """// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "app",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "%s", branch: "release")],
    targets: [.executableTarget(name: "app", dependencies: [.product(name: "BraidClient", package: "braid-server")])]
)
"""
PROGRAM = """import BraidClient
import Foundation

print(BraidClient(url: URL(string: "http://127.0.0.1:1")!).session("party").id)
"""


@pytest.fixture(scope="module")
def app(repository, tmp_path_factory):
    """An app in its own folder, whose only dependency is a clone of this repository."""
    repository.run("git", "branch", "--force", "release")
    folder = tmp_path_factory.mktemp("app")
    (folder / "Sources/app").mkdir(parents=True)
    (folder / "Package.swift").write_text(MANIFEST % f"file://{repository.root}")
    (folder / "Sources/app/main.swift").write_text(PROGRAM)

    def swift(*command):
        caches = ["--cache-path", folder / "caches"]
        return subprocess.run(["swift", *command[:1], *caches, *command[1:]], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout

    swift.folder = folder
    return swift


def test_no_other_package(app):
    """An app with the client resolves no other package."""
    [package] = json.loads(app("package", "show-dependencies", "--format", "json"))["dependencies"]
    assert package["identity"] == "braid-server"
    assert package["dependencies"] == []
    assert [path.name for path in (app.folder / ".build/checkouts").iterdir()] == ["braid-server"]


def test_nothing_of_the_server(app):
    """An app with the client builds nothing of the server."""
    app("build")
    modules = {path.stem for path in (app.folder / ".build/debug/Modules").glob("*.swiftmodule")}
    assert modules == {"BraidClient", "app"}
    assert app("run", "--skip-build") == "party\n"
