import { pathToFileURL } from 'node:url'

/** The build that is measured; `HOOKSPAN_DIST` names another one than that of `npm run build`. */
const { HOOKSPAN_DIST } = process.env
export const BUILD =
  HOOKSPAN_DIST === undefined ? new URL('../dist/', import.meta.url) : pathToFileURL(`${HOOKSPAN_DIST}/`)

/** A module of it. */
export const load = path => import(new URL(path, BUILD).href)
