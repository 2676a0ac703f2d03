/// From the head of a request to the end of its answer.
extension Connection {
    func received(_ head: HTTPRequestHead) {
        exchange = HTTPExchange(head)
        self.head = head
        since = loop.now
        bodyBytes = 0
        switch loop.handler.disposition(of: head) {
        case .gather(let limit):
            bodyLimit = limit
            if case .length(let length) = head.framing {
                if length > limit { return refuseBody() }
                guard loop.load.buffers.has(length) else { return refuse(.noRoomForBody) }
            }
        case .stream:
            let (loop, id, handler) = (loop, id, loop.handler)
            let reader = HTTPBodyReader(share: Budget.Share(of: loop.load.buffers)) { loop.post(.resume(connection: id)) }
            phase = .feeding(reader)
            Task {
                let response = await handler.handle(head, body: reader)
                loop.post(.answer(connection: id, response))
            }
        }
        // Only now is it known that the body is wanted (RFC 9110, 10.1.1).
        if head.expectsContinue, head.framing != .none { loop.output.append("HTTP/1.1 100 Continue\r\n\r\n") }
    }

    func received(_ piece: Span<UInt8>) {
        bodyBytes += piece.count
        let reader: HTTPBodyReader? = if case .feeding(let reader) = phase { reader } else { nil }
        if reader == nil {
            if bodyBytes > bodyLimit { return refuseBody() }
            let share = bodyShare ?? Budget.Share(of: loop.load.buffers)
            bodyShare = share
            guard share.grow(to: bodyBytes) else { return refuse(.noRoomForBody) }
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
        refuse(HTTPFailure(status: 413, detail: "The body is longer than the \(bodyLimit) bytes that are taken here."))
    }

    func requestEnded() {
        if case .feeding(let reader) = phase {
            phase = .answering
            return reader.finish()
        }
        guard let head else { return }
        let request = HTTPRequest(head: head, body: body)
        body = []
        switch loop.handler.handle(request) {
        case .ready(let response):
            answer(response)
        case .soon(let work):
            phase = .answering
            answerLater(work, on: loop)
        case .later(let work):
            phase = .answering
            answerLater(work)
        case .waiting(let work):
            let task = answerLater(work)
            phase = .waiting(task)
            if loop.isStopping || peerIsDone { task.cancel() }
        }
    }

    @discardableResult
    private func answerLater(_ work: @escaping @Sendable () async -> HTTPResponse, on executor: (any TaskExecutor)? = nil) -> Task<Void, Never> {
        let (loop, id, share) = (loop, id, bodyShare)
        return Task(executorPreference: executor) {
            // The work may hold the body, also when the client has left.
            let response = await work()
            // Before the answer: a client may send its next body as soon as it has this one's.
            share?.giveBack()
            loop.post(.answer(connection: id, response))
        }
    }

    /// The answer of a handler that ran elsewhere.
    func answerCame(_ response: HTTPResponse) {
        switch phase {
        case .answering, .waiting:
            answer(response)
        case .feeding:
            // The rest of the body is unread: the next request's start cannot be reached.
            exchange.keepsAlive = false
            answer(response)
        default:
            return response.abandon()  // the request was refused meanwhile
        }
        flush()
        proceed()
    }

    /// Answers what is wrong with the request under way, and closes.
    func refuse(_ failure: HTTPFailure) {
        if case .feeding(let reader) = phase { reader.fail(failure) }
        if head == nil { exchange = HTTPExchange() }
        exchange.keepsAlive = false
        answer(loop.handler.response(to: failure, head: head ?? parser.takeUnfinishedHead()))
    }

    /// Encodes the answer into the loop's buffer and decides how the connection goes on.
    private func answer(_ given: HTTPResponse) {
        guard let response = affordable(given) else { return }
        head = nil
        body = []
        bodyShare = nil
        var isStream = false
        if case .stream = response.body { isStream = true }
        let sendsBody = response.sendsBody(in: exchange)
        if loop.isStopping || isStream && sendsBody && exchange.minor == 0 { exchange.keepsAlive = false }
        response.encodeHead(for: exchange, keepsAlive: exchange.keepsAlive, date: loop.dateLine, to: &loop.output)
        guard sendsBody else {
            answerShare = nil
            response.abandon()
            return exchangeEnded()
        }
        switch response.body {
        case .none: break
        case .bytes(let bytes): write([bytes], bytes.count)
        case .stream(let stream):
            let (loop, id) = (loop, id)
            phase = .streaming(stream)
            stream.attach { loop.post(.resume(connection: id)) }
            if stream.isEndless, loop.isStopping || peerIsDone { stream.endFromServer() }
            return
        }
        exchangeEnded()
    }

    /// What a large body of its own takes of the memory waits there until the client has read it: there may be only so many.
    /// (Smaller ones are kept and shared; a stream counts with its queue, and its large pieces bring shares of their own.)
    ///
    /// One that cannot be had is 503. But a command may be carried out already, and "try again" would have it done twice: its client
    /// loses the connection, as it must expect to, and asks again with its idempotency key, or for the revision. Nil then.
    private func affordable(_ response: HTTPResponse) -> HTTPResponse? {
        let bytes = switch response.body {
        case .none: 0
        case .bytes(let bytes): bytes.count
        case .stream(let stream): 2 * stream.limit  // what is queued, and what is on its way
        }
        guard bytes > 1 << 20 else { return response }
        answerShare = loop.load.buffers.share(bytes)
        if answerShare != nil { return response }
        response.abandon()
        guard let method = head?.method, ["GET", "HEAD"].contains(method) else {
            flush()
            close()
            return nil
        }
        return loop.handler.response(to: .noRoomForAnswer, head: head)
    }

    /// Small bodies are copied behind their head, and answers to requests sent together leave in one call.
    /// Large ones go to the kernel from where they are.
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

    /// Writes what the stream has, as one chunk; false if it has nothing (RFC 9112, 7.1).
    func relay(_ stream: HTTPBodyStream) -> Bool {
        let taken = stream.take()
        if taken.isBroken {
            close()
            return false
        }
        guard taken.bytes > 0 || taken.isLast else { return false }
        let isChunked = exchange.minor > 0
        if taken.bytes > 0 {
            pieceShares += taken.shares
            if isChunked {
                loop.output.append(hexadecimal: taken.bytes)
                loop.output.append("\r\n")
            }
            write(taken.pieces, taken.bytes)
            if isChunked { loop.output.append("\r\n") }
        }
        if taken.isLast {
            if isChunked { loop.output.append("0\r\n\r\n") }
            stream.close()
            exchangeEnded()
        }
        flush()
        giveRoomBackIfSent()
        return true
    }
}
