import { createRequire } from 'node:module'

let requireHere: NodeJS.Require | undefined

/**
 * Loads a package, a built-in module or a file of this package on first use, so that importing hookspan loads none of them.
 * Bundlers resolve `load-bundled.js` instead (`imports` in `package.json`), which contains everything. `require` is created
 * lazily: in a CommonJS bundle `import.meta.url` is undefined, and must not crash the program at startup.
 *
 * @param name a literal: `scripts/load-files.mjs` collects the names. A path is relative to a module folder
 * @throws the error of `require`
 */
export function load<Module>(name: string): Module {
  requireHere ??= createRequire(import.meta.url)
  return requireHere(name) as Module
}
