"""The calls of a run, of which each gets one start and one end, however its hooks fire."""
import asyncio
import heapq


class Tool:
    def __init__(self, tool_id, request, event, at):
        self.id, self.request, self.event, self.at = tool_id, request, event, at
        self.raw, self.name = event.tool_call_id, event.tool_name
        self.after, self.after_at, self.execution, self.end, self.offered, self.child = None, None, None, at, None, None

    def is_settled(self):
        return self.after is not None or self.execution is not None or bool(self.event.cancel)


class Tools:
    def __init__(self, run, at_once):
        self.run, self.at_once = run, at_once
        self.open, self.ids, self.recorded, self.untold = [], {}, 0, None

    def named(self, raw):
        """An id that no other call of the run has: some models use one twice, or none."""
        raw = raw if isinstance(raw, str) and raw else "call"
        self.ids[raw] = count = self.ids.get(raw, 0) + 1
        return raw if count == 1 else f"{raw}#{count}"

    def tell(self, name, tool, at, correlation=None, **payload):
        ids = {"tool_call_id": tool.id, "tool_name": tool.name, "api_request_id": tool.request}
        self.run.tell(name, at, correlation, **ids, **payload)

    def begin(self, event, at):
        """Told when all hooks have seen it: one of them may redact what is in it."""
        self.tell_begun()
        self.untold = Tool(self.named(event.tool_call_id), self.run.request_id(), event, at)
        self.open.append(self.untold)
        try:
            asyncio.get_running_loop().call_soon(self.tell_begun)
        except RuntimeError:
            self.tell_begun()

    def tell_begun(self, refused=None):
        tool, self.untold = self.untold, None
        try:
            if tool is not None:
                self.tell("pre_tool_call", tool, tool.at, args=None if tool.event is refused else tool.event.arguments)
        except Exception:
            pass

    def returned(self, event, at):
        """By its id; by its name where there is none, the first that was called."""
        self.tell_begun()
        raw, waiting = event.tool_call_id, (tool for tool in self.open if tool.after is None)
        tool = next((tool for tool in waiting if (tool.raw == raw if raw else tool.name == event.tool_name)), None)
        if tool is not None:
            tool.after, tool.after_at, tool.offered = event, at, event.result

    def delegated(self, child, raw):
        """The call that a child works for: the first of that id that has no child yet."""
        same = [tool for tool in self.open if tool.raw == raw]
        tool = next((tool for tool in same if tool.child is None), same[0] if same else None)
        if tool is not None:
            tool.child = child
        return tool

    def asking(self):
        """That for which a run has been left without an end of it: it has asked a person."""
        waiting = [tool for tool in self.open if not tool.is_settled()]
        return next((tool for tool in waiting if tool.name == "ask_user"), waiting[0] if waiting else None)

    def settle(self, state, refused=None):
        """`refused`: the event that a hook has raised at, which may be why."""
        self.tell_begun(refused)
        if not self.open:
            return
        recorded = getattr(state, "tool_executions", ())
        for execution in recorded[self.recorded:]:
            ids = (execution.tool_call_id, execution.tool_name)
            same = (tool for tool in self.open if tool.execution is None and (tool.raw, tool.name) == ids)
            tool = next(same, None)
            if tool is not None:
                tool.execution = execution
        self.recorded = len(recorded) or self.recorded
        self.time_ends()
        settled = [tool for tool in self.open if tool.is_settled()]
        self.open = [tool for tool in self.open if not tool.is_settled()]
        for tool in settled:
            self.tell_end(tool)

    def time_ends(self):
        """Hooks fire for all of a batch before the first runs, and after the last has run: durations say when each ended."""
        ran = [tool for tool in self.open if tool.after is not None]
        if not ran:
            return
        begun = max(tool.at for tool in ran if tool.at <= ran[0].after_at)
        free = [begun] * min(self.at_once, len(ran))
        for tool in ran:
            start = max(heapq.heappop(free), tool.at)
            took = getattr(tool.execution, "duration_ms", None)
            tool.end = tool.after_at if took is None or tool.after.retry else min(start + took, tool.after_at)
            heapq.heappush(free, tool.end)

    def tell_end(self, tool):
        after, execution, cancel = tool.after, tool.execution, tool.event.cancel
        if after is None:  # its body did not run
            said = cancel if isinstance(cancel, str) else getattr(execution, "result", None)
            is_cached = getattr(execution, "idempotent_cache_hit", False)
            status = "blocked" if cancel else "cached" if is_cached else "cancelled"
            self.tell("post_tool_call", tool, tool.at, status=status, result=said, duration_ms=0)
            return
        correlation = None if after.tool_call_id else "inferred"
        final = after.result if execution is None else execution.result
        if after.retry:  # a hook has had it run again: no hook fires for that
            self.tell_outcome(tool, after, correlation, result=tool.offered)
            if execution is None:
                return
            tool.id, tool.at = self.named(tool.raw), tool.end
            self.tell("pre_tool_call", tool, tool.at, "inferred", args=execution.arguments)
            tool.end = tool.at + (execution.duration_ms or 0)
        elif final != tool.offered:
            self.tell("transform_tool_result", tool, tool.end, result=tool.offered)
        self.tell_outcome(tool, execution or after, correlation, result=final)

    def tell_outcome(self, tool, outcome, correlation, **said):
        error = outcome.error
        kind, is_named, _ = (error or "").partition(": ")
        facts = {"status": "error" if error else "ok", "error_message": error}
        facts |= {"error_type": kind if is_named and kind.isidentifier() else None}
        took = getattr(outcome, "duration_ms", None)
        self.tell("post_tool_call", tool, tool.end, correlation, **facts, **said, duration_ms=took)

    def over(self, at, refused, asking):
        if refused is not None and all(tool.event is not refused for tool in self.open):
            self.begin(refused, at)  # by a hook before ours
            self.tell_begun(refused)
        for tool in self.open:
            is_refused = tool.event is refused
            status = "waiting" if tool is asking else "blocked" if is_refused else "cancelled"
            self.tell("post_tool_call", tool, tool.at if is_refused else at, status=status)
        self.open = []
