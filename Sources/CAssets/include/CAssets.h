#ifndef CASSETS_H
#define CASSETS_H

// The files of the repository that the server's binary contains.
#include <stddef.h>

#pragma clang assume_nonnull begin

/// A file's name and content. The name and the content stay in memory until the process ends.
struct cassets_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
} __attribute__((swift_attr("@Sendable")));

/// The file `schema.sql`, which contains the schema of the SQLite database.
extern const struct cassets_file cassets_schema;
/// The file `schema-postgres.sql`, which contains the schema of the PostgreSQL database.
extern const struct cassets_file cassets_schema_postgres;
/// `docs/openapi.json`.
extern const struct cassets_file cassets_openapi;
/// `docs/problems.json`.
extern const struct cassets_file cassets_problems;
/// The files in the folder `Web/`. Their names are their paths in this folder.
extern const struct cassets_file *const cassets_web;
extern const size_t cassets_web_count;

#pragma clang assume_nonnull end

#endif
