import Testing

@testable import BraidServer

@Suite struct MetricsTests {
    @Test("The answers of a route are counted by their status, for successes and for every problem")
    func statuses() {
        for status in [200, 201, 204, 304] + Problem.allCases.map(\.status) {
            let counters = RouteCounters(method: "GET", template: "/v1/sessions/{id}/snapshot")
            counters.count(status: status, nanoseconds: 1)
            #expect(counters.answers.map(\.status) == [status])
        }
    }

    @Test("A status that the server does not use counts as another status", arguments: [418, 599, 999])
    func otherStatuses(status: Int) {
        let counters = RouteCounters(method: "GET", template: "/v1/tables")
        counters.count(status: status, nanoseconds: 1)
        #expect(counters.answers.map(\.status) == [0])
    }
}
