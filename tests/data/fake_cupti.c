/* A stand-in for libcupti: RESULT is what cuptiSubscribe gives; with MULTI it has cuptiSubscribe_v2. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static int subscribed = 0;

int cuptiGetVersion(uint32_t *version) { *version = 130000; return 0; }

int cuptiSubscribe(void **subscriber, void *callback, void *userdata) {
    if (!subscriber || !callback || subscribed) return 1;
    if (RESULT == 0) { subscribed = 1; *subscriber = &subscribed; }
    return RESULT;
}

int cuptiUnsubscribe(void *subscriber) {
    if (subscriber != &subscribed) return 1;
    subscribed = 0;
    return 0;
}

int cuptiGetResultString(int result, const char **text) {
    *text = result == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_UNKNOWN";
    return 0;
}

int still_subscribed(void) { return subscribed; }

#ifdef MULTI
struct parameters { size_t size; const char *name; char *old_name; size_t old_size; uint8_t allow_multiple; };

int cuptiSubscribe_v2(void **subscriber, void *callback, void *userdata, struct parameters *parameters) {
    if (parameters->size != offsetof(struct parameters, allow_multiple) + 1) return 1;
    if (parameters->allow_multiple || strcmp(parameters->name, "kernel-ledger probe")) return 1;
    if (MULTI == 0) { subscribed = 1; *subscriber = &subscribed; return 0; }
    strncpy(parameters->old_name, "CUPTI for Nsight Systems", parameters->old_size);
    return MULTI;
}
#endif
