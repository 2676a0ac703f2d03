// SQLite's C interface, and what Swift cannot import of it: a variadic function and two macros with casts.
#include <sqlite3.h>

/// `sqlite3_db_config` for the options that have one integer argument.
static inline int csqlite_set(sqlite3 *connection, int option, int value) {
    return sqlite3_db_config(connection, option, value, (int *)0);
}

/// `sqlite3_bind_text64` in UTF-8. SQLite copies the bytes (`SQLITE_TRANSIENT`).
static inline int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, (const char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// `sqlite3_bind_blob64`. SQLite copies the bytes (`SQLITE_TRANSIENT`).
static inline int csqlite_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
