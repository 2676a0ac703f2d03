import BraidEngine
import BraidHTTP

/// Returns the routes that set, show and remove the faults of a server in test mode.
func faultRoutes(_ faults: Faults) -> [Route] {
    let path = "/v1/test/faults"
    return [
        Route("GET", path) { _ in .json(faults) },
        Route("PUT", path, takesBody: true) { context in
            try faults.replace(with: context.json())
            return .json(faults)
        },
        Route("DELETE", path) { _ in
            faults.reset()
            return HTTPResponse(status: 204)
        },
    ]
}
