import BraidEngine
internal import GRDB

// Answers kept for clients that ask again.
extension Database {
    func keep(_ answer: KeptAnswer) throws {
        try run(
            "INSERT OR REPLACE INTO answer (session, key, at, request, answer) VALUES (?, ?, ?, ?, ?)",
            answer.session, answer.key, answer.at, answer.request, answer.answer)
        // A few at a time: more go than come, and no commit waits for a long delete.
        try run(
            "DELETE FROM answer WHERE (session, key) IN (SELECT session, key FROM answer WHERE at <= ? ORDER BY at LIMIT 4)",
            answer.at - KeptAnswer.lifetime)
    }

    func answer(to key: String, of session: Int, now: Int) throws -> KeptAnswer? {
        try first(
            "SELECT at, request, answer FROM answer WHERE session = ? AND key = ? AND at > ?", session, key, now - KeptAnswer.lifetime
        ) {
            KeptAnswer(session: session, key: key, at: $0.int(0), request: $0.int(1), answer: try $0.json(2))
        }
    }
}
