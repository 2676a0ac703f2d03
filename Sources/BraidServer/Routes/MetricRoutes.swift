import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

/// `requests`: those being answered.
func metricsRoute(
    _ metrics: Metrics, sessions: SessionHost, health: StoreHealth, requests: Quota, limits: ServerLimits,
    log: LogLines?
) -> Route {
    let text = SharedText {
        var text = PrometheusText()
        async let condition = try? health.condition()
        async let size = try? health.size()
        text.write(requests: metrics.routes)
        text.write(requests: requests, bodies: limits.bodies, answers: sessions.streams.buffers)
        text.write(sessions.metrics.commands)
        text.write(
            sessions.statistics, maximum: limits.subscribers, behind: sessions.metrics.streamsBehind.value)
        text.write(sessions.presence)
        text.write(sharing: sessions.metrics)
        text.write(sessions.store.statistics, condition: await condition)
        // If the query fails, only its metrics are missing.
        if let size = await size { text.write(size, maximum: limits.sessions) }
        if let connections = metrics.connections.withLock({ $0 })?() { text.write(connections) }
        text.single(
            "braid_log_lines_dropped_total", .counter,
            "Log lines dropped because stderr was full or could not be written.", log?.dropped ?? 0)
        text.write(ProcessStatistics(), start: metrics.start)
        return Array(text.text.utf8)
    }
    return Route(
        "GET", "/metrics", for: .everyone, isProbe: true, produces: PrometheusText.mediaType,
        pool: Workers.shared.probes
    ) { _ in
        HTTPResponse(
            status: 200, headers: [("Content-Type", PrometheusText.contentType), ("Cache-Control", "no-store")],
            body: .shared(await text.bytes()))
    }
}

extension PrometheusText {
    fileprivate mutating func write(requests routes: [RouteCounters]) {
        let series = routes.map { ([("method", $0.method), ("route", $0.template)], $0) }
        family(
            "braid_http_requests_total", .counter,
            "Requests answered, by route and status; without a route: unknown paths and methods, and bytes that are not HTTP."
        )
        for (labels, counters) in series {
            for (status, count) in counters.answers {
                sample("braid_http_requests_total", labels + [("status", status == 0 ? "other" : "\(status)")], count)
            }
        }
        family(
            "braid_http_request_duration_seconds", .histogram,
            "The time from a complete request until its answer is ready to be sent, by route. Long polls included.")
        for (labels, counters) in series {
            let seconds = counters.seconds
            if seconds.count > 0 { histogram("braid_http_request_duration_seconds", labels, seconds) }
        }
    }

    fileprivate mutating func write(_ commands: CommandCounters) {
        family("braid_commands_total", .counter, "Commands, by kind and outcome.")
        for (kind, outcome, count) in commands.all {
            sample("braid_commands_total", [("kind", kind), ("outcome", outcome.rawValue)], count)
        }
    }

    fileprivate mutating func write(requests: Quota, bodies: Quota, answers: Quota) {
        single(
            "braid_http_requests_in_progress", .gauge,
            "Requests that are being answered, without probes, observe, streams and long polls.", requests.taken)
        single(
            "braid_http_requests_in_progress_max", .gauge, "Requests that may be answered at the same time.",
            requests.limit)
        family("braid_buffered_bytes", .gauge, "Memory in use for request bodies and for large answers.")
        sample("braid_buffered_bytes", [("of", "bodies")], bodies.taken)
        sample("braid_buffered_bytes", [("of", "answers")], answers.taken)
        family("braid_buffered_bytes_max", .gauge, "Memory that may be used for request bodies and for large answers.")
        sample("braid_buffered_bytes_max", [("of", "bodies")], bodies.limit)
        sample("braid_buffered_bytes_max", [("of", "answers")], answers.limit)
    }

    fileprivate mutating func write(_ sessions: SessionHost.Statistics, maximum: Int, behind: Int) {
        single("braid_sessions_in_memory", .gauge, "Sessions that are held in memory.", sessions.inMemory)
        family("braid_subscribers", .gauge, "Open event streams and waiting long polls.")
        sample("braid_subscribers", [("by", "stream")], sessions.streams)
        sample("braid_subscribers", [("by", "poll")], sessions.polls)
        single(
            "braid_subscribers_max", .gauge, "Event streams and long polls that may be open at the same time.", maximum)
        single(
            "braid_subscribers_behind_total", .counter,
            "Times that a stream fell behind the session; the reader got the missed updates from memory, or else a snapshot.",
            behind)
    }

    fileprivate mutating func write(_ presence: Presence) {
        single("braid_presence", .gauge, "Clients that are present in sessions.", presence.count)
        single(
            "braid_presence_events_total", .counter, "Events that told streams who is present.",
            presence.eventsSent.value)
    }

    fileprivate mutating func write(sharing metrics: SessionMetrics) {
        single(
            "braid_commit_races_lost_total", .counter,
            "Commits that lost a race to another server on the same database; each was tried again.",
            metrics.lostRaces.value)
        single(
            "braid_revisions_of_others_total", .counter,
            "Revisions that other servers on the same database committed and this server replayed.",
            metrics.revisionsOfOthers.value)
    }

    fileprivate mutating func write(_ store: StoreStatistics, condition: StoreCondition?) {
        single(
            "braid_database_up", .gauge, "1 if the database can be read, and written unless its disk is full; else 0.",
            condition == nil ? 0 : 1)
        single(
            "braid_database_read_only", .gauge, "1 if the disk is full, so that the server only reads and deletes.",
            condition == .full ? 1 : 0)
        family("braid_commit_duration_seconds", .histogram, "Database transactions, their flush to disk included.")
        histogram("braid_commit_duration_seconds", [], store.commitSeconds)
        family("braid_commit_group_size", .histogram, "Writes that shared a transaction.")
        histogram("braid_commit_group_size", [], store.groupSizes)
        single(
            "braid_commit_failures_total", .counter,
            "Writes that failed because of the database: its disk, a lock, a lost connection and others.",
            store.failures)
    }

    fileprivate mutating func write(_ size: StoreSize, maximum: Int) {
        single("braid_sessions", .gauge, "Sessions in the database.", size.sessions)
        single("braid_sessions_max", .gauge, "Sessions that the database may contain.", maximum)
        single("braid_database_bytes", .gauge, "Length of the database.", size.bytes)
        single("braid_database_log_bytes", .gauge, "Length of the database's write-ahead log.", size.logBytes)
        guard let disk = size.disk else { return }
        single("braid_database_disk_bytes", .gauge, "Size of the file system with the database.", disk.size)
        single("braid_database_disk_free_bytes", .gauge, "Free bytes of this file system.", disk.free)
    }

    fileprivate mutating func write(_ connections: HTTPConnections) {
        single("braid_http_connections", .gauge, "Open connections, without reserved ones.", connections.open)
        single(
            "braid_http_connections_max", .gauge, "Connections that may be open at a time, without reserved ones.",
            connections.maximum)
        single(
            "braid_http_connections_refused_total", .counter,
            "Requests refused because all connections were in use.", connections.refused)
        single("braid_http_connections_total", .counter, "Connections accepted.", connections.accepted)
        single(
            "braid_http_connections_stalled_total", .counter,
            "Connections closed because the client read nothing of its answer for too long.", connections.stalled)
        single(
            "braid_subscribers_dropped_total", .counter,
            "Of these, streamed answers: event streams, large snapshots and journals.", connections.stalledStreams)
    }

    fileprivate mutating func write(_ process: ProcessStatistics, start: Double) {
        family("braid_build_info", .gauge, "1, with the version as a label.")
        sample("braid_build_info", [("version", App.version)], 1)
        single("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.", start)
        if let seconds = process.cpuSeconds {
            single("process_cpu_seconds_total", .counter, "Processor time, of the user and of the system.", seconds)
        }
        if let bytes = process.residentBytes {
            single("process_resident_memory_bytes", .gauge, "Memory in use.", bytes)
        }
        if let bytes = process.virtualBytes { single("process_virtual_memory_bytes", .gauge, "Address space.", bytes) }
        if let count = process.openDescriptors { single("process_open_fds", .gauge, "Open file descriptors.", count) }
        if let count = process.maxDescriptors {
            single("process_max_fds", .gauge, "File descriptors that may be open.", count)
        }
    }
}
