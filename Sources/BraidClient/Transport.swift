import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends requests by URLSession, and gives their answers as they arrive: what `bytes(for:)` does on Apple's platforms,
/// on all.
final class Transport: Sendable {
    private let delegate = Delegate()
    private let session: URLSession

    enum Part: Sendable {
        case head(HTTPURLResponse)
        case bytes(Data)
    }

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // A session that is followed takes a connection of its own, for as long: what waits for one to be free would
        // wait for ever.
        configuration.httpMaximumConnectionsPerHost = 65_536
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    // It holds on to its delegate until then.
    deinit { session.finishTasksAndInvalidate() }

    /// The head, then the body. Ends the exchange when it is no longer listened to.
    func parts(of request: URLRequest) -> AsyncThrowingStream<Part, any Error> {
        AsyncThrowingStream { continuation in
            let task = session.dataTask(with: request)
            delegate.exchanges.withLock { $0[task.taskIdentifier] = continuation }
            continuation.onTermination = { _ in task.cancel() }
            task.resume()
        }
    }

    private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
        let exchanges = Mutex<[Int: AsyncThrowingStream<Part, any Error>.Continuation]>([:])

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            // Linux' Foundation hands over what comes before an answer as well (103: RFC 8297).
            if let head = response as? HTTPURLResponse, head.statusCode >= 200 { yield(.head(head), for: dataTask) }
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            yield(.bytes(data), for: dataTask)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.finish(throwing: error)
        }

        #if canImport(FoundationNetworking)
        /// A proxy asks for a password. There is none, and this Foundation would wait for one for ever: its answer is
        /// what there is.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            if let head = challenge.failureResponse as? HTTPURLResponse {
                yield(.head(head), for: task)
                exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.finish()
            }
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
        #endif

        private func yield(_ part: Part, for task: URLSessionTask) {
            _ = exchanges.withLock { $0[task.taskIdentifier] }?.yield(part)
        }
    }
}
