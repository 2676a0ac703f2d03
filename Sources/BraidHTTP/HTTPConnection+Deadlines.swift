import BraidRuntime

// The deadlines of an HTTP connection, for example for a request that arrives slowly. The event loop checks the
// deadlines of all its connections at a regular interval, so no connection needs a timer.
extension HTTPConnection {
    func checkDeadlines() {
        if isStalled {
            let isStream = if case .streaming = phase { true } else { false }
            loop.load.stalled(isStream: isStream)
            return close()
        }
        let waited = loop.now - since
        let limits = loop.limits
        if isReserved {
            if isIdle, loop.load.promote() {
                isReserved = false
            } else if loop.now - opened > limits.reservedTime.milliseconds {
                return close()
            }
        }
        switch phase {
        case .receiving where isIdle:
            if waited > limits.idleTime.milliseconds || loop.load.isCrowded && waited > 2 * limits.sweep.milliseconds {
                close()
            }
        case .receiving where head == nil:
            if !parser.isIdle, waited > limits.headTime.milliseconds {
                timeOut("The request's head did not arrive within \(limits.headTime).")
            }
        case .receiving:
            let isDue = waited > limits.bodyGrace.milliseconds
            let least = limits.leastBodyBytesPerSecond * (loop.load.incoming.isShort ? 64 : 1)
            if isDue, bodyBytes < least * waited / 1_000 {
                timeOut("The body arrived at less than \(least) bytes a second.")
            }
        case .feeding(let reader):
            if reader.isPaused {
                // While the reader's buffer is full, the client must not time out: the body's handler is slow, not the
                // client.
                since = loop.now
            } else if waited > limits.streamedBodyPause.milliseconds {
                timeOut("No byte of the body arrived for \(limits.streamedBodyPause).")
            }
        case .lingering:
            let time = loop.isStopping ? min(limits.lingerTime, limits.lingerTimeAtStop) : limits.lingerTime
            if waited > time.milliseconds { close() }
        case .undecided, .answering, .fed, .streaming, .closing:
            break
        }
    }

    private func timeOut(_ detail: String) {
        refuse(HTTPFailure(status: 408, detail: detail))
        flush()
        proceed()
    }
}
