import { createRequire } from 'node:module'

let requireHere: NodeJS.Require | undefined

/**
 * Loads a package, a built-in module or a file of this package on first use, so that importing hookspan loads none of them.
 * A bundler takes `load-bundled.js` instead (`imports` in `package.json`), which has everything inside.
 *
 * @param name a literal: `scripts/load-files.mjs` collects the names. A path is relative to a module folder of `src`
 * @throws what `require` throws
 */
export function load<Module>(name: string): Module {
  // Not at the top: in a CommonJS bundle there is no `import.meta.url`, and the program must not die of that.
  requireHere ??= createRequire(import.meta.url)
  return requireHere(name) as Module
}
