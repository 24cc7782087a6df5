/**
 * The hook payloads of Cursor, from its documentation (cursor.com/docs/hooks, read in November 2026); not verified by a run.
 *
 * Raw events in fixtures (`HostEvent`): the event is the name of the hook, `data` the hook's payload. `conversation_id` in it is
 * the session and `generation_id` the turn.
 */
import { elementsOf, idOf, numberOf, peek, pickFields, textOf } from '../../contract/foreign.ts'
import type { EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers, handlersByName } from '../base/event-machine.ts'
import { calledIn, HookedSession, type HookedTurn } from '../base/hooked-session.ts'
import { SessionStates } from '../base/limited-map.ts'
import { wrapJson } from '../base/messages.ts'
import type { TurnResult } from '../base/records.ts'
import { childTask, type DelegatedTask } from '../base/tool.ts'

/** Hooks that add nothing to others, or are not about a turn, such as completions while the user types. */
const QUIET_HOOKS: readonly string[] = [
  ...['beforeReadFile', 'beforeTabFileRead', 'afterTabFileEdit', 'afterAgentThought', 'preCompact'],
]

class CursorSession extends HookedSession {
  hasGenericHooks = false
  readonly children: { readonly role: string | undefined; readonly task: DelegatedTask }[] = []
}

type HookHandler = (session: CursorSession, moment: TimedEvent) => void

function ofTurn(handle: (turn: HookedTurn, moment: TimedEvent, session: CursorSession) => void): HookHandler {
  return (session, moment) =>
    handle(session.turnFor(moment.at, idOf(peek(moment.data, 'generation_id'))), moment, session)
}

const HOOKS: Readonly<Record<string, HookHandler>> = {
  sessionStart: () => undefined,
  beforeSubmitPrompt: (session, { at, data }) =>
    session.startTurn(at, peek(data, 'prompt'), idOf(peek(data, 'generation_id'))),
  preToolUse: ofTurn(handleToolStart),
  postToolUse: ofTurn((turn, { at, data }, session) => {
    session.hasGenericHooks = true
    const duration_ms = numberOf(peek(data, 'duration'))
    turn.endTool(at, calledIn(data), { status: 'completed', result: wrapJson(peek(data, 'tool_output')), duration_ms })
  }),
  postToolUseFailure: ofTurn(handleToolFailure),
  subagentStart: ofTurn(handleChildStart),
  subagentStop: handleChildEnd,
  afterAgentResponse: ofTurn((turn, { data }) => {
    turn.answer = peek(data, 'text')
  }),
  stop: ofTurn((turn, { at, data }) => turn.endTurn(at, outcomeOf(peek(data, 'status')), textOf(peek(data, 'status')))),
  sessionEnd: (session, { at, data }) => {
    const reason = textOf(peek(data, 'reason')) ?? 'ended'
    for (const { task } of session.children.splice(0)) task.emitEnd(at, { status: 'interrupted' }, 'inferred')
    session.endSession(at, outcomeOf(peek(data, 'final_status') ?? reason), reason)
  },
  beforeShellExecution: ofSpecific('Shell', ['command']),
  beforeMCPExecution: ofSpecific('MCP', []),
  afterShellExecution: ofSpecific('Shell', ['command'], 'output'),
  afterMCPExecution: ofSpecific('MCP', [], 'result_json'),
  // The start of an edit is not reported.
  afterFileEdit: ofSpecific('Edit', ['file_path', 'edits'], ''),
}

function outcomeOf(status: unknown): TurnResult {
  return status === 'completed' ? 'completed' : status === 'error' ? 'failed' : 'interrupted'
}

function handleToolStart(turn: HookedTurn, { at, data }: TimedEvent, session: CursorSession): void {
  const called = calledIn(data)
  // The first tool-specific hook precedes the generic one and may have started the same call.
  const specific = { ...called, args: { command: peek(called.args, 'command') } }
  const isStarted = !session.hasGenericHooks && turn.assignCallId(called.id, specific)
  session.hasGenericHooks = true
  if (!isStarted) turn.startTool(at, called)
}

function handleToolFailure(turn: HookedTurn, { at, data }: TimedEvent, session: CursorSession): void {
  session.hasGenericHooks = true
  const failure = peek(data, 'failure_type')
  const type = failure === 'permission_denied' ? 'blocked' : failure === 'timeout' ? 'timeout' : 'error'
  const status = peek(data, 'is_interrupt') === true ? 'cancelled' : type
  const error_message = textOf(peek(data, 'error_message'))
  turn.endTool(at, calledIn(data), { status, error_message, duration_ms: numberOf(peek(data, 'duration')) })
}

/**
 * A hook for one kind of tool. Older versions fire only these. Newer versions also fire `preToolUse` and its counterparts for
 * each call; then these hooks are ignored.
 *
 * @param name as in generic hooks, where each tool of `MCP` has its own
 * @param result the field with the result, for a hook that fires at the end of a tool
 */
function ofSpecific(name: string, fields: readonly string[], result?: string): HookHandler {
  return (session, { at, data }) => {
    if (session.hasGenericHooks) return
    const turn = session.turnFor(at, idOf(peek(data, 'generation_id')))
    const isMcp = name === 'MCP'
    const called = {
      id: undefined,
      // The core's name for tools of MCP servers.
      name: isMcp ? `mcp_${textOf(peek(data, 'tool_name')) ?? ''}` : name,
      args: isMcp ? peek(data, 'tool_input') : pickFields(data, fields),
    }
    const duration_ms = numberOf(peek(data, 'duration'))
    if (result === undefined) turn.startTool(at, called)
    else turn.endTool(at, called, { status: 'completed', result: wrapJson(peek(data, result)), duration_ms })
  }
}

function handleChildStart(turn: HookedTurn, { at, data }: TimedEvent, session: CursorSession): void {
  const id = idOf(peek(data, 'subagent_id'))
  if (id === undefined) return
  const role = textOf(peek(data, 'subagent_type'))
  turn.emitPrompt()
  const task = childTask(turn, at, { agentId: id, role, callId: idOf(peek(data, 'tool_call_id')) })
  task.emitStart(peek(data, 'task'))
  session.children.push({ role, task })
}

/** Ends a child. The hook has no id, so the first running child of the same type is used. */
function handleChildEnd({ children }: CursorSession, { at, data }: TimedEvent): void {
  const role = textOf(peek(data, 'subagent_type'))
  const index = children.findIndex(child => child.role === role)
  const [child] = index < 0 ? [] : children.splice(index, 1)
  const status = outcomeOf(peek(data, 'status'))
  child?.task.emitEnd(at, { status, summary: peek(data, 'summary') }, 'inferred')
}

/** Translates the hooks of Cursor, which report neither requests nor tokens. */
export class CursorMachine extends EventMachine {
  readonly #sessions = new SessionStates(id => new CursorSession(this.records, id, 'cursor'))
  protected readonly events: EventHandlers = eventHandlers(
    handlersByName(Object.keys(HOOKS), name => moment => this.#handle(moment, HOOKS[name])),
    QUIET_HOOKS,
  )

  protected endSessions(): void {
    // Empty: the core ends open spans.
  }

  #handle(moment: TimedEvent, handle: HookHandler | undefined): void {
    const id = idOf(peek(moment.data, 'conversation_id')) ?? idOf(peek(moment.data, 'session_id'))
    if (id === undefined) return
    const session = this.#sessions.get(id)
    session.noteWorkspace({ cwd: elementsOf(peek(moment.data, 'workspace_roots'), 1)[0] })
    session.model = textOf(peek(moment.data, 'model')) ?? session.model
    handle?.(session, moment)
  }
}
