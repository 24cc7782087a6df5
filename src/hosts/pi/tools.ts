import { booleanOf, idOf, numberOf, peek } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { isApproval, PiApproval } from './approvals.ts'
import { delegationOf } from './delegation.ts'
import { isAborted, type Moment, type TurnIds } from './moment.ts'
import { type ToolStatus, toolResult, toolStatus } from './tool-end.ts'

/** Tools whose end was never told must not pile up in a turn of days. */
const OPEN_LIMIT = 1000

interface OpenTool {
  readonly id: string
  readonly name: unknown
  readonly args: unknown
  readonly startedAt: number
  readonly requestId: string | undefined
  /** `tool_call` was seen: its arguments were good, and it is about to run. */
  calledAt: number | undefined
  /** `tool_result` was seen: it ran. */
  ran: boolean
  approval: PiApproval | undefined
}

/** The tool calls of one turn, and the questions that are asked about them. */
export class PiTools {
  readonly #ids: TurnIds
  readonly #open = new Map<string, OpenTool>()
  /** The one that was about to run last: what is asked now is most likely about it. */
  #latest: OpenTool | undefined
  /** Asked, answered or not, and not told yet. */
  #asking: PiApproval | undefined

  constructor(ids: TurnIds) {
    this.#ids = ids
  }

  start({ at, data }: Moment, requestId: string | undefined): HookRecord[] {
    const id = idOf(peek(data, 'toolCallId'))
    if (id === undefined || this.#open.has(id)) return []
    const tool: OpenTool = {
      id,
      name: peek(data, 'toolName'),
      args: peek(data, 'args'),
      startedAt: at,
      requestId,
      calledAt: undefined,
      ran: false,
      approval: undefined,
    }
    this.#remember(tool)
    const { name, args } = tool
    return [hookRecord('pre_tool_call', at, { ...this.#identity(tool), tool_name: name, args })]
  }

  /** `tool_call`: nobody has refused it yet. */
  called({ at, data }: Moment): HookRecord[] {
    const tool = this.#find(data)
    if (tool !== undefined) {
      tool.calledAt ??= at
      this.#latest = tool
    }
    return []
  }

  /** `tool_result`: it ran, so whoever was asked has agreed. */
  returned({ data }: Moment): HookRecord[] {
    const tool = this.#find(data)
    if (tool === undefined) return []
    tool.ran = true
    return tool.approval?.decided('once') ?? []
  }

  /** `tool_execution_end`; or the message with its result, where that end was lost. */
  end(moment: Moment, outcome: unknown): HookRecord[] {
    const tool = this.#find(moment.data)
    if (tool === undefined) return []
    this.#forget(tool)
    const { status, isSure } = toolStatus({
      isError: booleanOf(peek(moment.data, 'isError')) === true,
      isAborted: isAborted(moment.context),
      isCalled: tool.calledAt !== undefined,
      ran: tool.ran,
      name: tool.name,
      outcome,
    })
    return [
      ...(tool.approval?.decided(choiceOf(status)) ?? []),
      ...delegationOf(this.#ids, tool, { at: moment.at, status, outcome }),
      this.#ended(tool, moment, status, isSure, outcome),
    ]
  }

  /** `ui_prompt_start`. Outside of tools an extension asks about something of its own. */
  asked(moment: Moment): HookRecord[] {
    const tool = this.#askedAbout()
    if (tool === undefined || !isApproval(moment.data) || (this.#asking !== undefined && !this.#asking.isAnswered))
      return []
    // A second question about the same tool: the first one has not stopped it.
    const before = tool.approval?.decided('once') ?? []
    tool.approval = new PiApproval(this.#ids, tool, moment.at)
    this.#asking = tool.approval
    return [...before, tool.approval.request(moment)]
  }

  answered({ at }: Moment): HookRecord[] {
    const approval = this.#asking
    this.#asking = undefined
    return approval?.answered(at) ?? []
  }

  /** The turn is over. */
  close(at: number): HookRecord[] {
    const records = this.#asking?.close(at) ?? []
    for (const { approval } of this.#open.values()) records.push(...(approval?.close(at) ?? []))
    this.#asking = undefined
    this.#open.clear()
    return records
  }

  #ended(tool: OpenTool, { at, data }: Moment, status: ToolStatus, isSure: boolean, outcome: unknown): HookRecord {
    const { result, text } = toolResult(outcome)
    return hookRecord(
      'post_tool_call',
      at,
      {
        ...this.#identity(tool),
        tool_name: tool.name,
        result,
        status,
        duration_ms: numberOf(peek(data, 'durationMs')),
        ...(status === 'error' ? { error_message: text } : {}),
      },
      isSure ? undefined : 'inferred',
    )
  }

  /**
   * Pi makes its tools ready one after another and runs them together, so what is asked before one of them has run is
   * about the one that was made ready last.
   */
  #askedAbout(): OpenTool | undefined {
    if (this.#open.size === 1) return this.#open.values().next().value
    return this.#latest !== undefined && !this.#anyRan() && this.#open.has(this.#latest.id) ? this.#latest : undefined
  }

  #anyRan(): boolean {
    for (const tool of this.#open.values()) if (tool.ran) return true
    return false
  }

  #find(data: unknown): OpenTool | undefined {
    const id = idOf(peek(data, 'toolCallId'))
    return id === undefined ? undefined : this.#open.get(id)
  }

  #remember(tool: OpenTool): void {
    this.#open.set(tool.id, tool)
    const [oldest] = this.#open.keys()
    if (this.#open.size > OPEN_LIMIT && oldest !== undefined) this.#open.delete(oldest)
  }

  #forget(tool: OpenTool): void {
    this.#open.delete(tool.id)
    if (this.#latest === tool) this.#latest = undefined
  }

  #identity({ id, requestId }: OpenTool): TurnIds & { tool_call_id: string; api_request_id: string | undefined } {
    return { ...this.#ids, tool_call_id: id, api_request_id: requestId }
  }
}

function choiceOf(status: ToolStatus): string {
  if (status === 'blocked') return 'deny'
  return status === 'cancelled' ? 'cancelled' : 'once'
}
