import BraidRuntime

// One HTTP exchange on a connection: from the head of a request to the end of the server's answer.
extension HTTPConnection {
    func received(_ head: HTTPRequestHead) {
        var head = head
        head.peer = peer
        exchange = HTTPExchange(head)
        self.head = head
        since = loop.now
        bodyBytes = 0
        guard mayAsk(head) else {
            loop.load.refusedRequest()
            return refuse(.noConnection)
        }
        take(head, loop.handler.disposition(of: head))
    }

    /// Returns whether the server accepts this request. On an ordinary connection, it accepts every request. A reserved
    /// connection first becomes an ordinary one if another connection has closed. A connection that stays reserved
    /// accepts only one request, which must be a probe without a body.
    private func mayAsk(_ head: HTTPRequestHead) -> Bool {
        if isReserved, loop.load.promote() { isReserved = false }
        guard isReserved else { return true }
        exchange.keepsAlive = false
        return head.framing == .none && loop.handler.isProbe(head)
    }

    /// Continues the current request after the application's task has decided how to handle the request's body.
    func decided(_ disposition: HTTPBodyDisposition) {
        guard case .undecided = phase, let head else { return }
        phase = .receiving
        since = loop.now
        take(head, disposition)
        flush()
        proceed()
    }

    private func take(_ head: HTTPRequestHead, _ disposition: HTTPBodyDisposition) {
        switch disposition {
        case .gather(let limit, let account):
            bodyLimit = limit
            bodyAccount = account
            if case .length(let length) = head.framing {
                if length > limit { return refuseBody() }
                guard length <= HTTPBodyDisposition.smallBody || loop.load.incoming.has(length) else {
                    return refuse(.noRoomForBody(.quota))
                }
            }
        case .stream(let account):
            let (loop, id, handler) = (loop, id, loop.handler)
            let reader = HTTPBodyReader(lease: Quota.Lease(of: loop.load.incoming, to: account)) {
                loop.post(.resume(connection: id))
            }
            phase = .feeding(reader)
            Task {
                let response = await handler.handle(head, body: reader)
                loop.post(.answer(connection: id, response))
            }
        case .refuse(let response):
            exchange.keepsAlive = false
            return answer(response)
        case .undecided(let executor, let work):
            let (loop, id) = (loop, id)
            phase = .undecided(
                Task(executorPreference: executor) { loop.post(.disposition(connection: id, await work())) })
            return
        }
        // The application accepts the body, so a client that sent `Expect: 100-continue` should now send it (RFC 9110,
        // 10.1.1).
        if head.expectsContinue, head.framing != .none { loop.output.append("HTTP/1.1 100 Continue\r\n\r\n") }
    }

    func received(_ piece: Span<UInt8>) {
        bodyBytes += piece.count
        let reader: HTTPBodyReader? = if case .feeding(let reader) = phase { reader } else { nil }
        if reader == nil {
            if bodyBytes > bodyLimit { return refuseBody() }
            if bodyBytes > HTTPBodyDisposition.smallBody {
                let lease = bodyLease ?? Quota.Lease(of: loop.load.incoming, to: bodyAccount)
                bodyLease = lease
                do {
                    try lease.grow(to: bodyBytes)
                } catch {
                    return refuse(.noRoomForBody(error))
                }
            }
        }
        piece.withUnsafeBufferPointer { bytes in
            if let reader {
                since = loop.now
                reader.append(bytes)
            } else {
                body.append(contentsOf: bytes)
            }
        }
    }

    private func refuseBody() {
        refuse(
            HTTPFailure(
                status: 413, detail: "The body is longer than the \(bodyLimit) bytes that the server accepts here."))
    }

    func requestEnded() {
        if case .feeding(let reader) = phase {
            phase = .fed
            return reader.finish()
        }
        guard let head else { return }
        let request = HTTPRequest(head: head, body: body)
        body = []
        switch loop.handler.handle(request) {
        case .ready(let response):
            answer(response)
        case .task(let executor, let endsAtStop, let work):
            let (loop, id, lease) = (loop, id, bodyLease)
            let task = Task(executorPreference: executor) {
                // The task may hold the request's body even after the client has disconnected, so the task owns the
                // lease of the body's memory.
                let response = await work()
                // End the lease of the request body's memory before sending the answer: the client may send the next
                // request's body as soon as it has the answer.
                lease?.end()
                loop.post(.answer(connection: id, response))
            }
            phase = .answering(task, endsAtStop: endsAtStop)
            // If the server stops or the client sends nothing more, cancel only a task that waits for a future event.
            // Other tasks continue: a client that has only closed its sending side can still read the answer.
            if endsAtStop, loop.isStopping || peerIsDone { task.cancel() }
        }
    }

    /// Sends the answer of a handler that ran on another thread.
    func answerCame(_ response: HTTPResponse) {
        switch phase {
        case .answering, .fed:
            answer(response)
        case .feeding:
            // The handler has answered before the request's body was read to its end. So the connection must close
            // after this answer, because the start of the next request is unknown.
            exchange.keepsAlive = false
            answer(response)
        default:
            // The server has already refused the request with another answer, so the handler's answer is dropped.
            return response.abandon()
        }
        flush()
        proceed()
    }

    /// Answers the current request with the error that `failure` describes, and closes the connection after the answer.
    func refuse(_ failure: HTTPFailure) {
        var isHandled = false
        if case .feeding(let reader) = phase {
            reader.fail(failure)
            isHandled = true
        }
        if head == nil { exchange = HTTPExchange() }
        exchange.keepsAlive = false
        answer(
            loop.handler.response(
                to: failure, head: head ?? parser.takeUnfinishedHead(), isHandled: isHandled, peer: peer))
    }

    /// Encodes the answer to the current request and decides whether the connection stays open for the next request.
    private func answer(_ given: HTTPResponse) {
        if given.isWithheld { return withhold(given) }
        guard let response = affordable(given) else { return }
        head = nil
        body = []
        bodyLease = nil
        var isStream = false
        if case .stream = response.body { isStream = true }
        let sendsBody = response.sendsBody(in: exchange)
        if loop.isStopping || isStream && sendsBody && exchange.minor == 0 { exchange.keepsAlive = false }
        response.encodeHead(for: exchange, keepsAlive: exchange.keepsAlive, date: loop.dateLine, to: &loop.output)
        guard sendsBody else {
            answerLease = nil
            response.abandon()
            return exchangeEnded()
        }
        if case .stream(let stream) = response.body {
            let (loop, id) = (loop, id)
            phase = .streaming(stream)
            stream.attach { loop.post(.resume(connection: id)) }
            if stream.isEndless, loop.isStopping || peerIsDone { stream.endFromServer() }
            return
        }
        if let bytes = response.body.bytes, !bytes.isEmpty { write([bytes], bytes.count) }
        exchangeEnded()
    }

    /// Leases memory for the body of an answer of more than 1 MiB, until the body is sent. For a stream, twice its
    /// limit counts as the size: the stream's queue and the connection's output queue. Each large piece of a stream has
    /// a separate lease. If the application has already taken a lease for the answer, this method takes over that lease
    /// and changes it to the size of the body.
    ///
    /// If no memory can be leased for the answer to a GET or HEAD, the client gets 503 or 429 instead. A command may
    /// already have been applied, and these statuses would make the client send the command again. So if no memory can
    /// be leased for the answer to another method, this method closes the connection and returns `nil`. A client
    /// without an answer retries with its idempotency key, or reads the revision.
    private func affordable(_ response: HTTPResponse) -> HTTPResponse? {
        let bytes =
            if case .stream(let stream) = response.body {
                // twice the stream's limit: one part for the stream's queue, one for the connection's output queue
                2 * stream.limit
            } else {
                response.body.count ?? 0
            }
        guard bytes > Memory.largeBytes else {
            response.lease?.end()
            return response
        }
        do {
            let lease = response.lease ?? Quota.Lease(of: loop.load.outgoing, to: response.account)
            try lease.resize(to: bytes)
            answerLease = lease
            return response
        } catch {
            guard let method = head?.method, ["GET", "HEAD"].contains(method) else {
                withhold(response)
                return nil
            }
            response.abandon()
            return loop.handler.response(to: .noRoomForAnswer(error), head: head, isHandled: false, peer: peer)
        }
    }

    /// Closes the connection without sending a byte of the answer to the current request. Before that, the method sends
    /// the encoded answers to the connection's earlier requests, as far as the socket accepts them.
    private func withhold(_ response: HTTPResponse) {
        response.abandon()
        flush()
        close()
    }

    /// Writes the pieces of an answer's body. If they are small together, they are copied into the output buffer after
    /// the answer's head, so that one system call sends several answers. Larger pieces are sent without a copy.
    private func write(_ pieces: [[UInt8]], _ count: Int) {
        if count <= 16 * 1024 {
            for piece in pieces { loop.output.append(contentsOf: piece) }
        } else {
            flush(pieces)
        }
    }

    private func exchangeEnded() {
        phase = exchange.keepsAlive ? .receiving : .closing
        since = loop.now
    }

    /// Writes the bytes that wait in a stream's queue. If the stream's length is unknown and the request is not
    /// HTTP/1.0, the bytes become one HTTP chunk (RFC 9112, 7.1). Returns `false` if the queue is empty and the stream
    /// continues.
    func relay(_ stream: ByteStream) -> Bool {
        let taken = stream.take()
        guard taken.bytes > 0 || taken.isLast || taken.isBroken else { return false }
        let isChunked = exchange.minor > 0 && stream.length == nil
        if taken.bytes > 0 {
            pieceLeases += taken.leases
            if isChunked {
                loop.output.append(hexadecimal: taken.bytes)
                loop.output.append("\r\n")
            }
            write(taken.pieces, taken.bytes)
            if isChunked { loop.output.append("\r\n") }
        }
        if taken.isLast || taken.isBroken {
            if taken.isBroken { exchange.keepsAlive = false } else if isChunked { loop.output.append("0\r\n\r\n") }
            stream.close()
            exchangeEnded()
        }
        flush()
        giveRoomBackIfSent()
        return true
    }
}
