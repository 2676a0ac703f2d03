// SQLite's C interface, and functions for the parts of it that Swift cannot import: a variadic function and a macro
// with a cast.
#include <sqlite3.h>

/// Calls `sqlite3_db_config` for an option that has one integer argument.
static inline int csqlite_set(sqlite3 *connection, int option, int value) {
    return sqlite3_db_config(connection, option, value, (int *)0);
}

/// Calls `sqlite3_bind_text64` with a text in UTF-8. SQLite copies the bytes (`SQLITE_TRANSIENT`). For an empty text,
/// `bytes` may be a null pointer, which this function replaces, because SQLite would bind NULL.
static inline int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes ? (const char *)bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Calls `sqlite3_bind_blob64`. SQLite copies the bytes (`SQLITE_TRANSIENT`). For an empty blob, `bytes` may be a null
/// pointer, which this function replaces, because SQLite would bind NULL.
static inline int csqlite_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}
