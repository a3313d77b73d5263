#define _DEFAULT_SOURCE
#include "CCurl.h"
#include <stdlib.h>
#include <string.h>

CURLcode cc_set_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }
CURLcode cc_set_text(CURL *easy, CURLoption option, const char *text) { return curl_easy_setopt(easy, option, text); }
CURLcode cc_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(easy, option, list);
}
CURLcode cc_set_size(CURL *easy, CURLoption option, curl_off_t size) { return curl_easy_setopt(easy, option, size); }

CURLcode cc_set_callbacks(CURL *easy, cc_bytes body, cc_bytes header, cc_bytes request, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, request);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READDATA, context);
    return code;
}

CURLMcode cc_multi_set_callbacks(CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code;
}

CURLMcode cc_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

long cc_info_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

int cc_next_done(CURLM *multi, CURL **easy, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *easy = message->easy_handle;
        *result = message->data.result;
        return 1;
    }
    return 0;
}

struct curl_slist *cc_list_append(struct curl_slist *last, const char *bytes, size_t length) {
    struct curl_slist *node = malloc(sizeof *node);
    char *text = malloc(length + 1);
    if (!node || !text) abort();
    memcpy(text, bytes, length);
    text[length] = 0;
    node->data = text;
    node->next = NULL;
    if (last) last->next = node;
    return node;
}

void cc_list_free(struct curl_slist *first) {
    while (first) {
        struct curl_slist *next = first->next;
        explicit_bzero(first->data, strlen(first->data));
        free(first->data);
        free(first);
        first = next;
    }
}
