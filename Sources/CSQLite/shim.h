// What Swift cannot import of SQLite: a variadic function, casts, and the table of system calls.
#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>

static inline int csqlite_set(sqlite3 *connection, int option, int value) {
    return sqlite3_db_config(connection, option, value, (int *)0);
}

/// For an empty text, `bytes` may be null, for which SQLite itself would bind NULL.
static inline int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes ? (const char *)bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// As `csqlite_bind_text_copy`.
static inline int csqlite_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

static inline ssize_t csqlite_full(ssize_t written) {
    if (written < 0 && (errno == EDQUOT || errno == EFBIG)) errno = ENOSPC;
    return written;
}
static ssize_t csqlite_write_full(int file, const void *bytes, size_t count) {
    return csqlite_full(write(file, bytes, count));
}
static ssize_t csqlite_pwrite_full(int file, const void *bytes, size_t count, off_t offset) {
    return csqlite_full(pwrite(file, bytes, count, offset));
}

/// Before the first connection: makes SQLite report a write beyond a disk quota or the largest file size as
/// SQLITE_FULL, after which it rolls back. It knows only ENOSPC, and its error number of other failures may be a later
/// call's (https://sqlite.org/c3ref/vfs.html, xSetSystemCall).
static inline void csqlite_report_full_disk(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find((const char *)0);
    if (!vfs || vfs->iVersion < 3) return;
    vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)csqlite_write_full);
    vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)csqlite_pwrite_full);
    vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)csqlite_pwrite_full);
}
