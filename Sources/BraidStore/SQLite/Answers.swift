import BraidEngine

// The stored answers to requests, for clients that repeat a request with the same `Idempotency-Key`.
extension SQLiteConnection {
    func keep(_ answer: KeptAnswer) throws {
        let before =
            try first(
                """
                SELECT cost_before + cost FROM answer WHERE session = ? AND requester = ? AND \(KeptAnswer.hasSoundCost)
                ORDER BY cost_before DESC LIMIT 1
                """,
                answer.session, answer.requester
            ) { $0.int(0) } ?? 0
        try run(
            """
            INSERT OR REPLACE INTO answer (session, requester, key, at, request, answer, cost_before, cost)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            answer.session, answer.requester, answer.key, answer.at, answer.request, answer.answer, before, answer.cost)
        try run(
            """
            DELETE FROM answer WHERE (session, requester, key) IN (
                SELECT session, requester, key FROM answer
                WHERE session = ? AND requester = ? AND cost_before < ? AND key <> ? ORDER BY cost_before LIMIT ?)
            """,
            answer.session, answer.requester, before + answer.cost - KeptAnswer.quota, answer.key,
            KeptAnswer.mostEvicted)
        // Storing a new answer deletes up to four expired answers, so the number of expired answers falls. Not more are
        // deleted, so that no commit waits for a long delete.
        try run(
            """
            DELETE FROM answer WHERE (session, requester, key) IN (
                SELECT session, requester, key FROM answer WHERE at <= ? ORDER BY at LIMIT 4)
            """,
            answer.at - KeptAnswer.lifetime)
    }

    /// Returns the time of the newest kept answer (a stored answer to a request with an idempotency key). Returns `nil`
    /// if the database contains no answer.
    func latestAnswer() throws -> Int? {
        try first("SELECT max(at) FROM answer WHERE \(StoredNumber.time.condition("at"))") { $0.optionalInt(0) } ?? nil
    }

    func answer(to key: String, by requester: String, of session: Int, now: Int) throws -> KeptAnswer? {
        try first(
            "SELECT at, request, answer FROM answer WHERE session = ? AND requester = ? AND key = ? AND at > ?",
            session, requester, key, now - KeptAnswer.lifetime
        ) {
            KeptAnswer(
                session: session, requester: requester, key: key, at: try $0.number(0, .time, "at"),
                request: $0.int(1), answer: try $0.json(2))
        }
    }
}
