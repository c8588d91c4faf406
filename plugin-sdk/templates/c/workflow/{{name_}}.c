/* {{Name}}: a proposer says what to do, a player sees that and acts. */

#include "sdk/troupe.h"

#include <string.h>

/* What a session remembers; texts are kept by `keep`. */
struct Session {
  int turns;
};

static const Seat PROPOSER = {"proposer", 0}, PLAYER = {"player", 0};

static const Role ROLES[] = {
    {.name = "proposer",
     .summary = "Proposes what to do.",
     .task = "Propose what the player should do.",
     .message = "proposer {observation}",
     .acts = true},
    {.name = "player",
     .summary = "Sees the proposal and acts.",
     .task = "Act. A proposal stands after the word `proposal`; follow it unless "
             "it is wrong.",
     .message = "player {observation} proposal {proposal}",
     .acts = true},
    {0}};

static void begun(Session *session, const View *views, Step *step) {
  session->turns++;
  keep(session, "seen", seen_by(views, PLAYER));
  /* What a proposal is worth shows only once the player has acted. */
  ask_open(step, PROPOSER, FIELDS({"observation", seen_by(views, PROPOSER)}));
}

static void replied(Session *session, const Reply *reply, Step *step) {
  if (!strcmp(reply->seat.role, PLAYER.role)) {
    let_act(step, reply->seat, reply->said);
    return;
  }
  const char *line = strrchr(reply->said, '\n');
  ask(step, PLAYER,
      FIELDS({"observation", kept(session, "seen")},
             {"proposal", line ? line + 1 : reply->said}));
}

static void acted(Session *session, const Consequence *seen, Step *step) {
  if (seen->status == ONGOING) begun(session, seen->views, step);
  else finish(step);
}

static const Workflow workflow = {
    .name = "{{name}}", .version = "0.1.0",
    .summary = "A proposer and a player.",
    .roles = ROLES,
    .is_reusable = true, /* nothing is kept outside of the session */
    .begun = begun, .replied = replied, .acted = acted,
};

TROUPE_WORKFLOW(workflow)
