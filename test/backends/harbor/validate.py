"""Has harbor's own validator judge trajectories, one JSON document a line on standard input.

Prints one JSON list: for each document, the faults that were found.
"""

import importlib.util
import json
import pathlib
import sys
import types

# Only the models and the validator are loaded: the packages above them load what is not installed.
base = pathlib.Path(importlib.util.find_spec("harbor").submodule_search_locations[0])
for name, path in [("harbor", base), ("harbor.models", base / "models"), ("harbor.utils", base / "utils")]:
    module = types.ModuleType(name)
    module.__path__ = [str(path)]
    sys.modules[name] = module

from harbor.utils.trajectory_validator import TrajectoryValidator  # noqa: E402


def faults(document):
    validator = TrajectoryValidator()
    return [] if validator.validate(document) else [str(error) for error in validator.errors] or ["refused"]


print(json.dumps([faults(json.loads(line)) for line in sys.stdin if line.strip()]))
