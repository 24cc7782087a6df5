import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll } from 'vitest'

/**
 * Replaces functions of a built-in module while the tests of the calling file run. Not by `vi.mock`, which needs a process for
 * each file: the next file would find the replaced module.
 *
 * @param builtin the default export of the module
 * @param replace gets the functions as they are
 */
export function replaceBuiltin<Module extends object>(
  builtin: Module,
  replace: (real: Module) => Partial<Module>,
): void {
  const real = { ...builtin }
  const replaced = replace(real)
  const names = Object.keys(replaced) as (keyof Module)[]
  beforeAll(() => {
    Object.assign(builtin, replaced)
    syncBuiltinESMExports()
  })
  afterAll(() => {
    for (const name of names) builtin[name] = real[name]
    syncBuiltinESMExports()
  })
}
