import BraidEngine
import BraidHTTP

/// Returns the routes that set, show and remove the faults of a server in test mode.
func faultRoutes(_ faults: Faults) -> [Route] {
    [
        Route.inMemory("GET", "/v1/test/faults", for: .role(.controller)) { _ in .json { faults.write(to: &$0) } }
    ]
}
