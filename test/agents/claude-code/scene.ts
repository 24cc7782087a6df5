import type { HostEvent } from '../../../src/agents/host-event.ts'
import { numberOf } from '../../../src/contract/foreign.ts'

export const START = 1_795_292_811_000

/** Tools that it asks for, and fields that are not as usual. */
interface Answer extends Readonly<Record<string, unknown>> {
  readonly calls?: readonly string[]
}

/** What Claude Code tells in a session, ten milliseconds apart. */
export class Scene {
  readonly events: HostEvent[] = []
  readonly #session: string
  #prompt: string | undefined
  #at = START

  constructor(session = 's1') {
    this.#session = session
  }

  get at(): number {
    return this.#at
  }

  /** A hook with these fields. */
  hook(event: string, data: object = {}): this {
    this.#at += 10
    const base = { session_id: this.#session, hook_event_name: event, prompt_id: this.#prompt }
    this.events.push({ event, at: this.#at, data: { ...base, ...data } })
    return this
  }

  /** A finding in the transcript; without a time of its own, it has that of the previous event. */
  found(kind: string, data: Readonly<Record<string, unknown>> = {}): this {
    const base = { session_id: this.#session, prompt_id: this.#prompt }
    const at = numberOf(data['at'] ?? data['ended_at'])
    this.events.push({ event: `transcript:${kind}`, ...(at !== undefined && { at }), data: { ...base, ...data } })
    return this
  }

  prompted(prompt: string): this {
    this.#prompt = prompt
    return this.hook('UserPromptSubmit', { prompt }).found('read')
  }

  starts(id: string, name = 'Bash', more: object = {}): this {
    return this.hook('PreToolUse', tool(id, name, more)).found('read')
  }

  ends(id: string, name = 'Bash', more: object = {}): this {
    return this.hook('PostToolUse', { ...tool(id, name), tool_response: { stdout: 'ok' }, duration_ms: 5, ...more })
  }

  batch(...ids: readonly string[]): this {
    const tool_calls = ids.map(id => ({ ...tool(id, 'Bash'), tool_response: 'as it was' }))
    return this.hook('PostToolBatch', { tool_calls }).found('read')
  }

  /** Between what was told last and what comes next. */
  answered(message_id: string, { calls = [], ...more }: Answer = {}): this {
    return this.found('response', {
      message_id,
      model: 'claude',
      stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
      usage: { input_tokens: 100, cache_read_input_tokens: 20, output_tokens: 17 },
      content: calls.map(id => ({ type: 'tool_use', id, name: 'Bash', input: {} })),
      started_at: this.#at + 1,
      ended_at: this.#at + 5,
      ...more,
    })
  }

  /** The last answer, and the end of the turn. */
  stops(message_id = 'last'): this {
    this.answered(message_id)
    return this.hook('Stop', { last_assistant_message: 'Done.' }).found('read')
  }
}

export function tool(tool_use_id: string, tool_name: string, more: object = {}): object {
  return { tool_use_id, tool_name, tool_input: { command: tool_use_id }, ...more }
}
