import Foundation

/// The journal, to compare with what clients and followers have received.
struct SessionLedger {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    private struct Record {
        var name: String
        var marker: String?
    }

    let session: String
    /// As a file for `braid-server replay`.
    let journal: String
    private var records: [Record] = []
    /// What streams must have: revisions with visible changes or a new state, and cell events' markers with their
    /// revisions.
    private var shown: [Int] = []
    private var cellEvents: [(revision: Int, marker: String)] = []

    init(_ session: String, at client: HTTPClient) throws {
        self.session = session
        journal = try client.get("/v1/sessions/\(session)/journal", headers: ["Accept": "application/x-ndjson"]).text
        for (index, line) in journal.split(separator: "\n").dropFirst().enumerated() {
            guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let command = object["command"] as? [String: Any],
                let name = command.keys.first, object["revision"] as? Int == index + 1,
                let update = object["update"] as? [String: Any]
            else { throw Wrong(description: "\(session): the line \(index + 2) of the journal is \(line)") }
            let marker = Self.marker(in: command)
            records.append(Record(name: name, marker: marker))
            if (update["stages"] as? [Any])?.isEmpty == false || update["state"] != nil || update["empty"] != nil {
                shown.append(index + 1)
            }
            if name == "events", let marker { cellEvents.append((index + 1, marker)) }
        }
    }

    var revision: Int { records.count }

    private static func marker(in command: [String: Any]) -> String? {
        let text = TableReplica.text(command)
        guard let start = text.range(of: #""by":""#) else { return nil }
        return String(text[start.upperBound...].prefix { $0 != "\"" })
    }

    /// Answered as applied: in the journal once, at that revision. Refused: not there. Unanswered: at most once.
    /// Besides, up to `others` commands that are none of these clients'.
    func check(_ clients: [ContendingClient], others: Int) throws {
        var wrong: [String] = []
        var places: [String: [Int]] = [:]
        for (index, record) in records.enumerated() {
            if let marker = record.marker { places[marker, default: []].append(index + 1) }
        }
        var told: Set<Int> = [], unknown: [String: Int] = [:]
        for sent in clients.flatMap(\.sent) where sent.session == session {
            let found = sent.marker.map { places[$0] ?? [] }
            switch sent.fate {
            case .applied(let revision):
                if !told.insert(revision).inserted { wrong.append("\(revision) was told twice") }
                guard revision <= records.count, found ?? [revision] == [revision],
                    Self.fits(records[revision - 1].name, sent.name)
                else {
                    wrong.append(
                        "\(sent) is at \(found ?? []): \(revision <= records.count ? "\(records[revision - 1])" : "past the end")"
                    )
                    continue
                }
            case .nothing: if let found, !found.isEmpty { wrong.append("\(sent) is at \(found)") }
            case .unknown:
                if found?.count ?? 0 > 1 { wrong.append("\(sent) is at \(found ?? [])") }
                unknown[sent.marker ?? sent.name, default: 0] += 1
            }
        }
        for (index, record) in records.enumerated() where !told.contains(index + 1) {
            unknown[record.marker ?? (Self.resource(of: record.name)), default: 0] -= 1
        }
        let surplus = unknown.filter { $0.value < 0 }
        if surplus.values.reduce(0, -) > others { wrong.append("nobody sent \(surplus)") }
        if !wrong.isEmpty {
            throw Wrong(description: "\(session): \(wrong.prefix(10).joined(separator: "; ")) (\(wrong.count) in all)")
        }
    }

    private static func fits(_ record: String, _ resource: String) -> Bool {
        Self.resource(of: record) == resource
    }

    /// To which these tests send it.
    private static func resource(of command: String) -> String {
        switch command {
        case "dataSource": "rows"
        case "patchState": "state"
        case "patchModels": "models"
        case "patchHeaders": "headers"
        default: command
        }
    }

    /// Once and in order: all revisions for a long poll; the visible ones and all cell events for a stream.
    func check(_ follower: SessionFollower) throws {
        guard let start = follower.start else {
            throw Wrong(description: "\(session): \(follower.form) was told nothing")
        }
        let revisions = follower.isPoll ? Array(start + 1..<revision + 1) : shown.filter { $0 > start }
        guard follower.revisions == revisions else {
            let differs = zip(follower.revisions, revisions).first { $0 != $1 }
            throw Wrong(
                description:
                    "\(session): \(follower.form) from \(start) was told \(follower.revisions.count) revisions of \(revisions.count): \(differs.map { "\($0)" } ?? "-")"
            )
        }
        let events = cellEvents.filter { $0.revision > start }.map(\.marker)
        guard follower.isPoll || follower.cellEvents == events else {
            throw Wrong(
                description:
                    "\(session): \(follower.form) was told the cell events \(follower.cellEvents), not \(events)")
        }
    }

    /// Replayed with the binary, from a file in `directory`.
    func replayed(in directory: TemporaryDirectory) throws -> String {
        let path = directory.path("\(session).ndjson")
        try journal.write(toFile: path, atomically: false, encoding: .utf8)
        let run = try CommandRun(["replay", path])
        guard run.status == 0 else { throw Wrong(description: "\(session): \(run.errors)") }
        return run.output
    }
}
