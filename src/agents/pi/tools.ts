import { booleanOf, idOf, numberOf, peek } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import type { RecordScope } from '../base/records.ts'
import { Tool } from '../base/tool.ts'
import { isApproval, PiApproval } from './approvals.ts'
import { isAborted } from './context.ts'
import { type ToolStatus, toolResult, toolStatus } from './tool-end.ts'

/** Bounds the tools without an end, which must not accumulate in a turn of days. */
const OPEN_LIMIT = 1000

export class PiTool extends Tool {
  /** When `tool_call` was received: the arguments were valid, and the tool is about to run. */
  calledAt: number | undefined
  ran = false
  approval: PiApproval | undefined
}

export class PiTools {
  readonly #turn: RecordScope
  readonly #open = new LimitedMap<string, PiTool>(OPEN_LIMIT)
  /** The tool prepared last, which a question is most likely about. */
  #latest: PiTool | undefined
  #question: PiApproval | undefined

  constructor(turn: RecordScope) {
    this.#turn = turn
  }

  start({ at, data }: TimedEvent, requestId: string | undefined): void {
    const id = idOf(peek(data, 'toolCallId'))
    if (id === undefined || this.#open.has(id)) return
    const tool = new PiTool(this.#turn, id, peek(data, 'toolName'), at)
    tool.args = peek(data, 'args')
    tool.requestId = requestId
    this.#open.set(id, tool)
    tool.emitStart()
  }

  /** Handles `tool_call`: no extension has blocked the tool so far. */
  markCalled({ at, data }: TimedEvent): void {
    const tool = this.#find(data)
    if (tool === undefined) return
    tool.calledAt ??= at
    this.#latest = tool
  }

  /** Handles `tool_result`: the tool ran, so the user has approved it. */
  markReturned({ data }: TimedEvent): void {
    const tool = this.#find(data)
    if (tool === undefined) return
    tool.ran = true
    tool.approval?.setChoice('once')
  }

  end({ at, data, context }: TimedEvent, outcome: unknown): void {
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
    tool.approval?.setChoice(choiceOf(status))
    emitDelegation(tool, tool.calledAt ?? tool.startAt, at, status, outcome)
    const { result, text } = toolResult(outcome)
    const error_message = status === 'error' ? text : undefined
    const facts = { result, status, duration_ms: numberOf(peek(data, 'durationMs')), error_message }
    tool.emitEnd(at, facts, isSure ? undefined : 'inferred')
  }

  /** Handles `ui_prompt_start`. Outside of tools, an extension asks about matters of its own. */
  startQuestion(moment: TimedEvent): void {
    const tool = this.#toolOfQuestion()
    if (tool === undefined || !isApproval(moment.data) || this.#question?.isReplied === false) return
    // A second question about the same tool shows that the first was approved.
    tool.approval?.setChoice('once')
    tool.approval = new PiApproval(tool, moment)
    this.#question = tool.approval
  }

  endQuestion({ at }: TimedEvent): void {
    this.#question?.endPrompt(at)
    this.#question = undefined
  }

  close(at: number): void {
    this.#question?.closeApproval(at)
    for (const { approval } of this.#open.values()) approval?.closeApproval(at)
    this.#question = undefined
    this.#open.clear()
  }

  /**
   * Finds the tool of a question. Pi prepares tools one after another and runs them together, so a question before the first run
   * is about the tool prepared last.
   */
  #toolOfQuestion(): PiTool | undefined {
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

/** The name of the delegating tool in Pi's example, and in packages based on it. Pi itself has no child agents. */
const DELEGATING_TOOL = 'subagent'

/**
 * Emits a delegation from the delegating tool; the child itself runs and reports in another process. Emitted at the tool's end,
 * because a blocked tool delegates nothing.
 *
 * @param startAt when the tool began to run
 */
function emitDelegation(tool: Tool, startAt: number, at: number, status: ToolStatus, outcome: unknown): void {
  if (tool.name !== DELEGATING_TOOL || status === 'blocked') return
  const { turn, args } = tool
  const delegation = new DelegatedTask(turn.records, startAt, {
    parent_session_id: turn.sessionId,
    parent_turn_id: turn.turnId,
    tool_call_id: tool.id,
    child_subagent_id: `${turn.turnId}:${tool.id}`,
    child_role: peek(args, 'agent'),
  })
  delegation.emitStart(peek(args, 'task'), 'inferred')
  const summary = plainText(peek(outcome, 'content'))
  delegation.emitEnd(at, { status: status === 'ok' ? 'completed' : status, summary }, 'inferred')
}
