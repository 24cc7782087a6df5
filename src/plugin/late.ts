import { load } from '../delivery/load-package.ts'
import * as coreAndPipeline from './core-and-pipeline.ts'

/**
 * Receiving records needs little code; processing them needs much. It is loaded on demand, or between turns of the event loop.
 * This holds in the published package, where `scripts/build.mjs` makes it a file of its own.
 */
export function late(): typeof coreAndPipeline {
  return coreAndPipeline
}

/** Like `late()`, but returns `otherwise` if loading fails, for example because the host has too many files open. */
export function askLate<Answer>(ask: (loaded: typeof coreAndPipeline) => Answer, otherwise: Answer): Answer {
  try {
    return ask(late())
  } catch {
    return otherwise
  }
}

/** Loaded first: everything else needs it. */
export function loadApi(): void {
  load('@opentelemetry/api')
}
