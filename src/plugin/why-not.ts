import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { peek, textOf } from '../contract/foreign.ts'

/** `import.meta.url` is missing in a CommonJS bundle, so `createRequire` gets `undefined`. */
const NOT_LOADED: readonly unknown[] = ['MODULE_NOT_FOUND', 'ERR_INVALID_ARG_VALUE']

/** Explains why recording did not start. Uses the error's code or name: the message of a host's error may contain anything. */
export function whyNotStarted(error: unknown): string {
  return `nothing is recorded, because it could not be started: ${whyNot(error)}`
}

function whyNot(error: unknown): string {
  const found = peek(error, 'code')
  const isNotLoaded = NOT_LOADED.includes(found)
  const code = isNotLoaded ? openError() : found
  if (code === 'EMFILE' || code === 'ENFILE') return `too many files are open (${code}); raise the limit (ulimit -n)`
  if (isNotLoaded)
    return 'files of hookspan are missing; if a bundler made this program, mark `hookspan` as external in it'
  return textOf(code) ?? textOf(peek(error, 'name')) ?? 'something unknown was thrown'
}

/** If too many files are open, the loader reports a module as missing. Undefined if a file can be opened. */
function openError(): unknown {
  try {
    closeSync(openSync(fileURLToPath(import.meta.url), 'r'))
    return undefined
  } catch (error) {
    return peek(error, 'code')
  }
}
