"""The order of turns, natively: `python3 -m unittest`."""

import unittest

from {{name_}} import {{Name}}
from troupe_plugin.testing import Guess, Stage, check_workflow


class Turns(unittest.TestCase):
    def test_the_player_sees_the_proposal_and_acts(self):
        answers = {"proposer": "50", "player": "51"}
        stage = Stage({{Name}}, Guess, Guess.task(seed=3))
        played = stage.play(lambda request: answers[request.seat.role])
        self.assertEqual(played.requests[1].messages[-1].text.split()[-2:], ["proposal", "50"])
        self.assertTrue(played.outcomes[0].is_accepted)

    def test_it_keeps_the_contract(self):
        check_workflow({{Name}}, Guess)
