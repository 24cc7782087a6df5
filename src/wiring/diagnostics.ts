import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../core/guard.ts'
import { appendToOwnFile, makePrivateDirectory } from '../trace-log/private-place.ts'
import { askLate } from './late.ts'

/**
 * Takes lines for the person, each a text that begins with `hookspan: `. `console`, pino, winston and the `diag` of OpenTelemetry
 * fit as they are. What its methods return or throw is of no consequence.
 */
export interface Logger {
  /** Nothing is recorded or sent, in part or at all. */
  error(line: string): unknown
  /** Something is set wrong, or was lost, and the person can do something about it. */
  warn(line: string): unknown
  /** Nothing is said here so far. */
  info?(line: string): unknown
  /** With `debug: true` only: what is also in the debug log. */
  debug?(line: string): unknown
}

const writeAnyway = (stream: NodeJS.WriteStream, text: string): void => void stream.write(text)

const toStderr = (line: string): void => {
  // Lines are rare: most plugins that start have none, and need not load what it takes.
  askLate(loaded => loaded.writeTo, writeAnyway)(process.stderr, `${line}\n`)
}

const STDERR: Logger = { error: toStderr, warn: toStderr }

/** What was handed in, when it can be used as a logger. */
export function loggerOf(given: unknown): Logger | undefined {
  const hasMethods = (logger: Partial<Logger>): boolean =>
    typeof logger.error === 'function' && typeof logger.warn === 'function'
  try {
    return given instanceof Object && hasMethods(given) ? (given as Logger) : undefined
  } catch {
    return undefined
  }
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
 * `warn` and `error` are lines on stderr, or go to the logger; `debug` goes to a file in the state directory and to the
 * logger, and only for those who asked.
 */
export function createDiagnostics(debugDirectory: string | undefined, logger: Logger = STDERR): Report {
  const file = debugDirectory === undefined ? undefined : new DebugFile(debugDirectory)
  const say = (level: 'error' | 'warn' | 'debug', line: string): void => {
    const text = oneLine(line)
    file?.write(text)
    try {
      const shown: unknown = logger[level]?.(`hookspan: ${text}`)
      if (shown instanceof Object && 'then' in shown) Promise.resolve(shown).catch(() => undefined)
    } catch {
      // A host whose screen is gone must not lose a span to it.
    }
  }
  return {
    warn: line => say('warn', line),
    error: line => say('error', line),
    debug(line) {
      if (file !== undefined) say('debug', line)
    },
  }
}
