#pragma once
#include <sqlite3.h>

// What Swift cannot import: a variadic function, and the destructors that are casts of numbers.

/// Turns off what a hostile schema could use: writable_schema, triggers, views, double-quoted strings, untrusted functions,
/// extensions. SQLITE_OK, or the first failure.
static inline int csqlite_harden(sqlite3 *db) {
    static const int settings[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},     {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (unsigned i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        int code = sqlite3_db_config(db, settings[i][0], settings[i][1], (int *)0);
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

/// Binds a copy of `count` bytes; no bytes are an empty value, not NULL.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                      : sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, int count) {
    return sqlite3_bind_text(statement, index, bytes, count, SQLITE_TRANSIENT);
}
