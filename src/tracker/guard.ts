/** The destination of diagnostics. One call is one line. */
export interface Diagnostics {
  /** Data was lost or an option is wrong, and the user can do something about it. */
  warn(line: string): void
  error(line: string): void
  debug(line: string): void
}

/** Length of the stack that is searched after the message: its first frames, however long a host's paths are. */
const FRAMES_LIMIT = 1000
const FRAME = /^ {4}at .{0,300}?([\w-]{1,60}\.[cm]?[jt]s:\d{1,7})/

/** File and line of the first frame. The message comes first in a stack and is skipped, because it could imitate a frame. */
function placeOf({ stack, message }: Error): string | undefined {
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined
  const header = stack.indexOf(message)
  if (header < 0) return undefined
  const frames = stack.slice(header + message.length, header + message.length + FRAMES_LIMIT).split('\n')
  return frames.map(frame => FRAME.exec(frame)?.[1]).find(place => place !== undefined)
}

/** Limit of distinct causes; further ones are only counted. A host whose failures vary in wording must not flood stderr. */
const CAUSES_LIMIT = 100

/** Reports each line once. The same problem recurs with each record. */
export function onceEach(report: (line: string) => void): (line: string) => void {
  const lines = new Set<string>()
  return line => {
    if (lines.has(line) || lines.size >= CAUSES_LIMIT) return
    lines.add(line)
    report(line)
  }
}

/**
 * The fail-open boundary, and the outermost catch of the hot path. An error inside becomes one line per
 * distinct cause and a count. The host never sees it.
 */
export class Guard {
  /** Masks an error's name before it is written: a host's error can carry agent content there. */
  readonly #clean: (text: string) => string
  readonly #warnOnce: (line: string) => void
  count = 0

  constructor(report: Diagnostics, clean: (text: string) => string) {
    this.#warnOnce = onceEach(line => report.warn(line))
    this.#clean = clean
  }

  run<Result>(site: string, body: () => Result, fallback: Result): Result {
    try {
      return body()
    } catch (error) {
      this.noteError(site, error)
      return fallback
    }
  }

  /** Like `run`, for a function with arguments: saves a closure per call on the hot path. */
  call<One, Two, Result, Three = undefined, Four = undefined>(
    site: string,
    body: (one: One, two: Two, three: Three, four: Four) => Result,
    fallback: Result,
    one: One,
    two: Two,
    three?: Three,
    four?: Four,
  ): Result {
    try {
      return body(one, two, three as Three, four as Four)
    } catch (error) {
      this.noteError(site, error)
      return fallback
    }
  }

  noteError(site: string, error: unknown): void {
    this.count += 1
    const cause = `${site}: ${this.#describe(error)}`
    this.#warnOnce(`${cause}; the hook is counted as an error, the agent is not affected`)
  }

  /** The type and place of an error, not its message: a host's error can quote its user. Even these can be throwing getters. */
  #describe(error: unknown): string {
    try {
      if (!(error instanceof Error)) return 'something that is no error was thrown'
      const place = placeOf(error)
      const name = this.#clean(error.name)
      return place === undefined ? name : `${name} at ${this.#clean(place)}`
    } catch {
      return 'an error that cannot be read'
    }
  }
}
