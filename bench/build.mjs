import { pathToFileURL } from 'node:url'

/** What is measured; the variables name other folders than those of `npm run build`. */
const { HOOKSPAN_DIST, HOOKSPAN_BUILD } = process.env
const folder = (name, other) =>
  other === undefined ? new URL(`../${name}/`, import.meta.url) : pathToFileURL(`${other}/`)

/** As a user gets it. */
export const PUBLISHED = folder('dist', HOOKSPAN_DIST)
/** The same as modules, of which programs need some that nobody else can import. */
const MODULES = folder('build', HOOKSPAN_BUILD)

export const load = path => import(new URL(path, MODULES).href)
