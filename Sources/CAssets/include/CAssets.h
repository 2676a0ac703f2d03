#ifndef CASSETS_H
#define CASSETS_H

// Files that the server's binary contains.
#include <stddef.h>

#pragma clang assume_nonnull begin

/// Stays in memory until the process ends.
struct cassets_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
} __attribute__((swift_attr("@Sendable")));

/// `schema.sql`.
extern const struct cassets_file cassets_schema;
/// `schema-postgres.sql`.
extern const struct cassets_file cassets_schema_postgres;
/// `docs/openapi.json`.
extern const struct cassets_file cassets_openapi;
/// `docs/problems.json`.
extern const struct cassets_file cassets_problems;
/// Named by their paths in `Web/`.
extern const struct cassets_file *const cassets_web;
extern const size_t cassets_web_count;

#pragma clang assume_nonnull end

#endif
