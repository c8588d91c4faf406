/* Who is told what, natively. */

#include "sdk/testing.h"

int main(void) {
  Talk *talk = begin_talk("Open it.", "do", NULL);
  const Step *step = hears_begun(&talk, "a door");
  EXPECT_TEXT(step->requests[0].told, "proposer a door");
  step = hears_reply(&talk, "proposer", "<think>hm</think>I would say:\npush it");
  EXPECT_TEXT(step->requests[0].told, "player a door proposal push it");
  step = hears_reply(&talk, "player", "open");
  EXPECT_TEXT(step->moves[0].action.text, "open");
  step = hears_outcome(&talk, "an open door", SOLVED);
  EXPECT(step->todo == FINISH);
  return 0;
}
