import { statSync } from 'node:fs'
import { join } from 'node:path'
import { ignoreErrors } from '../contract/foreign.ts'
import { appendToOwnFile, makePrivateDirectory } from '../delivery/trace-log/private-file.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import { loadCore } from './load-core.ts'
import type { Logger } from './plugin.ts'

const writeAnyway = (stream: NodeJS.WriteStream, text: string): void => void stream.write(text)

const toStderr = (line: string): void => {
  const write = ignoreErrors(() => loadCore().writeTo) ?? writeAnyway
  write(process.stderr, `${line}\n`)
}

const STDERR: Logger = { error: toStderr, warn: toStderr }

export function loggerOf(given: unknown): Logger | undefined {
  const hasMethods = (logger: Partial<Logger>): boolean =>
    typeof logger.error === 'function' && typeof logger.warn === 'function'
  return ignoreErrors(() => given instanceof Object && hasMethods(given)) === true ? (given as Logger) : undefined
}

/** The debug log ends here: forgotten debugging must not fill a disk. */
const DEBUG_FILE_LIMIT_BYTES = 10 * 1024 * 1024

function debugFile(directory: string): (line: string) => void {
  const path = join(directory, 'debug.log')
  let isOpen = false
  return line => {
    // Debugging must not break the host: if the log cannot be written, the line is dropped.
    try {
      if (!isOpen) makePrivateDirectory(directory)
      isOpen = true
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > DEBUG_FILE_LIMIT_BYTES) return
      appendToOwnFile(path, `${new Date().toISOString()} ${line}\n`)
    } catch {
      isOpen = false
    }
  }
}

/**
 * `warn` and `error` go to stderr or the logger. `debug` goes to a file in the state directory and to the logger, if enabled.
 */
export function createDiagnostics(debugDirectory: string | undefined, logger: Logger = STDERR): Diagnostics {
  const writeToFile = debugDirectory === undefined ? undefined : debugFile(debugDirectory)
  const say = (level: 'error' | 'warn' | 'debug', line: string): void => {
    const text = line.replace(/\s*[\r\n]+\s*/g, ' ')
    writeToFile?.(text)
    try {
      const shown: unknown = logger[level]?.(`hookspan: ${text}`)
      if (shown instanceof Object && 'then' in shown) Promise.resolve(shown).catch(() => undefined)
    } catch {
      // A closed terminal must not cost the host a span.
    }
  }
  return {
    warn: line => say('warn', line),
    error: line => say('error', line),
    debug(line) {
      if (writeToFile !== undefined) say('debug', line)
    },
  }
}
