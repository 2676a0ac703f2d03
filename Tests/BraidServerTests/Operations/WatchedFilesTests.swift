import Testing

@testable import BraidServer

@Suite struct WatchedFilesTests {
    /// As when the server stops or the client disconnects.
    @Test("A wait for a change of the watched files ends when its task is cancelled")
    func cancelledWait() async {
        let files = WatchedFiles()
        let wait = Task { await files.waitForChange(of: 0, within: .seconds(86_400)) }
        wait.cancel()
        await wait.value
    }
}
