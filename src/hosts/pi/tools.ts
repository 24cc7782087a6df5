import { booleanOf, idOf, numberOf, peek } from '../../contract/foreign.ts'
import { Delegation } from '../base/delegation.ts'
import type { Moment } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import type { Scope } from '../base/records.ts'
import { Tool } from '../base/tool.ts'
import { isApproval, PiApproval } from './approvals.ts'
import { isAborted } from './context.ts'
import { type ToolStatus, toolResult, toolStatus } from './tool-end.ts'

/** Tools whose end was never told must not pile up in a turn of days. */
const OPEN_LIMIT = 1000

export class PiTool extends Tool {
  /** `tool_call` was seen: its arguments were good, and it is about to run. */
  calledAt: number | undefined
  /** `tool_result` was seen: it ran. */
  ran = false
  approval: PiApproval | undefined
}

/** The tool calls of one turn, and the questions that are asked about them. */
export class PiTools {
  readonly #turn: Scope
  readonly #open = new LimitedMap<string, PiTool>(OPEN_LIMIT)
  /** The one that was about to run last: what is asked now is most likely about it. */
  #latest: PiTool | undefined
  /** Asked, answered or not, and not told yet. */
  #asking: PiApproval | undefined

  constructor(turn: Scope) {
    this.#turn = turn
  }

  start({ at, data }: Moment, requestId: string | undefined): void {
    const id = idOf(peek(data, 'toolCallId'))
    if (id === undefined || this.#open.has(id)) return
    const tool = new PiTool(this.#turn, id, peek(data, 'toolName'), at)
    tool.args = peek(data, 'args')
    tool.requestId = requestId
    this.#open.set(id, tool)
    tool.tellStart()
  }

  /** `tool_call`: nobody has refused it yet. */
  called({ at, data }: Moment): void {
    const tool = this.#find(data)
    if (tool === undefined) return
    tool.calledAt ??= at
    this.#latest = tool
  }

  /** `tool_result`: it ran, so whoever was asked has agreed. */
  returned({ data }: Moment): void {
    const tool = this.#find(data)
    if (tool === undefined) return
    tool.ran = true
    tool.approval?.decided('once')
  }

  /** `tool_execution_end`; or the message with its result, where that end was lost. */
  end({ at, data, context }: Moment, outcome: unknown): void {
    const tool = this.#find(data)
    if (tool === undefined) return
    this.#open.delete(tool.id)
    if (this.#latest === tool) this.#latest = undefined
    const { status, isSure } = toolStatus({
      isError: booleanOf(peek(data, 'isError')) === true,
      isAborted: isAborted(context),
      isCalled: tool.calledAt !== undefined,
      ran: tool.ran,
      name: tool.name,
      outcome,
    })
    tool.approval?.decided(choiceOf(status))
    tellDelegation(tool, tool.calledAt ?? tool.startAt, at, status, outcome)
    const { result, text } = toolResult(outcome)
    const error_message = status === 'error' ? text : undefined
    const facts = { result, status, duration_ms: numberOf(peek(data, 'durationMs')), error_message }
    tool.tellEnd(at, facts, isSure ? undefined : 'inferred')
  }

  /** `ui_prompt_start`. Outside of tools an extension asks about something of its own. */
  asked(moment: Moment): void {
    const tool = this.#askedAbout()
    if (tool === undefined || !isApproval(moment.data) || this.#asking?.isReplied === false) return
    // A second question about the same tool: the first one has not stopped it.
    tool.approval?.decided('once')
    tool.approval = new PiApproval(tool, moment)
    this.#asking = tool.approval
  }

  answered({ at }: Moment): void {
    this.#asking?.replied(at)
    this.#asking = undefined
  }

  /** The turn is over. */
  close(at: number): void {
    this.#asking?.close(at)
    for (const { approval } of this.#open.values()) approval?.close(at)
    this.#asking = undefined
    this.#open.clear()
  }

  /**
   * Pi makes its tools ready one after another and runs them together, so what is asked before one of them has run is
   * about the one that was made ready last.
   */
  #askedAbout(): PiTool | undefined {
    if (this.#open.size === 1) return this.#open.values().next().value
    return this.#latest !== undefined && !this.#anyRan() && this.#open.has(this.#latest.id) ? this.#latest : undefined
  }

  #anyRan(): boolean {
    for (const tool of this.#open.values()) if (tool.ran) return true
    return false
  }

  #find(data: unknown): PiTool | undefined {
    const id = idOf(peek(data, 'toolCallId'))
    return id === undefined ? undefined : this.#open.get(id)
  }
}

function choiceOf(status: ToolStatus): string {
  if (status === 'blocked') return 'deny'
  return status === 'cancelled' ? 'cancelled' : 'once'
}

/** Pi has no child agents of its own: the tool of its example, and of the packages made after it, goes by this name. */
const DELEGATING = 'subagent'

/**
 * A child agent, from what its tool tells: it runs in another process, and reports there. Told when the tool has ended,
 * because a tool that was refused has delegated nothing.
 *
 * @param startAt when the tool began to run
 */
function tellDelegation(tool: Tool, startAt: number, at: number, status: ToolStatus, outcome: unknown): void {
  if (tool.name !== DELEGATING || status === 'blocked') return
  const { turn, args } = tool
  const delegation = new Delegation(turn.records, startAt, {
    parent_session_id: turn.sessionId,
    parent_turn_id: turn.turnId,
    tool_call_id: tool.id,
    child_subagent_id: `${turn.turnId}:${tool.id}`,
    child_role: peek(args, 'agent'),
  })
  delegation.tellStart(peek(args, 'task'), 'inferred')
  const summary = plainText(peek(outcome, 'content'))
  delegation.tellEnd(at, { status: status === 'ok' ? 'completed' : status, summary }, 'inferred')
}
