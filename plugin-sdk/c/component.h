/* What a component exports, by the names of the canonical ABI; natively nothing.
 * troupe.h includes this. */

#ifndef __wasm__

#define TROUPE_EXPORT_ENVIRONMENT
#define TROUPE_EXPORT_RENDERING
#define TROUPE_EXPORT_WORKFLOW

#else

/* A function, what it calls, and what the host calls when it has read the result. */
#define TROUPE_EXPORT(interface, function, name, call, ...)                            \
  __attribute__((export_name("troupe:plugin/" interface "@0.2.0#" function)))          \
  const void *troupe_##name(__VA_ARGS__) { return call; }                              \
  __attribute__((export_name("cabi_post_troupe:plugin/" interface "@0.2.0#" function))) \
  void troupe_##name##_read(void *result) { (void)result; troupe_call_over(); }

#define TROUPE_END(interface, resource, name, call)                                    \
  __attribute__((export_name("troupe:plugin/" interface "@0.2.0#[dtor]" resource)))    \
  void troupe_##name(void *self) { call; }

void troupe_call_over(void);

#define TROUPE_E "environment"
#define TROUPE_SIZE(name) __attribute__((unused)) size_t name
#define TROUPE_SEAT const char *role, TROUPE_SIZE(role_size), uint32_t instance
#define TROUPE_EXPORT_ENVIRONMENT                                                      \
  TROUPE_EXPORT(TROUPE_E, "describe", e_describe, abi_describe(), void)                       \
  TROUPE_EXPORT(TROUPE_E, "configure", e_configure, abi_configure(settings, count),           \
                const void *settings, size_t count)                                    \
  TROUPE_EXPORT(TROUPE_E, "[static]episode.start", e_start,                                   \
                abi_start(split, seed, settings, count, seats, seat_count,             \
                          has_entry ? entry : (void *)0),                              \
                uint32_t split, uint32_t seed, const void *settings, size_t count,     \
                const void *seats, size_t seat_count, uint32_t has_entry,              \
                const char *entry, TROUPE_SIZE(entry_size))                                  \
  TROUPE_EXPORT(TROUPE_E, "[method]episode.rules", e_rules,                                   \
                abi_rules(self, role, instance), void *self, TROUPE_SEAT)                     \
  TROUPE_EXPORT(TROUPE_E, "[method]episode.observe", e_observe,                               \
                abi_observe(self, role, instance), void *self, TROUPE_SEAT)                   \
  TROUPE_EXPORT(TROUPE_E, "[method]episode.act", e_act, abi_act(self, moves, count),          \
                void *self, const void *moves, size_t count)                           \
  TROUPE_EXPORT(TROUPE_E, "[method]episode.demonstrate", e_demonstrate,                       \
                abi_demonstrate(self, role, instance), void *self, TROUPE_SEAT)               \
  TROUPE_EXPORT(TROUPE_E, "[method]episode.reveal", e_reveal, abi_reveal(self), void *self)   \
  TROUPE_EXPORT(TROUPE_E, "[method]episode.save", e_save, abi_save(self), void *self)         \
  TROUPE_EXPORT(TROUPE_E, "[static]episode.resume", e_resume, abi_resume(state, size),        \
                char *state, size_t size)                                              \
  TROUPE_END(TROUPE_E, "episode", e_end, abi_end(self))

const void *abi_describe(void);
const void *abi_configure(const void *settings, size_t count);
const void *abi_start(uint32_t split, uint32_t seed, const void *settings, size_t count,
                      const void *seats, size_t seat_count, const char *entry);
const void *abi_rules(void *self, const char *role, uint32_t instance);
const void *abi_observe(void *self, const char *role, uint32_t instance);
const void *abi_act(void *self, const void *moves, size_t count);
const void *abi_demonstrate(void *self, const char *role, uint32_t instance);
const void *abi_reveal(void *self);
const void *abi_save(void *self);
const void *abi_resume(char *state, size_t size);
void abi_end(void *self);

#define TROUPE_EXPORT_RENDERING                                                        \
  TROUPE_EXPORT("rendering", "render", render, abi_render(state, size), char *state,   \
                size_t size)

const void *abi_render(char *state, size_t size);

#define TROUPE_W "workflow"
#define TROUPE_EXPORT_WORKFLOW                                                         \
  TROUPE_EXPORT(TROUPE_W, "describe", w_describe, abi_w_describe(), void)                     \
  TROUPE_EXPORT(TROUPE_W, "configure", w_configure,                                           \
                abi_w_configure(settings, count, kinds, kind_count),                   \
                const void *settings, size_t count, const void *kinds,                 \
                size_t kind_count)                                                     \
  TROUPE_EXPORT(TROUPE_W, "[static]session.start", w_start,                                   \
                abi_w_start(environment, rules, rule_count, kinds, kind_count,         \
                            settings, count, turns, is_revealed ? revealed : (void *)0), \
                const char *environment, TROUPE_SIZE(environment_size), const void *rules,   \
                size_t rule_count, const void *kinds, size_t kind_count,               \
                const void *settings, size_t count, uint32_t turns,                    \
                __attribute__((unused)) const void *tools, TROUPE_SIZE(tool_count), \
                uint32_t is_revealed, const char *revealed,         \
                TROUPE_SIZE(revealed_size))                                                  \
  TROUPE_EXPORT(TROUPE_W, "[method]session.advance", w_advance,                               \
                abi_advance(self, event, (const uint32_t[]){a, b, c, d, e, f, g, h, i}), \
                void *self, uint32_t event, uint32_t a, uint32_t b, uint32_t c,        \
                uint32_t d, uint32_t e, uint32_t f, uint32_t g, uint32_t h, uint32_t i) \
  TROUPE_EXPORT(TROUPE_W, "[method]session.demonstrate", w_demonstrate,                       \
                abi_w_demonstrate(self, role, instance, kind, text), void *self, TROUPE_SEAT, \
                const char *kind, TROUPE_SIZE(kind_size), const char *text,                  \
                TROUPE_SIZE(text_size))                                                      \
  TROUPE_EXPORT(TROUPE_W, "[method]session.save", w_save, abi_w_save(self), void *self)       \
  TROUPE_EXPORT(TROUPE_W, "[static]session.resume", w_resume, abi_w_resume(state, size),      \
                char *state, size_t size)                                              \
  TROUPE_END(TROUPE_W, "session", w_end, abi_w_end(self))

const void *abi_w_describe(void);
const void *abi_w_configure(const void *settings, size_t count, const void *kinds,
                            size_t kind_count);
const void *abi_w_start(const char *environment, const void *rules, size_t rule_count,
                        const void *kinds, size_t kind_count, const void *settings,
                        size_t count, uint32_t turns, const char *revealed);
const void *abi_advance(void *self, uint32_t event, const uint32_t *payload);
const void *abi_w_demonstrate(void *self, const char *role, uint32_t instance,
                              const char *kind, const char *text);
const void *abi_w_save(void *self);
const void *abi_w_resume(char *state, size_t size);
void abi_w_end(void *self);

#endif
