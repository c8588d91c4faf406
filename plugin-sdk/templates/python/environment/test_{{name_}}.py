"""The rules, natively: `python3 -m unittest`."""

import unittest

from {{name_}} import {{Name}}
from troupe_plugin.testing import check_environment, play


class Rules(unittest.TestCase):
    def test_a_guess_narrows_what_is_left(self):
        episode = play({{Name}}, seed=3)
        secret = episode.environment.secret
        self.assertTrue(episode.act(str(secret)).is_accepted)
        self.assertFalse(play({{Name}}).act("seven").is_accepted)

    def test_it_keeps_the_contract(self):
        check_environment({{Name}})
