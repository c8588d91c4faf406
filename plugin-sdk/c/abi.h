/* The contract's types as the canonical ABI lays them out: on a machine with
 * pointers of 32 bits these are the structs that C would make of them. */

#ifndef TROUPE_ABI_H
#define TROUPE_ABI_H

#include "plugin.h"

/* A string (with a zero behind it: see cabi_realloc) or a list. */
typedef struct {
  const void *start;
  size_t count;
} AbiList;

typedef struct {
  AbiList role;
  uint32_t instance;
} AbiSeat;

typedef struct {
  uint8_t is_some;
  AbiSeat seat;
} AbiMaybeSeat;

typedef struct {
  uint8_t is_some;
  AbiList list;
} AbiMaybeList;

typedef struct {
  uint8_t type; /* integer, number, flag, text */
  union {
    int32_t integer;
    double number;
    uint8_t flag;
    AbiList text;
  };
} AbiValue;

typedef struct {
  AbiList name;
  AbiValue value;
} AbiConfigured;

typedef struct {
  AbiList name, summary;
  uint8_t domain; /* integer, number, flag, choice, text */
  union {
    int32_t integers[2];
    double numbers[2];
    AbiList words;
  };
  AbiValue initial;
} AbiSetting;

typedef struct {
  AbiList first, second; /* an action kind, an action, an extra */
} AbiPair;

typedef struct {
  uint8_t has_memory;
  uint32_t memory_mib;
  uint8_t has_fuel;
  double fuel;
} AbiNeeds;

typedef struct {
  AbiList name, version, summary, settings, actions, workflows;
  AbiNeeds needs;
  AbiList extras;
} AbiEnvironment;

typedef struct {
  AbiList name, version, summary, settings, actions;
  AbiNeeds needs;
  AbiList extras;
} AbiWorkflow;

typedef struct {
  uint8_t fault;
  AbiList message;
} AbiProblem;

typedef struct {
  AbiSeat seat;
  AbiPair action;
} AbiMove;

typedef struct {
  uint8_t accepted;
  AbiList feedback;
} AbiEffect;

typedef struct {
  uint8_t to; /* team, mover, seat */
  union {
    uint32_t mover;
    AbiSeat seat;
  };
  AbiList name;
  double value;
} AbiAward;

typedef struct {
  uint8_t is_image;
  AbiList text;
  AbiList data, description; /* of an image */
} AbiPart;

typedef struct {
  AbiMaybeSeat seat;
  AbiList parts;
} AbiView;

typedef struct {
  AbiMaybeSeat seat;
  AbiList text;
} AbiRules;

typedef struct {
  AbiSeat seat;
  uint8_t accepted;
  AbiList feedback;
} AbiMoveResult;

typedef struct {
  AbiList name, summary;
  uint32_t seats;
} AbiRole;

typedef struct {
  uint8_t author; /* system, user */
  AbiList parts;
} AbiMessage;

typedef struct {
  AbiSeat seat;
  AbiList messages, tools, thread;
  uint8_t has_caller;
  uint32_t caller;
  uint8_t is_open;
  AbiMaybeList situation;
} AbiRequest;

typedef struct {
  uint32_t answer;
  AbiList name;
  double value;
  uint8_t is_last;
} AbiCredit;

/* A result: a problem, or what the case says. */
typedef struct {
  uint8_t is_problem;
  union {
    AbiProblem problem;
    const void *resource;
    AbiList list;
    AbiMaybeList maybe;
    struct {
      uint8_t is_some;
      AbiPair action;
    } action;
    struct {
      AbiList vocabulary;
      uint32_t max_turns;
      uint8_t is_private, needs_records;
      AbiList extras;
    } configuration;
    struct {
      AbiList effects, awards;
      uint8_t status;
    } outcome;
    struct {
      AbiList text, svg;
    } drawing;
    struct {
      AbiList roles, vocabulary, extras;
    } roles;
    struct {
      AbiList credits;
      uint8_t directive; /* ask, act, call, wait, finish */
      AbiList entries;
    } step;
  };
} AbiResult;

#endif
