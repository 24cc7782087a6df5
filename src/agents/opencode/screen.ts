import { peek } from '../../contract/foreign.ts'
import type { Client } from './types.ts'

type Say = (line: string) => void

/**
 * Returns a writer to opencode's log if opencode draws on the terminal, where a line on stderr would corrupt the screen. Returns
 * undefined otherwise: `run`, `serve`, and servers of other programs.
 */
export function screenReporter(client: Client | undefined): Say | undefined {
  // Plugins run in a worker in terminal mode, and in the main thread in all other modes.
  if (peek(Reflect.get(globalThis, 'Bun'), 'isMainThread') !== false) return undefined
  return line => quiet(client?.app?.log?.({ body: { service: 'hookspan', level: 'warn', message: line } }))
}

/** Ignores the result: the call would wait for startup, and an unhandled rejection would end opencode. */
function quiet(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => undefined)
}
