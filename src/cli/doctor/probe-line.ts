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
