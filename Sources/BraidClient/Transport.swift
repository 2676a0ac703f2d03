import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// URLSession with answers as they arrive: `bytes(for:)` is not on all platforms.
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
        // Each followed session holds one; at the default limit, further requests could wait for ever.
        configuration.httpMaximumConnectionsPerHost = 65_536
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    // Until it is invalidated, a URLSession keeps its delegate.
    deinit { session.finishTasksAndInvalidate() }

    /// The head, then pieces of the body. Dropping the stream cancels. In a cancelled task, the stream ends without an
    /// error, as if the answer were complete: check for cancellation.
    func parts(of request: URLRequest) -> AsyncThrowingStream<Part, any Error> {
        AsyncThrowingStream { continuation in
            let task = session.dataTask(with: request)
            // Before `resume`: parts without a continuation are lost.
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
            // Foundation on Linux delivers interim responses (103, RFC 8297), too.
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
        /// Asked for a password, Foundation on Linux would wait for ever.
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
