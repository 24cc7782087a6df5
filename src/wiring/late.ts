import { load } from '../packages/load.ts'
import * as coreAndPipeline from './core-and-pipeline.ts'

/**
 * What takes records is small, and what works them off is not: it is loaded when it is needed, or between two turns of the event
 * loop. In what is published; `scripts/build.mjs` makes it a file of its own there.
 */
export function late(): typeof coreAndPipeline {
  return coreAndPipeline
}

/** For who may not throw: what `ask` gives; `otherwise` where it cannot be loaded, because the host has too many files open. */
export function askLate<Answer>(ask: (loaded: typeof coreAndPipeline) => Answer, otherwise: Answer): Answer {
  try {
    return ask(late())
  } catch {
    return otherwise
  }
}

/** First of all: whatever else there is needs it. */
export function loadApi(): void {
  load('@opentelemetry/api')
}
