import { randomUUID } from 'node:crypto'
import type { Plugin } from '../../plugin/plugin.ts'
import type { Ended } from './run-program.ts'

/** Signals by which a user or supervisor ends a program. They are no failure. */
const STOPPING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
const PLAIN_WORD = /^[\w@%+=:,./-]+$/

type How = 'completed' | 'failed' | 'interrupted'

/** Records a program as a turn with one tool call. */
export class RunTurn {
  /** The parent context for the program. Undefined if `propagate_context` is off or nothing is recorded. */
  readonly traceparent: string | undefined
  readonly #plugin: Plugin
  readonly #ids: { readonly session_id: string; readonly turn_id: string }
  readonly #call: { readonly tool_call_id: string; readonly tool_name: string }

  constructor(plugin: Plugin, name: string, words: readonly string[]) {
    const id = randomUUID()
    this.#plugin = plugin
    this.#ids = { session_id: id, turn_id: id }
    this.#call = { tool_call_id: id, tool_name: name }
    void plugin.emit('on_session_start', { ...this.#ids, platform: 'cli' })
    void plugin.emit('pre_tool_call', { ...this.#ids, ...this.#call, args: { command: words.map(quoted).join(' ') } })
    this.traceparent = plugin.traceparent({ ...this.#ids, ...this.#call })
  }

  end(ended: Ended): void {
    const { how, fields } = told(ended)
    void this.#plugin.emit('post_tool_call', { ...this.#ids, ...this.#call, ...fields })
    void this.#plugin.emit('on_session_end', { ...this.#ids, [how]: true })
  }
}

function told(ended: Ended): { how: How; fields: object } {
  if (ended.how === 'not started') return { how: 'failed', fields: { status: 'error', error_type: ended.code } }
  if (ended.how === 'signal') {
    if (STOPPING.includes(ended.signal)) return { how: 'interrupted', fields: { status: 'cancelled' } }
    return { how: 'failed', fields: { status: 'error', error_type: ended.signal } }
  }
  const result = { exit_code: ended.code }
  if (ended.code === 0) return { how: 'completed', fields: { status: 'ok', result } }
  return { how: 'failed', fields: { status: 'error', error_type: `exit_${ended.code}`, result } }
}

/** Quotes for a shell, the form that the detector of secrets expects. */
function quoted(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
