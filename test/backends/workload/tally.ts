import { NO_TOKENS, sumOf, type Tokens } from './canonical-usage.ts'

/** What some records come to. */
export interface Sums {
  readonly turns: number
  /** Attempts at a model request, each retry one of its own; and those of them that failed. */
  readonly attempts: number
  readonly failedAttempts: number
  /** Failed attempts that the host meant to try again. */
  readonly retries: number
  readonly sideCalls: number
  readonly failedSideCalls: number
  /** Of the turns' own requests. */
  readonly turnTokens: Tokens
  /** Those and the side calls': what a backend comes to that sums all spans. */
  readonly tokens: Tokens
  readonly toolCalls: number
  /** Calls that came to an end. */
  readonly toolsByOutcome: Readonly<Record<string, number>>
  readonly approvalsAsked: number
  readonly approvalsByChoice: Readonly<Record<string, number>>
  readonly children: number
  readonly childrenReturned: number
  readonly childrenFailed: number
}

type Counter = Exclude<
  { [Key in keyof Sums]: Sums[Key] extends number ? Key : never }[keyof Sums],
  'turnTokens' | 'tokens'
>

/** Counts what it is told of. */
export class Tally {
  readonly #counts: Record<Counter, number> = {
    turns: 0,
    attempts: 0,
    failedAttempts: 0,
    retries: 0,
    sideCalls: 0,
    failedSideCalls: 0,
    toolCalls: 0,
    approvalsAsked: 0,
    children: 0,
    childrenReturned: 0,
    childrenFailed: 0,
  }
  readonly #outcomes: Record<string, number> = {}
  readonly #choices: Record<string, number> = {}
  #turnTokens = NO_TOKENS
  #sideTokens = NO_TOKENS

  count(what: Counter, times = 1): void {
    this.#counts[what] += times
  }

  outcome(word: string): void {
    this.#outcomes[word] = (this.#outcomes[word] ?? 0) + 1
  }

  choice(word: string): void {
    this.#choices[word] = (this.#choices[word] ?? 0) + 1
  }

  tokens(used: Tokens, isSideCall: boolean): void {
    if (isSideCall) this.#sideTokens = sumOf(this.#sideTokens, used)
    else this.#turnTokens = sumOf(this.#turnTokens, used)
  }

  sums(): Sums {
    return {
      ...this.#counts,
      turnTokens: this.#turnTokens,
      tokens: sumOf(this.#turnTokens, this.#sideTokens),
      toolsByOutcome: { ...this.#outcomes },
      approvalsByChoice: { ...this.#choices },
    }
  }
}
