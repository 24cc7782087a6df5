"""Hands the hooks of Locus agents to hookspan's receiver on this machine, which makes OpenTelemetry traces of them.

    from hookspan_locus import create_hook

    agent = Agent(model=..., hooks=[create_hook(), ...])

A hook observes. Whatever happens in it, it changes nothing, raises nothing and waits for nothing.
"""
import asyncio
import atexit
import contextvars
import functools
import sys
import time

from . import receiver
from .runs import RUNS, Run, guarded

try:
    from locus.hooks import HookProvider
except Exception:
    HookProvider = object

__all__ = ["HookspanHook", "NoOpHook", "create_hook"]
EXIT_SECONDS = 1
CURRENT = contextvars.ContextVar("hookspan_run", default=None)  # where an event does not say its run


def quietly(tell):
    """A hook of Locus out of one that tells: it gives on the state, where there is one to give on."""
    gives_state = tell.__name__ == "on_before_invocation"

    @functools.wraps(tell)
    async def on(self, *given):
        try:
            tell(self, *given, time.time() * 1000)
        except Exception:
            pass
        return given[1] if gives_state else None

    return on


class NoOpHook(HookProvider):
    """In place of the other where nothing is to be traced."""

    priority = 150

    @property
    def name(self):
        return "hookspan"


class HookspanHook(NoOpHook):
    """Traces each run of the agents that have it. One serves any number of agents, and of runs at once.

    The first of the hooks, it sees a prompt also where another refuses it, and each attempt when it begins.
    """

    def run_of(self, event):
        """That which the event is of, unless another of us tells of it, or this one has been told of it already."""
        info, context = getattr(event, "run", None), getattr(event, "_run_ctx", None)
        run_id = getattr(info, "run_id", None) or CURRENT.get()
        run = run_id and (RUNS.get(run_id) or self.resumed(run_id, event))
        if not run or run.hook is not self or run.seen is event:
            return None
        run.seen = event
        run.begin(context)
        return run

    def resumed(self, run_id, event):
        """A run that goes on after its end, with what a person has answered."""
        messages = getattr(event, "messages", None)
        return watched(Run(self, run_id, time.time() * 1000, messages[-1].content if messages else None, is_resumed=True))

    @quietly
    def on_before_invocation(self, prompt, state, at):
        if state.run_id not in RUNS:
            watched(Run(self, state.run_id, at, prompt))
        CURRENT.set(state.run_id)

    @quietly
    def on_iteration_start(self, iteration, state, at):
        run = RUNS.get(state.run_id)
        if run is not None and run.hook is self:
            run.is_alive = True
            run.iterates(iteration, getattr(state, "confidence", None), at)
            run.tags = guarded(state)

    @quietly
    def on_iteration_end(self, iteration, state, at):
        run = RUNS.get(state.run_id)
        if run is not None and run.hook is self:
            run.settle(state)
            if run.is_resumed and (run.has_answered() or state.should_terminate[0]):  # no hook will say so
                run.over(state, True, at)

    @quietly
    def on_before_model_call(self, event, at):
        run = self.run_of(event)
        if run:
            run.ask(event, at)

    @quietly
    def on_after_model_call(self, event, at):
        run = self.run_of(event)
        if run:
            run.answered(event, at)

    @quietly
    def on_before_tool_call(self, event, at):
        run = self.run_of(event)
        if run:
            run.settle_request()
            run.tools.begin(event, at)

    @quietly
    def on_after_tool_call(self, event, at):
        run = self.run_of(event)
        if run:
            run.tools.returned(event, at)

    @quietly
    def on_after_invocation(self, state, success, at):
        run = RUNS.get(state.run_id)
        if run is not None and run.hook is self:
            thrown = sys.exc_info()[1]
            run.over(state, success, at, None if thrown is run.outer else thrown)


def watched(run):
    """Where another hook refuses the prompt, no hook tells of the end: the end of the task does."""
    def ended(task):
        try:
            failure = asyncio.CancelledError() if task.cancelled() else task.exception()
            if not run.is_alive:
                run.over(None, False, run.at, failure)
            elif run.is_resumed:
                run.over(None, failure is None, time.time() * 1000, failure)
        except Exception:
            pass

    try:
        task = asyncio.current_task()
        task.add_done_callback(ended)
        run.unwatch = functools.partial(task.remove_done_callback, ended)
    except Exception:
        pass
    return run


def create_hook(enabled=True):
    """A hook for `Agent(hooks=[...])`; one that does nothing, where `enabled` is false."""
    return HookspanHook() if enabled else NoOpHook()


atexit.register(lambda: receiver.sender().drain(EXIT_SECONDS))
