"""A program of a user: agents, tools and hooks of each kind, with hookspan attached as its page says.

Called with what to do as JSON (`Plan` in locus.ts); prints what each run came back with, a line each.
"""
import asyncio
import json
import logging
import os
import sys

import hookspan_locus
from locus import Agent
from locus.agent.config import ModelRetryConfig
from locus.hooks.builtin import GuardrailsHook, TelemetryHook
from locus.hooks.builtin.guardrails import GuardrailAction, GuardrailConfig
from locus.hooks.builtin.retry import ModelRetryHook
from locus.hooks.provider import HookProvider
from locus.models.native.openai import OpenAIModel
from locus.tools import tool

plan = json.loads(sys.argv[1])
logging.disable()
# This machine may be busy: nothing is lost at the exit, however long that takes.
hookspan_locus.EXIT_SECONDS = hookspan_locus.receiver.ANSWER_SECONDS = 60


@tool
async def get_weather(city: str) -> str:
    """The weather of a city."""
    await asyncio.sleep({"Rome": 0.2, "Paris": 0.1}.get(city, 0))
    return f"sunny in {city}"


@tool
async def read_file(path: str) -> str:
    """Reads a file."""
    raise FileNotFoundError(f"no such file: {path}")


@tool
async def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"deleted {path}"


@tool(idempotent=True)
async def book(room: str) -> str:
    """Books a room."""
    return f"booked {room}"


@tool
async def shell(command: str) -> str:
    """Runs a command."""
    return "done"


@tool
async def wait_for(path: str) -> str:
    """Waits for a file."""
    while not os.path.exists(path):
        await asyncio.sleep(0.05)
    return "it is there"


class Policy(HookProvider):
    """Refuses, repeats and rewrites what the plan says."""

    priority = 50
    tries = 0

    async def on_before_tool_call(self, event):
        if event.tool_name == plan.get("cancels"):
            event.cancel = "Not without a ticket"
        if event.tool_name == plan.get("rewrites"):
            event.arguments = {"path": "/elsewhere"}

    async def on_after_tool_call(self, event):
        if event.tool_name == plan.get("repeats") and Policy.tries == 0:
            Policy.tries = event.retry = True
        if event.tool_name == plan.get("rewrites"):
            event.result = "nothing to see"

    async def on_after_model_call(self, event):
        if plan.get("discards") and event.response.message.content == plan["discards"]:
            event.retry = True


def others():
    rules = GuardrailConfig(action_overrides={"pii_email": GuardrailAction.WARN})
    chosen = {"policy": Policy, "guardrails": lambda: GuardrailsHook(rules), "retry": lambda: ModelRetryHook(initial_delay=0.01)}
    chosen["telemetry"] = TelemetryHook
    return [chosen[name]() for name in plan.get("hooks", [])]


def model():
    # The client's own attempts are off: the loop's are seen.
    return OpenAIModel(model="fake-1", api_key="dummy", base_url=f"{plan['url']}/v1", max_retries=0)


hook = hookspan_locus.create_hook(plan.get("enabled", True))
how = {"model_retry": ModelRetryConfig(initial_delay=0.01, max_retries=plan.get("retries", 0)), "context_window": 100_000}
how |= {"reflexion": False, "grounding": False, "max_iterations": plan.get("iterations", 5)}
if plan.get("asks"):
    how |= {"completion_mode": "explicit"}
how |= {"tool_execution": plan.get("execution", "concurrent")}
researcher = Agent(
    model=model(), tools=[get_weather], hooks=[hook], name="researcher", system_prompt="You are the researcher.", **how
)


@tool
async def delegate(goal: str) -> str:
    """Gives a task to a child."""
    child = await main.run_subagent(goal, tools=[get_weather], hooks=[hook], name="child", system_prompt="You are the researcher.", **child_how)
    return child.text


child_how = {key: how[key] for key in ("model_retry", "context_window")}
tools = [get_weather, read_file, delete_file, book, shell, wait_for, delegate, researcher.as_tool("research", "Asks the researcher")]
main = Agent(model=model(), tools=tools, hooks=[hook, *others()], name="main", system_prompt="You are main.", **how)


async def run(agent, prompt, thread):
    try:
        if plan.get("streams"):
            last = None
            async for event in agent.run(prompt, thread_id=thread, stream_tokens=True):
                last = event
            return {"output": last.final_message, "stop": last.reason}
        if plan.get("asks"):
            events = [event async for event in agent.run(prompt, thread_id=thread)]
            while events[-1].event_type == "interrupt":
                events = [event async for event in agent.resume(plan["asks"], thread_id=thread)]
            return {"output": events[-1].final_message, "stop": events[-1].reason}
        if plan.get("cancelled"):
            task = asyncio.create_task(agent.arun(prompt, thread_id=thread))
            await asyncio.sleep(plan["cancelled"])
            task.cancel()
            await task
        result = await agent.arun(prompt, thread_id=thread)
        return {"output": result.message, "stop": result.stop_reason}
    except (Exception, asyncio.CancelledError) as error:
        return {"thrown": type(error).__name__}


async def all_of_them():
    prompts, threads = plan["prompts"], plan.get("threads", ["t1"])
    asked = [run(main, prompt, threads[index % len(threads)]) for index, prompt in enumerate(prompts)]
    if plan.get("at_once"):
        return await asyncio.gather(*asked)
    return [await each for each in asked]


def spans_of_telemetry_hook():
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


theirs = spans_of_telemetry_hook() if "telemetry" in plan.get("hooks", []) else None
if theirs:
    main = Agent(model=model(), tools=tools, hooks=[hook, *others()], name="main", system_prompt="You are main.", **how)
for line in asyncio.run(all_of_them()):
    print(json.dumps(line))
for span in theirs.get_finished_spans() if theirs else ():
    ids = {"trace": f"{span.context.trace_id:x}", "id": f"{span.context.span_id:x}"}
    parent = f"{span.parent.span_id:x}" if span.parent else None
    run = (span.attributes or {}).get("locus.run_id")
    took = (span.end_time - span.start_time) / 1e6
    print(json.dumps({"span": span.name, **ids, "parent": parent, "run": run, "start": span.start_time, "millis": took}))
