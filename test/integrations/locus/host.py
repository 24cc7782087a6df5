"""A Locus without Locus: its events, and an agent that fires them as the loop of `locus-sdk` does.

Does what it reads on standard input, with a clock of its own.
"""
import asyncio
import importlib.util
import json
import os
import sys
from types import SimpleNamespace as Some

folder, patience = sys.argv[1], float(sys.argv[2])
spec = importlib.util.spec_from_file_location(
    "hookspan_locus", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
)
shim = importlib.util.module_from_spec(spec)
sys.modules["hookspan_locus"] = shim
spec.loader.exec_module(shim)
if patience > 0:
    shim.EXIT_SECONDS = shim.receiver.ANSWER_SECONDS = patience


class Clock:
    """In place of `time` in the shim: a second later with each look, or what is asked for."""

    now, step = 1_795_000_000.0, 0.001

    def time(self):
        self.now += self.step
        return self.now


clock = shim.time = Clock()


class State:
    def __init__(self, run_id, tool_executions=(), should_terminate=(False, None), errors=()):
        self.run_id, self.agent_id = run_id, None
        self.tool_executions, self.should_terminate, self.errors = tuple(tool_executions), should_terminate, errors


def call(name, call_id="", **arguments):
    return Some(name=name, id=call_id, arguments=arguments)


def said(content=None, *calls, usage=None, **more):
    return Some(message=Some(role=Some(value="assistant"), content=content, tool_calls=list(calls), tool_call_id=None),
                usage=usage or {"prompt_tokens": 10, "completion_tokens": 2}, stop_reason="stop", **more)


def recorded(asked, result=None, error=None, duration_ms=1.0, **more):
    return Some(tool_name=asked.name, tool_call_id=asked.id, arguments=asked.arguments, result=result, error=error,
                duration_ms=duration_ms, **more)


class Agent:
    """Fires hooks in the order of the loop; what a hook does to an event is as the loop would take it."""

    def __init__(self, *hooks, name="main", thread=None, **settings):
        own = Some(model="fake-1", base_url="http://model.local/v1", temperature=0.5, max_tokens=100)
        self.hooks, self._model = hooks, Some(config=own)
        self.config = Some(agent_id=None, tool_execution="concurrent", max_concurrency=10, **settings)
        self.name, self.thread = name, thread

    def run_sync(self):
        """What tells it from other objects with a configuration."""

    def context(self, run_id):
        info = Some(run_id=run_id, thread_id=self.thread, agent_name=self.name, metadata={})
        return Some(info=info, retry_events=[], cancel=Some(is_set=lambda: False))

    async def fire(self, hook, *given, run=None, **event):
        if event:
            given = (Some(run=run and run.info, _run_ctx=run, **event),)
        order = reversed(self.hooks) if "after" in hook else self.hooks
        for each in order:
            if hasattr(each, hook):
                await getattr(each, hook)(*given)
        return given[0]

    async def begin(self, run_id="r1", prompt="What is up?"):
        self.run, self.state = self.context(run_id), State(run_id)
        await self.fire("on_before_invocation", prompt, self.state)
        await self.fire("on_iteration_start", 0, self.state)

    async def ask(self, *answers):
        """One request; each answer but the last is not taken by a hook."""
        await self.fire("on_before_model_call", run=self.run, messages=[], tools=[])
        for answer in answers:
            await self.answer(answer)

    async def answer(self, answer, retry=False):
        return await self.fire("on_after_model_call", run=self.run, response=answer, messages=[], retry=retry)

    async def before(self, asked):
        return await self.fire("on_before_tool_call", run=self.run, tool_name=asked.name, tool_call_id=asked.id,
                               arguments=asked.arguments, cancel=False)

    async def after(self, asked, result=None, error=None, **more):
        return await self.fire("on_after_tool_call", run=self.run, tool_name=asked.name, tool_call_id=asked.id,
                               arguments=asked.arguments, result=result, error=error, **{"retry": False, **more})

    async def fold(self, *executions):
        """The end of an iteration: what the run has recorded."""
        self.state = State(self.run.info.run_id, (*self.state.tool_executions, *executions))
        await self.fire("on_iteration_end", 0, self.state)
        await self.fire("on_iteration_start", 1, self.state)

    async def end(self, success=True):
        await self.fire("on_iteration_end", 0, self.state)
        await self.fire("on_after_invocation", self.state, success)


hook = shim.create_hook()
scenario = sys.stdin.read()
body = "async def scenario():\n" + "".join(f"    {line}\n" for line in scenario.splitlines())
exec(compile(body, "scenario", "exec"))
asyncio.run(globals()["scenario"]())
