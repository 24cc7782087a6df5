"""A run of an agent as hook records: what is open in it, and what its hooks prove.

Hooks that come after ours can still redact a call's arguments, cancel it, ask for a retry or replace a result. So what a hook
is told of is told on when the others have had their say, as it stands then, with the time when it was.
"""
import sys
import traceback

from . import agents, receiver
from .plain import message, text_of, usage
from .tools import Tools

MOST = 1_000  # of which the ends, or the answers of a person, are still awaited
RUNS = {}  # by id, of all hooks of the process: a child's may be another than its parent's
QUESTIONS = {}  # of runs that wait for a person: how their records named them, by the id of the run
HOW = ("completed", "interrupted", "failed")
FINISHED = ("no_tools", "terminal_tool", "confidence_met", None)
REFUSING = "invocation model_call tool_call".split()


def keep(kept, key, value):
    while len(kept) >= MOST:
        gone = kept.pop(next(iter(kept)), None)
        if isinstance(gone, Run):
            gone.unwatch()
    kept[key] = value


class Request:
    """A request to the model, with all of its attempts."""

    def __init__(self, number, notices):
        self.number, self.tries, self.notices, self.heard = number, 0, notices, 0
        self.after, self.after_at, self.is_told = None, None, False


class Run:
    def __init__(self, hook, run_id, at, prompt=None, is_resumed=False):
        self.hook, self.id, self.at, self.prompt, self.is_resumed, self.tags = hook, run_id, at, prompt, is_resumed, None
        self.turn = f"{run_id}:{at:.0f}" if is_resumed else run_id  # the turn before has ended, when it asked its question
        self.session, self.parent, self.name, self.context = None, None, None, None
        self.requests, self.request, self.last, self.seen = 0, None, None, None
        self.is_alive, self.iteration, self.first, self.outer = is_resumed, None, None, sys.exc_info()[1]
        self.agent = agents.firing()
        self.model, self.tools = agents.model_of(self.agent), Tools(self, agents.tools_at_once(self.agent))
        keep(RUNS, run_id, self)

    def tell(self, name, at, correlation=None, **payload):
        self.take(name, at, correlation, session_id=self.session, turn_id=self.turn, **payload)

    def take(self, name, at, correlation=None, **payload):
        receiver.sender().take(name, text_of(payload), at, **({"correlation": correlation} if correlation else {}))

    def unwatch(self):
        """Replaced by who watches over its task."""

    # -- its beginning ---------------------------------------------------------------------------------------------------

    def begin(self, context=None):
        """Once it is known which conversation it is of, which only the events of requests and tools say."""
        self.is_alive, self.context = True, context or self.context
        if self.session is not None:
            return
        info = getattr(context, "info", None)
        self.name = getattr(info, "agent_name", None) or getattr(getattr(self.agent, "config", None), "agent_id", None)
        run_id, call = agents.calling() or (None, None)
        parent = RUNS.get(run_id)
        if parent is not None and parent is not self and parent.session is not None:
            self.session = self.id
            self.parent = parent.delegation(self, call)
            self.take("subagent_start", self.at, child_goal=self.prompt, **self.parent)
        else:
            self.session = self.conversation(getattr(info, "thread_id", None))
        of = {"parent_session_id": self.parent["parent_session_id"]} if self.parent else {}
        self.tell("on_session_start", self.at, agent_name=self.name, model=self.model.get("model"), tags=self.tags, **of)
        asked = QUESTIONS.pop(self.id, None)
        if asked:
            self.take("on_human_input_resolved", self.at, outcome="submitted", **asked)
        named = {key: value for key, value in self.model.items() if key in ("model", "provider")}
        self.tell("pre_llm_call", self.at, user_message=self.prompt, **named, **of)
        if self.first:
            self.tell("on_iteration_start", self.first[0], **self.first[1])

    def conversation(self, thread):
        """Runs at once in one conversation are no interruption of each other: all but the first get a session of their own."""
        is_taken = any(run.session == thread for run in list(RUNS.values()) if run is not self)
        return self.id if not thread else f"{thread}:{self.id}" if is_taken else thread

    def delegation(self, child, raw):
        tool = self.tools.delegated(child, raw)
        ids = {"parent_session_id": self.session, "parent_turn_id": self.turn, "child_session_id": child.session}
        return {**ids, "tool_call_id": tool and tool.id, "child_role": child.name or (tool and tool.name)}

    def iterates(self, number, confidence, at):
        """The first of a run begins before it is known which conversation it is of."""
        if number == self.iteration:
            return
        self.iteration, said = number, {"iteration": number, "confidence": confidence}
        if self.session is None:
            self.first = (at, said)
        else:
            self.tell("on_iteration_start", at, **said)

    # -- requests --------------------------------------------------------------------------------------------------------

    def request_id(self):
        return f"{self.turn}:{self.requests}" if self.requests else None

    def tell_attempt(self, name, at, correlation=None, **payload):
        request = self.request
        ids = {"api_request_id": self.request_id(), "api_call_count": request.number, "retry_count": request.tries}
        self.tell(name, at, correlation, **ids, **payload)

    def ask(self, event, at):
        self.settle()
        self.requests += 1
        self.request = Request(self.requests, getattr(self.context, "retry_events", ()))
        said = {}
        if receiver.sender().is_full:
            said = {"request": {"body": {"messages": [message(each) for each in event.messages], "tools": event.tools}}}
        counts = {"message_count": len(event.messages), "tool_count": len(event.tools or ())}
        self.tell_attempt("pre_api_request", at, **self.model, **counts, **said)

    def answered(self, event, at):
        if self.request is None:
            return
        if self.request.after is not None:  # a hook has had it asked again
            self.settle_request()
            self.try_again()
        self.tell_retries()
        self.request.after, self.request.after_at = event, at

    def try_again(self):
        """From the answer on that was not taken: what the hook has waited for is in it."""
        self.request.tries, self.request.is_told = self.request.tries + 1, False
        self.tell_attempt("pre_api_request", self.request.after_at, "inferred", **self.model)

    def tell_retries(self):
        """Attempts that Locus has made again by itself: no hook tells of them, but the run takes note of each."""
        request = self.request
        for notice in request.notices[request.heard:]:
            request.heard += 1
            at, error = notice.timestamp.timestamp() * 1000, notice.error
            kind, _, said = error.partition(": ")
            failure = {"error": {"type": kind, "message": said or error}, "status_code": notice.status_code}
            self.tell_attempt("api_request_error", at, reason=notice.reason, retryable=True, **failure)
            request.tries += 1
            self.tell_attempt("pre_api_request", at + notice.delay_seconds * 1000, **self.model)

    def settle_request(self):
        request = self.request
        if request is None or request.after is None:
            return
        response, request.after, request.is_told = request.after.response, None, True
        self.last, said = response, response.message
        counts = {"assistant_content_chars": len(said.content or ""), "assistant_tool_call_count": len(said.tool_calls or ())}
        facts = {"usage": usage(response.usage or {}), "finish_reason": response.stop_reason, **counts}
        served = (getattr(response, "metadata", None) or {}).get("fallback") or {}
        facts |= {"cost": getattr(response, "cost_usd", None), "response_model": served.get("model")}
        if receiver.sender().is_full:
            facts["response"] = {"assistant_message": message(said)}
        self.tell_attempt("post_api_request", request.after_at, **self.model, **facts)

    def fail_request(self, failure, at):
        """A request that has no answer when the run is over: no hook says so."""
        if self.request.is_told:
            self.try_again()
        self.tell_retries()
        is_error = isinstance(failure, Exception)
        error = {"type": type(failure).__name__, "message": str(failure)} if is_error else {"type": "aborted"}
        status = getattr(failure, "status_code", None)
        facts = {"error": error, "status_code": status if type(status) is int else None, "retryable": False}
        self.tell_attempt("api_request_error", at, reason=None if is_error else "aborted", **self.model, **facts)

    def settle(self, state=None, refused=None):
        """Tells the ends of all whose hooks have had their say."""
        self.settle_request()
        self.tools.settle(state, refused)

    # -- its end ---------------------------------------------------------------------------------------------------------

    def has_answered(self):
        return self.last is not None and not self.last.message.tool_calls

    def over(self, state, has_succeeded, at, failure=None):
        """`failure`: what ended it, where something was thrown."""
        if RUNS.pop(self.id, None) is None:
            return
        self.unwatch()
        because = None if self.is_alive else "refused"
        if because:
            self.prompt = None  # it may be why
        self.begin()
        request, (refused_by, refused) = self.request, refusal_of(failure)
        is_asking = request is not None and not request.is_told and (request.after is None or request.after.retry)
        self.settle(state, refused)
        if is_asking and failure is not None and refused_by is None:
            self.fail_request(failure, at)
        how, why = self.outcome(state, has_succeeded, failure, refused_by or because or (is_asking and "model_error"))
        asked = self.tools.asking() if why == "question" else None
        self.tools.over(at, refused, asked)
        answer = self.last.message.content if how == "completed" and self.last is not None else None
        self.tell("post_llm_call", at, assistant_response=answer, model=self.model.get("model"))
        self.tell("on_session_end", at, turn_exit_reason=why, **{key: key == how for key in HOW})
        if asked:
            self.ask_person(asked, at)
        if self.parent:
            self.take("subagent_stop", at, child_status=how, child_summary=answer, **self.parent)

    def ask_person(self, tool, at):
        """Beyond the end of the turn: the answer begins another."""
        ids = {"session_id": self.session, "turn_id": self.turn, "tool_call_id": tool.id}
        question = {**ids, "request_id": tool.id, "kind": tool.name}
        keep(QUESTIONS, self.id, question)
        self.take("on_human_input_request", at, prompt=tool.event.arguments.get("question"), **question)

    def outcome(self, state, has_succeeded, failure, because):
        """How it ended, in the contract's words, and why."""
        if isinstance(failure, Exception):
            return "failed", because or type(failure).__name__
        if failure is not None:
            return "interrupted", "aborted"
        if not has_succeeded:
            return "failed", because or None
        if self.context is not None and self.context.cancel.is_set():
            return "interrupted", "cancelled"
        if self.tools.asking():
            return "interrupted", "question"
        if self.last is None or self.has_answered():
            return "completed", None
        _, why = getattr(state, "should_terminate", (False, None))
        return "completed" if why in FINISHED else "incomplete", why


def guarded(state):
    """What guardrails have let through, to find turns by: the rule and what it did, and nothing of what it has found."""
    noted = (getattr(state, "metadata", None) or {}).get("guardrail_violations") or ()
    return [f"guardrail:{one['rule_name']}:{one['action']}" for one in noted] or None


def refusal_of(failure):
    """The name of the hook that raised it, and the call that it did not like: its message may quote what was in that."""
    for frame, _ in traceback.walk_tb(getattr(failure, "__traceback__", None)):
        code = frame.f_code
        if code.co_name.startswith(("on_before_", "on_after_")) and code.co_name.endswith(tuple(REFUSING)):
            hook, event = (frame.f_locals.get(name) for name in code.co_varnames[:2])
            return getattr(hook, "name", type(hook).__name__), event if hasattr(event, "tool_name") else None
    return None, None
