"""Train teams of LLM agents, look at their runs, grade programs, play environments.

Everything is done by the program `host`, which lies in the same environment::

    import troupe

    with troupe.train("configs/plan-path/quickstart.toml", train={"steps": 10}) as training:
        for metrics in training:
            print(metrics["step"], metrics["timing"]["seconds"])
    run = training.run
    print(run.summary["after"]["success"])
"""

from .environment import Environment, Picture, StepResult, VoidEpisode
from .errors import ProgramError, RequestError, TroupeError
from .grader import Grader
from .program import call, find_program
from .run import Run
from .training import Training, train

__all__ = [
    "Environment",
    "Grader",
    "Picture",
    "ProgramError",
    "RequestError",
    "Run",
    "StepResult",
    "Training",
    "TroupeError",
    "VoidEpisode",
    "call",
    "find_program",
    "train",
]
