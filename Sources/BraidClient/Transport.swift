import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends requests with URLSession and delivers their answers as they arrive. `Transport` replaces URLSession's
/// `bytes(for:)`, which does not exist on all platforms.
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
        // Each followed session keeps a connection open. With URLSession's default limit of connections, further
        // requests could wait forever for a free connection.
        configuration.httpMaximumConnectionsPerHost = 65_536
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    // A URLSession keeps its delegate alive until the session is invalidated, so `deinit` invalidates the session.
    deinit { session.finishTasksAndInvalidate() }

    /// Sends a request, and returns a stream of the answer: first the head, then the body in pieces. If the program
    /// drops the stream, the request is cancelled.
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
            // Foundation on Linux also delivers interim responses, such as 103 (RFC 8297). Only a response with a
            // status from 200 on is the answer.
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
        /// Called when the server or a proxy asks for a password. The client has none, and Foundation on Linux would
        /// wait for one forever. So the refusal becomes the answer of the request.
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
