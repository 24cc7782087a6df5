import type { HookName } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import type { Tool } from './tool.ts'
import type { HostTurn } from './turn.ts'

export type ControlHookName = Extract<HookName, `${string}_control_hook`>
type Payload = LoosePayload<'post_control_hook'>

interface ControlHookRecord {
  readonly hook: ControlHookName
  readonly at: number
  readonly payload: Payload
}

/** Beyond this the oldest record is emitted, without its tool. */
const BUFFERED_LIMIT = 1000

/**
 * Control hooks that look at the tool calls of one turn, in an SDK that runs them before it reports the start of the tool. Their
 * records are buffered until then, so that their spans stand below that of the tool.
 */
export class ToolHooks {
  readonly #turn: HostTurn
  #buffered: ControlHookRecord[] = []

  constructor(turn: HostTurn) {
    this.#turn = turn
  }

  get isEmpty(): boolean {
    return this.#buffered.length === 0
  }

  receive(hook: ControlHookName, at: number, payload: Payload, running: Tool | undefined): void {
    const record = { hook, at, payload }
    if (running !== undefined) {
      this.#emit(record, running.id)
      return
    }
    this.#buffered.push(record)
    const oldest = this.#buffered.length > BUFFERED_LIMIT ? this.#buffered.shift() : undefined
    if (oldest !== undefined) this.#emit(oldest)
  }

  /**
   * Emits the start of a tool, at the time of its first hook, and its hooks below it. Returns the time of its last hook record.
   *
   * @param callId the id of the call in the SDK
   */
  startTool(tool: Tool, callId: string = tool.id): number | undefined {
    const own = this.isEmpty ? [] : this.#buffered.filter(({ payload }) => payload.tool_call_id === callId)
    const [first] = own
    if (first === undefined) {
      tool.emitStart()
      return undefined
    }
    this.#buffered = this.#buffered.filter(record => !own.includes(record))
    tool.startAt = Math.min(tool.startAt, first.at)
    tool.emitStart()
    for (const record of own) this.#emit(record, tool.id)
    return own.at(-1)?.at
  }

  flush(): void {
    for (const record of this.#buffered.splice(0)) this.#emit(record)
  }

  #emit({ hook, at, payload }: ControlHookRecord, toolId = payload.tool_call_id): void {
    this.#turn.emit(hook, at, { ...payload, tool_call_id: toolId })
  }
}
