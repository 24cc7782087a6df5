"""A Hermes that loads the shim, knows the hooks that it is told, and does what it reads on standard input."""
import importlib.util
import json
import os
import sys
import time
import types

folder, hooks, patience = sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3])
plugins = types.ModuleType("hermes_cli.plugins")
plugins.VALID_HOOKS = set(hooks)
sys.modules.update({"hermes_cli": types.ModuleType("hermes_cli"), "hermes_cli.plugins": plugins})


class Context:
    def __init__(self):
        self.hooks, self.middleware = {}, {}

    def register_hook(self, name, callback):
        self.hooks[name] = callback

    def register_middleware(self, kind, callback):
        self.middleware[kind] = callback


spec = importlib.util.spec_from_file_location(
    "shim", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
)
shim = importlib.util.module_from_spec(spec)
sys.modules["shim"] = shim
spec.loader.exec_module(shim)
if patience > 0:
    shim.END_SECONDS = shim.EXIT_SECONDS = shim.receiver.ANSWER_SECONDS = shim.guards.ASK_SECONDS = patience
context = Context()
shim.register(context)


def fire(hook, **payload):
    given = context.hooks[hook](**payload)
    assert given is None, given


def ask(name, **payload):
    return {**context.hooks, **context.middleware}[name](**payload)


def drained():
    shim.receiver.sender().drain(60)


exec(compile(sys.stdin.read(), "scenario", "exec"))
