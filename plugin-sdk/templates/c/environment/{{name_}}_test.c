/* The rules, natively. */

#include "sdk/testing.h"

int main(void) {
  check_environment(20, NULL);

  Episode *episode = begin(TRAIN, 1, NULL);
  EXPECT_TEXT(seen(episode), "above 0 below 101");
  EXPECT(does(episode, NULL, "seven")->awards[0].value == -0.1);
  /* Whichever way it is, one half is left. */
  does(episode, NULL, "So it is:\n**50**");
  EXPECT(expert(episode).text[0] == '2' || expert(episode).text[0] == '7');
  return 0;
}
