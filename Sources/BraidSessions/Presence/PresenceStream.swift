import BraidEngine
import BraidRuntime
import Synchronization

/// An event stream's part in presence: keeps its client present, and shows who is.
package final class PresenceStream: Sendable {
    let session: Int
    /// Its id.
    let client: String
    private let table: DisplayedTable?
    private let presence: Presence
    private let account: Quota.Account
    private let stream = Mutex<ByteStream?>(nil)
    /// The room's version that the reader has; -1: none.
    private let read = Atomic(-1)

    /// `table`: whose rows the reader may see; `nil` for all.
    package init(
        _ presence: Presence, session: Int, client: Presence.Client, in table: DisplayedTable? = nil,
        account: Quota.Account
    ) {
        self.presence = presence
        self.session = session
        self.client = client.id(in: session)
        self.table = table
        self.account = account
    }

    var seen: Int? {
        let version = read.load(ordering: .relaxed)
        return version < 0 ? nil : version
    }

    func join() { presence.join(self) }

    /// The first event has everyone.
    func watch(_ stream: ByteStream) {
        self.stream.withLock { $0 = stream }
        presence.watch(self)
    }

    func leave() { presence.leave(self) }

    /// Only the room's pump calls this. The event's plain bytes; `nil`: nothing to write, or the reader has not read
    /// what came before.
    func deliver(_ events: inout PresenceEvents, _ limits: StreamLimits) -> Int? {
        let seen = seen
        guard seen != events.room.version, let stream = stream.withLock({ $0 }), stream.isDrained else { return nil }
        let news = events.news(after: seen, in: table)
        do {
            let lease = try news.lease(limits, for: account)
            guard stream.write(news.piece(in: stream.coding), lease) == .accepted else { return nil }
        } catch {
            // No memory for a large event. The next round tries again.
            return nil
        }
        read.store(events.room.version, ordering: .relaxed)
        return news.count
    }
}

extension DisplayedTable {
    /// `nil` if whoever looks may know of all rows.
    package func hidingRows(from role: Role) -> DisplayedTable? {
        role != .controller && session.current.bound.readsViewer ? self : nil
    }

    /// A present client's entry, without a row that the table does not display.
    func showing(_ entry: JSONText) -> JSONText {
        guard let at = entry["at"], let id = at["id"]?.stringValue.map({ RowID($0) }) else { return entry }
        let sections = current.windows.sections(with: id)
        let isShown = at["section"]?.stringValue.map { sections.contains(SectionID($0)) } ?? !sections.isEmpty
        return isShown ? entry : JSONText(object: (entry.members() ?? []).filter { $0.name != "at" })
    }
}
