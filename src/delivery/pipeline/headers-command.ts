import type { Socket } from 'node:net'
import { homedir } from 'node:os'
import type { StringMap } from '../backends/backend-config.ts'
import { codeOf, type DeliveryFailure } from './delivery.ts'
import { childProcess } from './sdk.ts'

const LIFETIME_MILLIS = 300_000
const TIME_LIMIT_MILLIS = 10_000
const MAX_OUTPUT_CHARS = 65_536
/** The characters of a token in `authorization: Bearer`. */
const TOKEN = /^[\w.~+/=-]+$/
const TOO_LONG = 'took too long'

export type CommandHeaders =
  | { readonly ok: true; readonly headers: StringMap }
  | { readonly ok: false; readonly failure: DeliveryFailure }

/**
 * Headers that a program of the user prints, for credentials that live for minutes. All signals of a backend share them. No message
 * contains a part of the output, which may be a secret.
 */
export class HeadersCommand {
  readonly #command: readonly string[]
  #current: CommandHeaders | undefined
  #running: Promise<CommandHeaders> | undefined
  #expiresAt = 0

  constructor(command: readonly string[]) {
    this.#command = command
  }

  /** Runs the program if its last output has expired. Resolves soon after `signal` aborts. */
  async read(timeoutMillis: number, signal: AbortSignal): Promise<CommandHeaders> {
    if (this.#current?.ok && performance.now() < this.#expiresAt) return this.#current
    this.#running ??= this.#run().then(result => {
      this.#running = undefined
      this.#expiresAt = performance.now() + LIFETIME_MILLIS
      this.#current = result
      return result
    })
    const running = this.#running
    return new Promise(resolve => {
      const settle = (result: CommandHeaders): void => {
        clearTimeout(expiry)
        // The signal may be that of a queue, which lives as long as the process.
        signal.removeEventListener('abort', giveUp)
        resolve(result)
      }
      const giveUp = (): void => settle(failed(TOO_LONG))
      const expiry = setTimeout(giveUp, timeoutMillis).unref()
      signal.addEventListener('abort', giveUp)
      if (signal.aborted) giveUp()
      void running.then(settle)
    })
  }

  /** Makes the next request run the program again, unless another request has done so since. */
  expire(refused: CommandHeaders): void {
    if (this.#current === refused) this.#current = undefined
  }

  /** Without a shell, and in the home directory: a file in the working directory must not decide what runs. */
  #run(): Promise<CommandHeaders> {
    const [program = '', ...args] = this.#command
    return new Promise(resolve => {
      try {
        const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore']
        const child = childProcess().spawn(program, args, { cwd: homedir(), stdio, windowsHide: true })
        const expiry = setTimeout(() => {
          child.kill('SIGKILL')
          // A descendant may hold the pipe.
          child.stdout.destroy()
          resolve(failed(TOO_LONG))
        }, TIME_LIMIT_MILLIS)
        const settle = (result: CommandHeaders): void => {
          clearTimeout(expiry)
          resolve(result)
        }
        let output = ''
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          if (output.length <= MAX_OUTPUT_CHARS) output += text
        })
        child.on('error', error => settle(failed(`cannot run (${codeOf(error)})`)))
        child.on('close', (code, signal) => {
          const end = code === null ? `was ended by ${signal}` : `ended with code ${code}`
          settle(code === 0 ? parse(output) : failed(end))
        })
        // The process may end meanwhile: what waits for this keeps it alive.
        expiry.unref()
        child.unref()
        if ('unref' in child.stdout) (child.stdout as Socket).unref()
      } catch (error) {
        resolve(failed(`cannot run (${codeOf(error)})`))
      }
    })
  }
}

function failed(reason: string): CommandHeaders {
  return { ok: false, failure: { kind: 'command', reason } }
}

/** `abc` -> `authorization: Bearer abc`; otherwise a JSON object of headers. Headers of the payload are not changed. */
function parse(output: string): CommandHeaders {
  const text = output.trim()
  if (TOKEN.test(text)) return { ok: true, headers: { authorization: `Bearer ${text}` } }
  try {
    const entries = text.startsWith('{') ? Object.entries(JSON.parse(text) as Record<string, unknown>) : []
    if (entries.length > 0 && entries.every(([, value]) => typeof value === 'string')) {
      const headers = entries.map(([name, value]) => [name.toLowerCase(), String(value).trim()] as const)
      return { ok: true, headers: Object.fromEntries(headers.filter(([name]) => !name.startsWith('content-'))) }
    }
  } catch {
    // Reported below.
  }
  return failed('printed neither a token nor a JSON object of headers')
}
