import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { peek, textOf } from '../contract/foreign.ts'

/** Why nothing is recorded. The error's code or name, and not what it says: a host's can quote anything. */
export function whyNotStarted(error: unknown): string {
  const code = peek(error, 'code') === 'MODULE_NOT_FOUND' ? openError() : peek(error, 'code')
  const why =
    code === 'EMFILE' || code === 'ENFILE'
      ? `too many files are open (${code}); raise the limit (ulimit -n)`
      : (textOf(code) ?? textOf(peek(error, 'name')) ?? 'something unknown was thrown')
  return `nothing is recorded, because it could not be started: ${why}`
}

/** Of a module that it cannot open the loader says that it is not there. */
function openError(): unknown {
  try {
    closeSync(openSync(fileURLToPath(import.meta.url), 'r'))
    return 'MODULE_NOT_FOUND'
  } catch (error) {
    return peek(error, 'code')
  }
}
