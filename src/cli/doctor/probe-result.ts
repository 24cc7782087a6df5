import type { ReadBackOutcome } from './read-back.ts'

/** The result of the probe of one backend. Null: not tried. */
export interface ProbeResult {
  readonly name: string
  readonly type: string
  /** The URL or the path of a file. Undefined for the terminal, or if unknown. */
  readonly url?: string
  /** The backend receives log events, which are not probed. */
  readonly isSentLogs?: boolean
  readonly delivered: boolean | null
  readonly metrics: boolean | null
  readonly readBack: ReadBackOutcome | null
  /** Set if the probe was read back. */
  readonly readBackUrl?: string
  /** Time until the probe was read back; if it was not, until it was delivered. */
  readonly millis: number | null
  /** Reasons for a failed delivery. */
  readonly problems: readonly ProbeProblem[]
  /** Other diagnostics of the pipeline, such as an ignored setting. */
  readonly warnings: readonly ProbeProblem[]
}

export interface ProbeOptions {
  /** Time limit for a server to show the probe. */
  readonly waitMillis: number
  /** Send nothing and only check that sending is possible. */
  readonly isOffline: boolean
}

/** A diagnostic of the pipeline, split into problem and remedy. */
export interface ProbeProblem {
  /** The whole text on one line. */
  readonly line: string
  readonly what: string
  readonly remedy?: string
}

/** The part of a message about spans of the meantime. Wrong for a probe, which no trace log keeps. */
const MEANWHILE = /;[^;.(]*\b(?:is|are) (?:dropped|kept)\b[^.(]*?(?=\s*\(|\.\s|$)/g

/** A remedy starts a sentence or follows a semicolon. */
const ADVICE = /\. (?=[A-Z])|; (?=correct |look for |its own log )/

/** Adapts a diagnostic to spans that are neither kept nor dropped. */
export function withoutMeanwhile(said: string): string {
  return said.replace(MEANWHILE, '')
}

/** Parses a diagnostic of the form `backend NAME: problem. Remedy`. */
export function probeProblem(said: string): ProbeProblem {
  const line = withoutMeanwhile(said)
  const at = ADVICE.exec(line)
  const what = (at === null ? line : line.slice(0, at.index)).replace(/^backend /, '')
  return { line, what, ...(at === null ? {} : { remedy: line.slice(at.index + 2) }) }
}
