import BraidRuntime

// From a request's head to the end of its answer.
extension HTTPConnection {
    func received(_ head: HTTPRequestHead) {
        var head = head
        head.peer = peer
        framing = ResponseFraming(head)
        since = loop.now
        bodyBytes = 0
        let exchange = loop.handler.receive(head)
        self.exchange = exchange
        guard mayAsk(exchange, head) else {
            loop.load.refusedRequest()
            return refuse(.noConnection)
        }
        take(exchange, head)
    }

    /// A connection that stays reserved accepts one probe without a body.
    private func mayAsk(_ exchange: any HTTPExchange, _ head: HTTPRequestHead) -> Bool {
        if isReserved, loop.load.promote() { isReserved = false }
        guard isReserved else { return true }
        framing.keepsAlive = false
        return head.framing == .none && exchange.isProbe
    }

    func decided(_ exchange: any HTTPExchange) {
        guard case .undecided = phase else { return }
        self.exchange = exchange
        phase = .receiving
        since = loop.now
        take(exchange, exchange.head)
        flush()
        proceed()
    }

    private func take(_ exchange: any HTTPExchange, _ head: HTTPRequestHead) {
        switch exchange.disposition {
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
            let (loop, id) = (loop, id)
            let reader = HTTPBodyReader(lease: Quota.Lease(of: loop.load.incoming, to: account)) {
                loop.post(.resume(connection: id))
            }
            phase = .feeding(reader)
            Task {
                loop.post(.answer(connection: id, await exchange.respond(reading: reader)))
            }
        case .refuse(let response):
            framing.keepsAlive = false
            return writeAnswer(response)
        case .undecided(let executor, let work):
            let (loop, id) = (loop, id)
            phase = .undecided(
                Task(executorPreference: executor) { loop.post(.decided(connection: id, await work())) })
            return
        }
        // RFC 9110, 10.1.1.
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
        guard let exchange else { return }
        let body = body
        self.body = []
        switch exchange.reply(to: body) {
        case .ready(let response):
            writeAnswer(response)
        case .task(let executor, let endsAtStop, let work):
            let (loop, id, lease) = (loop, id, bodyLease)
            let task = Task(executorPreference: executor) {
                // The task owns the lease: it holds the body even after the client has disconnected. It ends before
                // the answer is sent, because the client may then send the next body.
                let response = await work()
                lease?.end()
                loop.post(.answer(connection: id, response))
            }
            phase = .answering(task, endsAtStop: endsAtStop)
            if endsAtStop, loop.isStopping || peerIsDone { task.cancel() }
        }
    }

    func answerCame(_ response: HTTPResponse) {
        switch phase {
        case .answering, .fed:
            writeAnswer(response)
        case .feeding:
            // Before the body's end, so the next request's start is unknown.
            framing.keepsAlive = false
            writeAnswer(response)
        default:
            // `refuse` has answered already.
            return response.abandon()
        }
        flush()
        proceed()
    }

    func refuse(_ failure: HTTPFailure) {
        var isHandled = false
        if case .feeding(let reader) = phase {
            reader.fail(failure)
            isHandled = true
        }
        // Otherwise `framing` would be the last request's.
        if exchange == nil { framing = ResponseFraming() }
        framing.keepsAlive = false
        if let exchange { return writeAnswer(exchange.refusal(for: failure, isHandled: isHandled)) }
        var head = parser.takeUnfinishedHead() ?? .unknown
        head.peer = peer
        writeAnswer(loop.handler.refusal(for: failure, unreadable: head))
    }

    private func writeAnswer(_ given: HTTPResponse) {
        if given.isWithheld { return withhold(given) }
        guard let response = affordable(given) else { return }  // It needs `exchange`.
        exchange = nil
        body = []
        bodyLease = nil
        var isStream = false
        if case .stream = response.body { isStream = true }
        let sendsBody = response.sendsBody(in: framing)
        // HTTP/1.0 has no chunks: only the connection's end ends a stream.
        if loop.isStopping || isStream && sendsBody && framing.minor == 0 { framing.keepsAlive = false }
        response.encodeHead(for: framing, date: loop.dateLine, to: &loop.output)
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

    /// Leases memory for a body of more than 1 MiB until it is sent, or takes over the application's lease. Large
    /// pieces of a stream have their own.
    ///
    /// Without memory, a GET or HEAD gets 503 or 429. Another method may have been carried out, and these would make
    /// the client repeat it. So the connection closes (`nil`): the client retries with its idempotency key, or reads
    /// the revision.
    private func affordable(_ response: HTTPResponse) -> HTTPResponse? {
        let bytes =
            if case .stream(let stream) = response.body {
                // Its queue and the connection's output queue.
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
            guard let exchange, exchange.head.isRead else {
                withhold(response)
                return nil
            }
            response.abandon()
            return exchange.refusal(for: .noRoomForAnswer(error), isHandled: false)
        }
    }

    /// Closes without a byte of this answer. Earlier ones are still sent.
    private func withhold(_ response: HTTPResponse) {
        response.abandon()
        flush()
        close()
    }

    /// Copies small pieces after the head, so that one system call sends several answers.
    private func write(_ pieces: [[UInt8]], _ count: Int) {
        if count <= 16 * 1024 {
            for piece in pieces { loop.output.append(contentsOf: piece) }
        } else {
            flush(pieces)
        }
    }

    private func exchangeEnded() {
        phase = framing.keepsAlive ? .receiving : .closing
        since = loop.now
    }

    /// Writes what the stream has as one chunk (RFC 9112, 7.1), or plain if the length is known or for HTTP/1.0.
    /// Returns whether there was anything.
    func relay(_ stream: ByteStream) -> Bool {
        let taken = stream.take()
        guard taken.bytes > 0 || taken.isLast || taken.isBroken else { return false }
        let isChunked = framing.minor > 0 && stream.length == nil
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
            if taken.isBroken { framing.keepsAlive = false } else if isChunked { loop.output.append("0\r\n\r\n") }
            stream.close()
            exchangeEnded()
        }
        flush()
        giveRoomBackIfSent()
        return true
    }
}
