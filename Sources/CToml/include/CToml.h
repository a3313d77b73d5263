// A C face of toml++: a text in, a flat list of its values out. Nothing here throws, and nothing keeps state.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Why a text is not a document.
enum ct_error {
    CT_OK = 0,
    /// Not TOML at the place that is given.
    CT_SYNTAX = 1,
    /// The text ends within a value, a key or a header.
    CT_UNEXPECTED_END = 2,
    /// A key or a table is there already.
    CT_DUPLICATE = 3,
    /// Tables and arrays lie too deep in one another.
    CT_TOO_DEEP = 4,
    /// Bytes that are not UTF-8.
    CT_ENCODING = 5,
    /// What is not TOML there, where toml++ says it in words that are known.
    CT_KEY_EXPECTED = 10,
    CT_EQUALS_EXPECTED = 11,
    CT_VALUE_EXPECTED = 12,
    CT_LINE_END_EXPECTED = 13,
    CT_ARRAY_CONTINUATION = 14,
    CT_TABLE_CONTINUATION = 15,
    CT_HEADER_END_EXPECTED = 16,
    CT_ESCAPE = 17,
    CT_CONTROL_CHARACTER = 18,
    CT_NUMBER = 19,
    CT_TIME = 20,
};

enum ct_kind {
    CT_STRING = 1,
    CT_INTEGER = 2,
    CT_REAL = 3,
    CT_BOOLEAN = 4,
    /// A date with a time and an offset; `text` is RFC 3339.
    CT_MOMENT = 5,
    /// A date or a time that does not say where on earth it is.
    CT_LOCAL_TIME = 6,
    CT_ARRAY = 7,
    CT_TABLE = 8,
};

/// A value, in the order of a walk from the root: its children follow it, `end` is the index after the last of them.
struct ct_node {
    int kind;
    int boolean;
    uint32_t line, column;
    uint32_t key_line, key_column;
    /// UTF-8, not ended by NUL; NULL where the parent is an array.
    const char *key;
    size_t key_length;
    const char *text;
    size_t text_length;
    int64_t integer;
    double real;
    size_t end;
};

struct ct_document;

/// Reads `length` bytes; what comes back must be given to ct_free.
struct ct_document *ct_parse(const char *bytes, size_t length);
/// CT_OK, or what was wrong and where (from 1; 0 where it is not known).
int ct_document_error(const struct ct_document *document, uint32_t *line, uint32_t *column);
/// The values; the root, a table, is the first. They live as long as the document.
const struct ct_node *ct_document_nodes(const struct ct_document *document, size_t *count);
void ct_free(struct ct_document *document);

#ifdef __cplusplus
}
#endif
