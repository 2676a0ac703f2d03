"""Checks that Scripts/release makes the files that it should make. A script takes the place of the binary, because
building the real binary takes minutes.
"""
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tomllib

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from server import ROOT

VERSION = re.search(r'package static let version = "(.*)"', (ROOT / "Sources/BraidServer/App.swift").read_text())[1]
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
PLATFORM = f"braid-server-{VERSION}-linux-{ARCHITECTURE}"
DATE = 1767323045  # the date of the commit, in seconds since 1970


@pytest.fixture(scope="session")
def binary(tmp_path_factory):
    path = tmp_path_factory.mktemp("binary") / "braid-server"
    path.write_text(f"#!/bin/sh\necho {VERSION}\n")
    path.chmod(0o755)
    return path


def release(repository, binary, *parts, **options):
    repository.run("Scripts/release", VERSION, *parts, BINARY=str(binary), IMAGE_BASE="scratch", **options)
    return {path.name: path.read_bytes() for path in (repository.root / "dist").iterdir()}


def refusal(repository, *arguments, **variables):
    """Returns the message with which the script refuses to make a release."""
    result = repository.run("Scripts/release", *arguments, check=False, **variables)
    assert result.returncode != 0
    return result.stderr


@pytest.fixture(scope="session")
def files(repository, binary):
    return release(repository, binary, "binary", "sbom")


# MARK: What is refused


def test_a_release_of_another_version_is_refused(repository):
    assert refusal(repository, "9.9.9") == (
        f"Scripts/release: the version of the sources is {VERSION}, not 9.9.9. Change it in Sources/BraidServer/App.swift.\n")


def test_a_release_without_a_version_is_refused(repository):
    assert "give the version to release" in refusal(repository)


def test_an_unknown_part_is_refused(repository):
    assert "there is no part \"binaries\". The parts are: binary, " in refusal(repository, VERSION, "binaries")


@pytest.mark.parametrize("file", ["README.md", "a new file"])
def test_changes_that_are_not_committed_are_refused(repository, files, file):
    before = (repository.root / file).read_bytes() if (repository.root / file).exists() else None
    (repository.root / file).write_text("changed")
    try:
        message = refusal(repository, VERSION, "binary")
    finally:
        (repository.root / file).write_bytes(before) if before is not None else (repository.root / file).unlink()
    assert file in message and "commit or remove these changes first" in message
    assert (repository.root / "dist" / f"{PLATFORM}.tar.gz").exists(), "a refused release leaves the files of the last one"


def test_a_binary_of_another_version_is_refused(repository, tmp_path):
    other = tmp_path / "braid-server"
    other.write_text("#!/bin/sh\necho 0.0.1\n")
    other.chmod(0o755)
    assert f"is not version {VERSION}, but 0.0.1" in refusal(repository, VERSION, "binary", BINARY=str(other))


# MARK: What is made


def test_archive(files, binary):
    """The archive contains the binary and what belongs to it."""
    archive = tarfile.open(fileobj=io.BytesIO(files[f"{PLATFORM}.tar.gz"]))
    folder = f"braid-server-{VERSION}"
    members = {member.name: member for member in archive}
    assert {folder, *(f"{folder}/{name}" for name in ["braid-server", "LICENSE", "README.md", "CHANGELOG.md"])} <= set(members)
    assert archive.extractfile(f"{folder}/braid-server").read() == binary.read_bytes()
    assert archive.extractfile(f"{folder}/LICENSE").read() == (ROOT / "LICENSE").read_bytes()
    assert list(members) == sorted(members)
    for member in members.values():
        executable = member.isdir() or member.name.endswith("/braid-server")
        assert (member.mtime, member.uid, member.gid, member.mode) == (DATE, 0, 0, 0o755 if executable else 0o644), member.name


def test_the_sums_are_those_of_all_files(files):
    sums = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "SHA256SUMS"}
    assert sorted(sums) == list(sums) and len(sums) == 2


def test_the_same_commit_makes_the_same_files(repository, binary, files):
    assert release(repository, binary, "binary", "sbom", umask=0o077) == files


# MARK: The image


@pytest.fixture(scope="session")
def image(repository, binary):
    """Returns the image's entry in index.json, its configuration, and the files of its layers."""
    if not shutil.which("buildah"):
        pytest.skip("there is no buildah here")
    made = release(repository, binary, "image")
    assert set(made) == {f"{PLATFORM}.oci.tar", "SHA256SUMS"}
    archive = tarfile.open(fileobj=io.BytesIO(made[f"{PLATFORM}.oci.tar"]))

    def blob(descriptor):
        data = archive.extractfile("./blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")).read()
        assert descriptor["digest"] == "sha256:" + hashlib.sha256(data).hexdigest() and descriptor["size"] == len(data)
        return data

    [entry] = json.load(archive.extractfile("./index.json"))["manifests"]
    manifest = json.loads(blob(entry))
    layers = [tarfile.open(fileobj=io.BytesIO(blob(layer))) for layer in manifest["layers"]]
    blobs = [name for name in archive.getnames() if name.startswith("./blobs/sha256/")]
    assert len(blobs) == 2 + len(layers), "no blob is left over"
    return entry, json.loads(blob(manifest["config"])), {member.name: (member, layer) for layer in layers for member in layer}


def test_the_image_is_described_by_labels(image, repository):
    entry, configuration, _ = image
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in configuration["config"]["Labels"].items()}
    assert labels["version"] == entry["annotations"]["org.opencontainers.image.ref.name"] == VERSION
    assert labels["revision"] == repository.run("git", "rev-parse", "HEAD").stdout.strip()
    assert labels["created"] == "2026-01-02T03:04:05Z" and configuration["created"].startswith("2026-01-02T03:04:05")
    assert (labels["title"], labels["licenses"]) == ("Braid Server", "MIT") and labels["description"]
    assert "source" not in labels, "this repository has no address"


def test_the_image_is_what_the_dockerfile_says(image, binary):
    _, configuration, files = image
    text = (ROOT / "Dockerfile").read_text()
    config = configuration["config"]

    def instruction(name):
        [value] = re.findall(rf"^{name} (.*)", text, re.M)
        return value

    assert (config["User"], list(config["Volumes"])) == (instruction("USER"), [instruction("VOLUME")])
    assert (config["Entrypoint"], config["Cmd"]) == (json.loads(instruction("ENTRYPOINT")), json.loads(instruction("CMD")))
    assert set(instruction("ENV").split()) <= set(config["Env"]) and config["StopSignal"] == instruction("STOPSIGNAL")
    assert config["Healthcheck"] == {
        "Test": ["CMD", "braid-server", "health"], "Interval": 10 * 10**9, "Timeout": 6 * 10**9, "StartPeriod": 30 * 10**9,
        "StartInterval": 250 * 10**6}
    program, layer = files["usr/local/bin/braid-server"]
    assert (program.mode & 0o7777, program.uid) == (0o755, 0) and layer.extractfile(program).read() == binary.read_bytes()
    data, _ = files["data"]
    assert (data.isdir(), data.uid, data.gid) == (True, 10001, 10001)


def test_the_same_commit_makes_the_same_image(image, repository, binary):
    first = (repository.root / f"dist/{PLATFORM}.oci.tar").read_bytes()
    assert release(repository, binary, "image", umask=0o077)[f"{PLATFORM}.oci.tar"] == first


def test_source_of_image(repository, binary, image):
    """A repository on the web is the image's source."""
    with_source = release(repository, binary, "image", SOURCE_URL="https://example.com/ann/braid.git")
    assert b'"org.opencontainers.image.source":"https://example.com/ann/braid"' in with_source[f"{PLATFORM}.oci.tar"]


# MARK: The bill of materials


def test_the_bill_of_materials_is_valid(files, tmp_path):
    path = tmp_path / "server.spdx.json"
    path.write_bytes(files[f"{PLATFORM}.spdx.json"])
    document = parse_file(str(path))
    assert [fault.validation_message for fault in validate_full_spdx_document(document)] == []


def test_bill_of_materials(files, binary):
    """The bill of materials lists each part of the binary."""
    document = json.loads(files[f"{PLATFORM}.spdx.json"])
    packages = {package["name"]: package for package in document["packages"]}
    server = packages.pop("braid-server")
    assert server["versionInfo"] == VERSION
    assert server["checksums"] == [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(binary.read_bytes()).hexdigest()}]
    # The linked libraries, with the names of their source packages in Debian. A release is not linked with those of the traits.
    sources = {"md": "libmd", "sqlite3": "sqlite3", "z": "zlib", "zstd": "libzstd"}
    linked = {name for path in (ROOT / "Sources").glob("*/module.modulemap") for name in re.findall('link "(.*)"', path.read_text())}
    assert linked == {*sources, "crypto", "pq"}
    swift = set(re.findall(r'\.package\(url: ".*/(.*?)"', (ROOT / "Package.swift").read_text()))
    compilers = {name for name in packages if re.fullmatch(r"gcc-\d+", name)}
    assert set(packages) == {*sources.values(), *swift, "swift-runtime", "glibc", *compilers} and len(compilers) == 1
    linked = {link["relatedSpdxElement"] for link in document["relationships"] if link["relationshipType"] == "STATIC_LINK"}
    assert linked == {package["SPDXID"] for package in packages.values()}
    for package in packages.values():
        assert re.match(r"\d", package["versionInfo"]), package


# MARK: The documentation


def test_the_documentation_has_no_faults(tmp_path):
    result = subprocess.run([ROOT / "Scripts/docs", tmp_path / "site"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "site/documentation/braidengine/index.html").is_file()


# MARK: What has to agree


def test_version_everywhere():
    """Every place that names the version agrees."""
    openapi = json.loads((ROOT / "docs/openapi.json").read_text())
    assert openapi["info"]["version"] == VERSION
    assert openapi["paths"]["/openapi.json"]["get"]["responses"]["200"]["content"]["application/json"]["example"]["info"]["version"] == VERSION
    for kind in ["javascript", "node"]:
        package = json.loads((ROOT / f"Clients/{kind}/package.json").read_text())
        assert {package["version"], *package.get("peerDependencies", {}).values()} == {VERSION}
    assert tomllib.loads((ROOT / "Clients/python/pyproject.toml").read_text())["project"]["version"] == VERSION
    clients = [path for suffix in ["md", "py"] for path in (ROOT / "Clients").rglob(f"*.{suffix}")]
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("compose*.yaml"), *clients]:
        named = re.findall(r"braid-server(?:-client|-testing)?[-:](\d+\.\d+\.\d+)", path.read_text())
        assert set(named) <= {VERSION}, path
    versions = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert versions[0] == VERSION, "CHANGELOG.md begins with the section of the version"


def test_the_binary_has_the_version_of_the_sources():
    from server import BINARY
    assert subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout.strip() == VERSION


@pytest.mark.parametrize("package", ["Benchmarks", "Fuzzing"])
def test_dependencies(package):
    """Each dependency must have an exact version, a path, or a range of versions with an upper bound. In SwiftPM,
    `from:` also means a version below the next major version, but a reader may not know that.
    """
    lines = (ROOT / package / "Package.swift").read_text().splitlines()
    declared = [number for number, line in enumerate(lines) if ".package(" in line and "DIFFERENCEKIT" not in line and "differenceKit" not in line]
    assert declared
    for number in declared:
        assert re.search(r'"\d+\.\d+\.\d+"\.\.<"\d+\.\d+\.\d+"|exact: "|path: "\.\."', lines[number]), lines[number]
        assert lines[number - 1].strip().startswith("//"), lines[number]
