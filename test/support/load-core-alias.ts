import { fileURLToPath } from 'node:url'

/** An alias for vitest: its module runner cannot reach what `src/plugin/load-core.ts` requires. */
export const LOAD_CORE: { readonly find: RegExp; readonly replacement: string } = {
  find: /^\.\/load-core\.ts$/,
  replacement: fileURLToPath(new URL('load-core.ts', import.meta.url)),
}
