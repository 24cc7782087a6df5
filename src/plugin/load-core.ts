import { load } from '../delivery/load-package.ts'

type CoreAndPipeline = typeof import('./core-and-pipeline.ts')

/**
 * Loads the code that processes records. It is large, so it is loaded on demand, or between turns of the event loop. The build
 * makes it of `core-and-pipeline.ts`, as a CommonJS file, because only `require` is synchronous.
 *
 * @throws if it cannot be loaded, for example because the host has too many files open
 */
export function loadCore(): CoreAndPipeline {
  return load<CoreAndPipeline>('../plugin/core-and-pipeline.cjs')
}
