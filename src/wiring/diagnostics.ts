import { statSync } from 'node:fs'
import { join } from 'node:path'
import { appendToOwnFile, makePrivateDirectory } from '../pipeline/index.ts'

/** Where the lines for the person go; one call is one line. */
export interface Diagnostics {
  warn(line: string): void
  error(line: string): void
  debug(line: string): void
}

/** Takes one line for the person. */
export type LineSink = (line: string) => void

function toStderr(line: string): void {
  process.stderr.write(`hookspan: ${line}\n`)
}

/** The debug log stops here: nobody reads more, and a disk must not fill because debugging was forgotten. */
const DEBUG_FILE_LIMIT_BYTES = 10 * 1024 * 1024

function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, ' ')
}

class DebugFile {
  readonly #directory: string
  readonly #path: string
  #isOpen = false

  constructor(directory: string) {
    this.#directory = directory
    this.#path = join(directory, 'debug.log')
  }

  write(line: string): void {
    // Debugging must not break what it looks at: a log that cannot be written is done without.
    try {
      if (!this.#isOpen) makePrivateDirectory(this.#directory)
      this.#isOpen = true
      if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) > DEBUG_FILE_LIMIT_BYTES) return
      appendToOwnFile(this.#path, `${new Date().toISOString()} ${line}\n`)
    } catch {
      this.#isOpen = false
    }
  }
}

/**
 * `warn` and `error` are lines on stderr that start with `hookspan:`, or go to `sink` as they are; `debug` goes to a file in
 * the state directory, and only for those who asked.
 */
export function createDiagnostics(debugDirectory: string | undefined, sink: LineSink = toStderr): Diagnostics {
  const file = debugDirectory === undefined ? undefined : new DebugFile(debugDirectory)
  const say = (line: string): void => {
    const text = oneLine(line)
    file?.write(text)
    try {
      const shown: unknown = sink(text)
      if (shown instanceof Object && 'then' in shown) Promise.resolve(shown).catch(() => undefined)
    } catch {
      // A host whose screen is gone must not lose a span to it.
    }
  }
  return { warn: say, error: say, debug: line => file?.write(oneLine(line)) }
}
