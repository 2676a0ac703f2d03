import Foundation
import Glibc
import Synchronization

/// Can lose bytes; a test decides about each piece.
final class LossyProxy: Sendable {
    enum Fate: Equatable {
        case pass
        /// The connection breaks first.
        case lose
        /// Half arrives, then the connection breaks. Of an answer's first piece, the whole head: without one,
        /// URLSession on Linux ends the process ("Transfer completed, but there's no response").
        case tear
        /// These and all later bytes in this direction are lost; the connection stays.
        case stall
        /// By the proxy itself, which then closes; the server gets nothing.
        case answer(String)
    }

    /// Arrived together.
    struct Piece {
        /// Counted from the proxy's start.
        let connection: Int
        let toServer: Bool
        let bytes: ArraySlice<UInt8>
    }

    let port: Int
    private let listener: Int32
    private let connect: @Sendable () -> Int32?
    private let fate: Mutex<@Sendable (Piece) -> Fate>
    private let open = Mutex<Set<Int32>>([])
    private let lostPieces = Atomic<Int>(0)
    private let connections = Atomic<Int>(0)

    struct Failure: Error {}

    var url: URL { URL(string: "http://127.0.0.1:\(port)") ?? URL(fileURLWithPath: "/") }
    var lost: Int { lostPieces.load(ordering: .relaxed) }

    convenience init(to upstream: Int, fate: @escaping @Sendable (_ toServer: Bool) -> Fate) throws {
        try self.init(connecting: { connectedSocket(port: upstream) }, fate: { fate($0.toServer) })
    }

    init(
        connecting connect: @escaping @Sendable () -> Int32?,
        fate: @escaping @Sendable (Piece) -> Fate
    ) throws {
        self.connect = connect
        self.fate = Mutex(fate)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = localAddress(port: 0), length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard bound else { throw Failure() }
        port = Int(in_port_t(bigEndian: address.sin_port))
        Thread.detachNewThread { [weak self] in
            // `accept` fails with EINVAL after `shutdown`. Only this thread closes the listener: after a close in
            // `deinit`, it could accept for another test's socket of the same number.
            defer { close(listener) }
            while true {
                let client = accept(listener, nil, nil)
                if client < 0, errno != EINVAL { continue }
                guard client >= 0 else { return }
                guard let self else {
                    close(client)
                    return
                }
                self.serve(client)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        open.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    private func serve(_ client: Int32) {
        guard let server = connect() else {
            close(client)
            return
        }
        open.withLock { $0.formUnion([client, server]) }
        let running = DispatchGroup(), number = connections.add(1, ordering: .relaxed).newValue
        for (source, target, toServer) in [(client, server, true), (server, client, false)] {
            running.enter()
            Thread.detachNewThread { [weak self] in
                Self.pump(source, target) {
                    self?.next(Piece(connection: number, toServer: toServer, bytes: $0)) ?? .lose
                }
                // Both directions end together.
                shutdown(source, Int32(SHUT_RDWR))
                shutdown(target, Int32(SHUT_RDWR))
                running.leave()
            }
        }
        running.notify(queue: .global()) { [weak self] in
            self?.open.withLock { $0.subtract([client, server]) }
            close(client)
            close(server)
        }
    }

    private func next(_ piece: Piece) -> Fate {
        let fate = fate.withLock { $0 }(piece)
        if fate != .pass { lostPieces.add(1, ordering: .relaxed) }
        return fate
    }

    private static func pump(_ source: Int32, _ target: Int32, _ fate: (ArraySlice<UInt8>) -> Fate) {
        var bytes = [UInt8](repeating: 0, count: 65_536), isStalled = false
        while case let count = recv(source, &bytes, bytes.count, 0), count > 0 {
            if isStalled { continue }
            switch fate(bytes[..<count]) {
            case .pass: guard send(bytes[..<count], to: target) else { return }
            case .tear:
                let piece = bytes[..<count], head = piece.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? 0
                _ = send(piece[..<max(head, count / 2)], to: target)
                return
            case .lose: return
            case .stall: isStalled = true
            case .answer(let text):
                _ = send(Array(text.utf8)[...], to: source)
                return
            }
        }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to target: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }
}
