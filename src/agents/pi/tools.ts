import { booleanOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText, wrapJson } from '../base/messages.ts'
import type { RecordScope } from '../base/records.ts'
import { Approval, inferredChoice, Tool } from '../base/tool.ts'
import { isAborted, platformOf } from './messages.ts'

const NO_APPROVALS: ReadonlySet<unknown> = new Set(['input', 'editor'])

/**
 * A question of an extension about one tool. Pi reports neither the answer nor the tool. Both are inferred, the answer from the
 * tool's status, so it is emitted late, with its actual time.
 */
export class PiApproval extends Approval {
  #repliedAt: number | undefined
  #choice: string | undefined

  constructor(tool: Tool, { at, context, data }: TimedEvent) {
    super(tool.turn, tool.id, textOf(tool.name), at)
    const command = peek(tool.args, 'command')
    this.emitRequest({ command, description: peek(data, 'title'), surface: platformOf(context) }, 'inferred')
  }

  get isReplied(): boolean {
    return this.#repliedAt !== undefined
  }

  endPrompt(at: number): void {
    this.#repliedAt ??= at
    if (this.#choice !== undefined) this.#emitChoice(this.#repliedAt)
  }

  /** Records the answer inferred from the tool. The prompt's end is a separate event, which may come later. */
  setChoice(choice: string): void {
    this.#choice ??= choice
    if (this.#repliedAt !== undefined) this.#emitChoice(this.#repliedAt)
  }

  closeApproval(at: number): void {
    this.#emitChoice(this.#repliedAt ?? at)
  }

  #emitChoice(at: number): void {
    this.emitResponse(at, this.#choice, 'inferred')
  }
}

/** Bounds the tools without an end, which must not accumulate in a turn of days. */
const OPEN_LIMIT = 1000

export class PiTool extends Tool {
  /** When `tool_call` was received: the arguments were valid, and the tool is about to run. */
  calledAt: number | undefined
  ran = false
  declare approval: PiApproval | undefined
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

  end(moment: TimedEvent, outcome: unknown): void {
    const { at, data } = moment
    const tool = this.#find(data)
    if (tool === undefined) return
    this.#open.delete(tool.id)
    if (this.#latest === tool) this.#latest = undefined
    const { status, isSure } = toolStatus(tool, moment, outcome)
    tool.approval?.setChoice(inferredChoice(status))
    emitDelegation(tool, tool.calledAt ?? tool.startAt, at, status, outcome)
    const { result, text } = toolResult(outcome)
    const error_message = status === 'error' ? text : undefined
    const facts = { result, status, duration_ms: numberOf(peek(data, 'durationMs')), error_message }
    tool.emitEnd(at, facts, isSure ? undefined : 'inferred')
  }

  /** Handles `ui_prompt_start`. Outside of tools, an extension asks about matters of its own. */
  startQuestion(moment: TimedEvent): void {
    const tool = this.#toolOfQuestion()
    if (tool === undefined || NO_APPROVALS.has(peek(moment.data, 'kind')) || this.#question?.isReplied === false) return
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
    const anyRan = [...this.#open.values()].some(({ ran }) => ran)
    return this.#latest !== undefined && !anyRan && this.#open.has(this.#latest.id) ? this.#latest : undefined
  }

  #find(data: unknown): PiTool | undefined {
    const id = idOf(peek(data, 'toolCallId'))
    return id === undefined ? undefined : this.#open.get(id)
  }
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
  const delegation = new DelegatedTask(turn, startAt, {
    tool_call_id: tool.id,
    child_subagent_id: `${turn.turnId}:${tool.id}`,
    child_role: peek(args, 'agent'),
  })
  delegation.emitStart(peek(args, 'task'), 'inferred')
  const summary = plainText(peek(outcome, 'content'))
  delegation.emitEnd(at, { status: status === 'ok' ? 'completed' : status, summary }, 'inferred')
}

type ToolStatus = 'ok' | 'error' | 'blocked' | 'cancelled'

/** Pi's message for a tool not started because the user stopped the run. */
const ABORTED = 'Operation aborted'
/** Pi's messages for calls that it could not start: invalid arguments, or a truncated answer. */
const UNFIT = ['Validation failed for tool ', 'Tool call "']
const HEAD = 64

/**
 * Derives a tool's status, because Pi reports only an error flag. A tool that was about to run and has no result was blocked by
 * an extension, possibly by an error in it. If another extension blocks first, only the text distinguishes a blocked call from an
 * invalid one.
 */
function toolStatus(
  { calledAt, ran, name }: PiTool,
  { data, context }: TimedEvent,
  outcome: unknown,
): { readonly status: ToolStatus; readonly isSure: boolean } {
  if (booleanOf(peek(data, 'isError')) !== true) return { status: 'ok', isSure: true }
  const text = plainText(peek(outcome, 'content'))
  if (isAborted(context) || text === ABORTED) return { status: 'cancelled', isSure: true }
  if (ran) return { status: 'error', isSure: true }
  if (calledAt !== undefined) return { status: 'blocked', isSure: true }
  return { status: isUnfit(text, name) ? 'error' : 'blocked', isSure: false }
}

function isUnfit(text: string | undefined, name: unknown): boolean {
  if (text === undefined) return true
  const head = text.slice(0, HEAD)
  return UNFIT.some(words => head.startsWith(words)) || text === `Tool ${textOf(name) ?? ''} not found`
}

function toolResult(outcome: unknown): { readonly result: unknown; readonly text: string | undefined } {
  const content = peek(outcome, 'content')
  const text = plainText(content)
  if (text === undefined) return { result: content === undefined ? outcome : { content }, text }
  return { result: wrapJson(text, { content }), text }
}
