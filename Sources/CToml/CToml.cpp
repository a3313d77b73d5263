// Exceptions are off: toml++ then answers with a result. Its messages quote the text, so only their kind leaves this file.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// toml++ checks with assert() what a malformed text can make false, and goes on to report it as an error; an assertion would end
// the daemon for a typing error. With NDEBUG it would promise the same to the optimiser instead, which is no better.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
// Values within values; together with the limit on dots below it bounds the depth of every recursion over a document.
#define TOML_MAX_NESTED_VALUES 16
#include "CToml.h"
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

namespace {
// Deeper than any known key lies.
constexpr int depth_limit = 32;
// Each dot of a key is a table in a table; a line with more of them is no configuration, and would only cost stack.
constexpr size_t dots_in_line_limit = 512;

using std::string_view;

bool contains(string_view text, string_view part) { return text.find(part) != string_view::npos; }

bool begins(string_view text, string_view part) { return text.substr(0, part.size()) == part; }

// What toml++ was reading, and how its message begins: both are its own words, what was written stands behind them.
struct saying {
    string_view scope, message;
    int kind;
};
constexpr saying sayings[] = {
    {"", "expected bare key starting character or string delimiter", CT_KEY_EXPECTED},
    {"", "expected keys, tables, whitespace or comments", CT_KEY_EXPECTED},
    {"", "tables with blank bare keys", CT_KEY_EXPECTED},
    {"key-value pair", "expected '='", CT_EQUALS_EXPECTED},
    {"", "expected value, saw", CT_VALUE_EXPECTED},
    {"", "could not determine value type", CT_VALUE_EXPECTED},
    {"boolean", "", CT_VALUE_EXPECTED},
    {"", "expected a comment or whitespace", CT_LINE_END_EXPECTED},
    {"", "expected value-terminator", CT_LINE_END_EXPECTED},
    {"array", "expected", CT_ARRAY_CONTINUATION},
    {"inline table", "expected", CT_TABLE_CONTINUATION},
    {"table header", "expected ']'", CT_HEADER_END_EXPECTED},
    {"table header", "[[array-of-table]]", CT_HEADER_END_EXPECTED},
    {"", "unknown escape sequence", CT_ESCAPE},
    {"", "escape sequence", CT_ESCAPE},
    {"unicode scalar sequence", "", CT_ESCAPE},
    {"", "unescaped control characters", CT_CONTROL_CHARACTER},
    {"", "control characters", CT_CONTROL_CHARACTER},
    {"decimal integer", "", CT_NUMBER},
    {"hexadecimal integer", "", CT_NUMBER},
    {"octal integer", "", CT_NUMBER},
    {"binary integer", "", CT_NUMBER},
    {"floating-point", "", CT_NUMBER},
    {"hexadecimal floating-point", "", CT_NUMBER},
    {"date", "", CT_TIME},
    {"time", "", CT_TIME},
    {"date-time", "", CT_TIME},
    {"date-time offset", "", CT_TIME},
};

int classify_syntax(string_view description) {
    constexpr string_view prefix = "Error while parsing ", colon = ": ";
    if (!begins(description, prefix)) return CT_SYNTAX;
    description.remove_prefix(prefix.size());
    size_t end = description.find(colon);
    if (end == string_view::npos) return CT_SYNTAX;
    string_view scope = description.substr(0, end), message = description.substr(end + colon.size());
    for (const saying &each : sayings)
        if ((each.scope.empty() || each.scope == scope) && begins(message, each.message)) return each.kind;
    return CT_SYNTAX;
}

int classify(string_view description) {
    if (contains(description, "redefine")) return CT_DUPLICATE;
    if (contains(description, "TOML_MAX_NESTED_VALUES")) return CT_TOO_DEEP;
    if (contains(description, "utf-8") || contains(description, "UTF-8")) return CT_ENCODING;
    if (contains(description, "end-of-file") || contains(description, "saw EOF")) return CT_UNEXPECTED_END;
    return classify_syntax(description);
}
} // namespace

struct ct_document {
    toml::table root;
    std::vector<ct_node> nodes;
    // Texts that are made here: a deque never moves them.
    std::deque<std::string> texts;
    int error = CT_OK;
    uint32_t line = 0, column = 0;

    void fail(int kind, toml::source_position at) {
        error = kind;
        line = at.line;
        column = at.column;
    }

    string_view keep(std::string text) {
        texts.push_back(std::move(text));
        return texts.back();
    }

    static std::string rfc3339(const toml::date_time &moment) {
        char text[64];
        int offset = moment.offset ? moment.offset->minutes : 0;
        int magnitude = offset < 0 ? -offset : offset;
        snprintf(text, sizeof text, "%04u-%02u-%02uT%02u:%02u:%02u.%03u%c%02d:%02d", unsigned(moment.date.year),
                 unsigned(moment.date.month), unsigned(moment.date.day), unsigned(moment.time.hour),
                 unsigned(moment.time.minute), unsigned(moment.time.second),
                 unsigned(moment.time.nanosecond / 1000000), offset < 0 ? '-' : '+', magnitude / 60, magnitude % 60);
        return text;
    }

    void walk(const toml::node &value, const toml::key *key, int depth) {
        if (error != CT_OK) return;
        if (depth > depth_limit) return fail(CT_TOO_DEEP, value.source().begin);
        size_t index = nodes.size();
        ct_node node = {};
        node.line = value.source().begin.line;
        node.column = value.source().begin.column;
        if (key) {
            node.key = key->str().data();
            node.key_length = key->str().size();
            node.key_line = key->source().begin.line;
            node.key_column = key->source().begin.column;
        }
        string_view text;
        switch (value.type()) {
        case toml::node_type::string:
            node.kind = CT_STRING;
            text = value.as_string()->get();
            break;
        case toml::node_type::integer:
            node.kind = CT_INTEGER;
            node.integer = value.as_integer()->get();
            break;
        case toml::node_type::floating_point:
            node.kind = CT_REAL;
            node.real = value.as_floating_point()->get();
            break;
        case toml::node_type::boolean:
            node.kind = CT_BOOLEAN;
            node.boolean = value.as_boolean()->get();
            break;
        case toml::node_type::date_time: {
            const toml::date_time &moment = value.as_date_time()->get();
            node.kind = moment.is_local() ? CT_LOCAL_TIME : CT_MOMENT;
            if (!moment.is_local()) text = keep(rfc3339(moment));
            break;
        }
        case toml::node_type::array: node.kind = CT_ARRAY; break;
        case toml::node_type::table: node.kind = CT_TABLE; break;
        default: node.kind = CT_LOCAL_TIME; break;
        }
        node.text = text.data();
        node.text_length = text.size();
        nodes.push_back(node);
        if (const toml::array *array = value.as_array()) {
            for (const toml::node &element : *array) walk(element, nullptr, depth + 1);
        } else if (const toml::table *table = value.as_table()) {
            for (auto &&[name, member] : *table) walk(member, &name, depth + 1);
        }
        nodes[index].end = nodes.size();
    }
};

extern "C" ct_document *ct_parse(const char *bytes, size_t length) {
    auto document = new ct_document;
    uint32_t line = 1;
    size_t dots = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            line++;
            dots = 0;
        } else if (bytes[i] == '.' && ++dots > dots_in_line_limit) {
            document->error = CT_TOO_DEEP;
            document->line = line;
            return document;
        }
    }
    toml::parse_result result = toml::parse(string_view(bytes, length));
    if (!result) {
        document->fail(classify(result.error().description()), result.error().source().begin);
        return document;
    }
    document->root = std::move(result).table();
    document->walk(document->root, nullptr, 0);
    return document;
}

extern "C" int ct_document_error(const ct_document *document, uint32_t *line, uint32_t *column) {
    *line = document->line;
    *column = document->column;
    return document->error;
}

extern "C" const ct_node *ct_document_nodes(const ct_document *document, size_t *count) {
    *count = document->nodes.size();
    return document->nodes.data();
}

extern "C" void ct_free(ct_document *document) { delete document; }
