import BraidEngine

extension SQLiteQueries {
    func keep(_ answer: KeptAnswer) throws {
        let before =
            try db.first(
                """
                SELECT cost_before + cost FROM answer WHERE session = ? AND requester = ? AND \(KeptAnswer.hasSoundCost)
                ORDER BY cost_before DESC LIMIT 1
                """,
                answer.session, answer.requester
            ) { $0.int(0) } ?? 0
        try db.run(
            """
            INSERT OR REPLACE INTO answer (session, requester, key, at, request, answer, cost_before, cost)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            answer.session, answer.requester, answer.key, answer.at, answer.request, answer.answer, before, answer.cost)
        try db.run(
            """
            DELETE FROM answer WHERE (session, requester, key) IN (
                SELECT session, requester, key FROM answer
                WHERE session = ? AND requester = ? AND cost_before < ? AND key <> ? ORDER BY cost_before LIMIT ?)
            """,
            answer.session, answer.requester, before + answer.cost - KeptAnswer.quota, answer.key,
            KeptAnswer.mostEvicted)
        // Few expired ones, so that no commit takes long, but more than the one that is new.
        try db.run(
            """
            DELETE FROM answer WHERE (session, requester, key) IN (
                SELECT session, requester, key FROM answer WHERE at <= ? ORDER BY at LIMIT 4)
            """,
            answer.at - KeptAnswer.lifetime)
    }

    func latestAnswer() throws -> Int? {
        try db.first("SELECT max(at) FROM answer WHERE \(StoredNumber.time.condition("at"))") { $0.optionalInt(0) }
            ?? nil
    }

    func answer(to key: String, by requester: String, of session: Int, now: Int) throws -> KeptAnswer? {
        try db.first(
            "SELECT at, request, answer FROM answer WHERE session = ? AND requester = ? AND key = ? AND at > ?",
            session, requester, key, now - KeptAnswer.lifetime
        ) {
            try KeptAnswer($0, key: key, requester: requester, session: session)
        }
    }
}
