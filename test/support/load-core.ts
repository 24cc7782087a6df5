/** In place of `src/plugin/load-core.ts`: `require` does not reach the modules of vitest. */
import * as coreAndPipeline from '../../src/plugin/core-and-pipeline.ts'

export function loadCore(): typeof coreAndPipeline {
  return coreAndPipeline
}
