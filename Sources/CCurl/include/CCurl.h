// libcurl's variadic calls, each with the one type that Swift passes. Nothing here keeps state.
#pragma once
#include <curl/curl.h>

CURLcode cc_set_long(CURL *easy, CURLoption option, long value);
/// libcurl copies the text; NULL sets the option back to nothing.
CURLcode cc_set_text(CURL *easy, CURLoption option, const char *text);
/// The list stays the caller's and must live as long as the transfer.
CURLcode cc_set_list(CURL *easy, CURLoption option, struct curl_slist *list);
/// A curl_off_t.
CURLcode cc_set_size(CURL *easy, CURLoption option, curl_off_t size);

typedef size_t (*cc_bytes)(char *bytes, size_t size, size_t count, void *context);
/// What gets the body, what gets each header line, and what gives the request's body; all with the same context.
CURLcode cc_set_callbacks(CURL *easy, cc_bytes body, cc_bytes header, cc_bytes request, void *context);

CURLMcode cc_multi_set_callbacks(CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context);
CURLMcode cc_multi_set_long(CURLM *multi, CURLMoption option, long value);

/// A value that is a long; 0 when there is none.
long cc_info_long(CURL *easy, CURLINFO info);

/// Takes the next transfer that has ended: 1 with its handle and result, 0 when there is none.
int cc_next_done(CURLM *multi, CURL **easy, CURLcode *result);

/// A list node behind `last` (NULL: the first one) with a copy of the bytes.
struct curl_slist *cc_list_append(struct curl_slist *last, const char *bytes, size_t length);
/// Wipes and frees a list made by cc_list_append.
void cc_list_free(struct curl_slist *first);
