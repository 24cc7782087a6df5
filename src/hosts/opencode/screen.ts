import { peek } from '../../contract/foreign.ts'
import type { Client } from './types.ts'

type Say = (line: string) => void

/**
 * Where lines for the person go when opencode draws on the terminal, where a line on stderr would stay as rubbish: into
 * opencode's log. Undefined where it does not draw: `run`, `serve`, and the servers of other programs.
 */
export function screenOf(client: Client | undefined): Say | undefined {
  // The plugins of a terminal's opencode live in a worker, those of all others in the main thread.
  if (peek(Reflect.get(globalThis, 'Bun'), 'isMainThread') !== false) return undefined
  return line => quiet(client?.app?.log?.({ body: { service: 'hookspan', level: 'warn', message: line } }))
}

/** It waits for what is starting, so it is not waited for; and a refusal that nobody listens to would end opencode. */
function quiet(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => undefined)
}
