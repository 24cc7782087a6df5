import type { ConfigProblem } from './types.ts'

export type ProblemLevel = ConfigProblem['level']

const MAX_SHOWN = 40
/** Of each level: nobody reads more, and a file that is no configuration at all has tens of thousands. */
const MAX_PROBLEMS = 50

/** What is done about it; as a function where it costs something to find out, because most of too many are not shown. */
export type Outcome = string | undefined | (() => string | undefined)

/** Collects what is to be said, in the one form that all of it has. */
export class Problems {
  readonly #found = new Map<string, ConfigProblem>()
  readonly #count: Record<ProblemLevel, number> = { error: 0, warning: 0 }

  get found(): readonly ConfigProblem[] {
    return [...this.#found.values(), ...this.#notShown('error'), ...this.#notShown('warning')]
  }

  /** `place`: file and line, or variable. */
  add(level: ProblemLevel, key: string, text: string, place?: string, outcome?: Outcome): void {
    if (this.#count[level] >= MAX_PROBLEMS) {
      this.#count[level] += 1
      return
    }
    const done = typeof outcome === 'function' ? outcome() : outcome
    const message = `config: ${key}: ${text}${place ? ` (${place})` : ''}${done ? `; ${done}` : ''}`
    if (this.#found.has(message)) return
    this.#found.set(message, { level, key, message })
    this.#count[level] += 1
  }

  #notShown(level: ProblemLevel): ConfigProblem[] {
    const more = this.#count[level] - MAX_PROBLEMS
    if (more <= 0) return []
    return [{ level, key: 'more', message: `config: and ${more} more ${level}${more === 1 ? '' : 's'}` }]
  }
}

/** Somebody else's text inside a message: quoted, short, on one line. What holds an @ may hold credentials. */
export function quote(text: string): string {
  if (text.includes('@')) return 'other text'
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text)
}

// Words of letters with separators; or too short for a secret.
const SHOWN_NAME = /^(?=.{1,40}$)[._-]*[A-Za-z]{1,14}(?:[._-]+[A-Za-z]{1,14})*[._-]*$|^[A-Za-z0-9_.-]{1,11}$/

/**
 * A name out of somebody's configuration, as it may be shown. A missing space (`{api_key:sk-12}`) makes a secret part of
 * a name; secrets hold digits and other characters, or long runs of letters.
 */
export function showName(name: string): string {
  return SHOWN_NAME.test(name) ? name : '(a name that is not shown)'
}

/** `a, b or c` */
export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
