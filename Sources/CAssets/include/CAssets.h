#ifndef CASSETS_H
#define CASSETS_H

// The files of the repository that the binary contains.
#include <stddef.h>

#pragma clang assume_nonnull begin

/// A file's name and content. The name and the content stay in memory until the process ends.
struct cassets_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
} __attribute__((swift_attr("@Sendable")));

/// `schema.sql`: the schema of SQLite.
extern const struct cassets_file cassets_schema;
/// `schema-postgres.sql`: the schema of PostgreSQL.
extern const struct cassets_file cassets_schema_postgres;
/// `docs/openapi.json`.
extern const struct cassets_file cassets_openapi;
/// The files in `Web/`, by their paths in the folder `Web/`.
extern const struct cassets_file *const cassets_web;
extern const size_t cassets_web_count;

#pragma clang assume_nonnull end

#endif
