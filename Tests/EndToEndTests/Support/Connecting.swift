import Glibc

/// SOCK_CLOEXEC: a process of another test that inherits the socket would keep the connection open.
private let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

/// Reads wait at most `timeout` seconds.
func clientSocket(receiveBuffer: Int32?, timeout: Int) -> Int32 {
    let descriptor = socket(AF_INET, kind, 0)
    if var size = receiveBuffer {
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var time = timeval(tv_sec: timeout, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    return descriptor
}

/// `false`: `errno` says why. The caller closes the socket.
func connectToServer(_ descriptor: Int32, port: Int) -> Bool { connects(descriptor, to: localAddress(port: port)) }

/// `nil` if nobody accepts.
func connectedSocket(port: Int) -> Int32? { connectedSocket(AF_INET, to: localAddress(port: port)) }

/// `nil` if nobody accepts.
func connectedSocket(path: String) -> Int32? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return connectedSocket(AF_UNIX, to: address)
}

func localAddress(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
}

private func connectedSocket<Address: BitwiseCopyable>(_ family: Int32, to address: Address) -> Int32? {
    let descriptor = socket(family, kind, 0)
    if connects(descriptor, to: address) { return descriptor }
    close(descriptor)
    return nil
}

/// The address is of the socket's family: a `sockaddr_in`, for example.
private func connects<Address: BitwiseCopyable>(_ descriptor: Int32, to address: Address) -> Bool {
    withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
        }
    } == 0
}

/// Before a retry, as apps do.
func backOff() { usleep(5_000) }
