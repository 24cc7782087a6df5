import type { ReadBackOutcome } from './read-back.ts'

/** What became of the probe of one backend. Null: it was not tried. */
export interface ProbeResult {
  readonly name: string
  readonly type: string
  /** Where it was sent, or the path of a file; absent for the terminal, and where it cannot be told. */
  readonly url?: string
  /** It is sent log events, of which there is no probe. */
  readonly isSentLogs?: boolean
  readonly delivered: boolean | null
  readonly metrics: boolean | null
  readonly readBack: ReadBackOutcome | null
  /** Where it was asked for. */
  readonly readBackUrl?: string
  /** Until it was read back; else until it was delivered. */
  readonly millis: number | null
  /** Why it did not arrive. */
  readonly problems: readonly ProbeProblem[]
  /** What else the pipeline had to say, such as a setting that is ignored. */
  readonly warnings: readonly ProbeProblem[]
}

export interface ProbeOptions {
  /** How long a server may take to show what it has taken. */
  readonly waitMillis: number
  /** Send nothing: only look whether it could be sent. */
  readonly isOffline: boolean
}

/** A line of the pipeline, cut into what is wrong and what to do about it. */
export interface ProbeProblem {
  /** All of it, on one line. */
  readonly line: string
  readonly what: string
  readonly remedy?: string
}

/** What is said of what is recorded while it goes on. It is not true of a probe, which no trace log keeps. */
const MEANWHILE = /;[^;.(]*\b(?:is|are) (?:dropped|kept)\b[^.(]*?(?=\s*\(|\.\s|$)/g

/** Advice starts a sentence, or stands behind a semicolon. */
const ADVICE = /\. (?=[A-Z])|; (?=correct |look for |its own log )/

/** A line of the pipeline about spans that are neither kept for the backend nor dropped. */
export function withoutMeanwhile(said: string): string {
  return said.replace(MEANWHILE, '')
}

/** `backend NAME: problem. Remedy`, as the pipeline says it. */
export function probeProblem(said: string): ProbeProblem {
  const line = withoutMeanwhile(said)
  const at = ADVICE.exec(line)
  const what = (at === null ? line : line.slice(0, at.index)).replace(/^backend /, '')
  return { line, what, ...(at === null ? {} : { remedy: line.slice(at.index + 2) }) }
}
