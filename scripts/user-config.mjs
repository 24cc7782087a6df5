// The declaration of `UserConfig` that is published, out of the table of keys: what an editor shows of a key are the words of
// the documentation. The compiler's own has the keys alone.
import { code } from './markdown.mjs'

const INTRO = `import type { UserValue } from './types.ts';
/**
 * What may be written in code: any of the keys, in the spelling of the file. Durations are milliseconds (\`_ms\`). A value
 * that cannot be used is reported and ignored, never thrown.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export interface UserConfig {
`

/** What is in force where nothing is set, in words. */
export function defaultOf({ default: value, fromHost, follows, type }) {
  if (follows) return `as ${code(follows)}`
  const own = typeof value === 'object' ? Object.values(value).join(', ') : value
  const shown = own === undefined || own === '' ? (type === 'prometheus' ? 'off' : 'none') : code(own)
  return fromHost ? `the host's name, else ${shown}` : shown
}

function rangeOf({ type, min, max, values }) {
  if (values) return ` (${type === 'list' ? 'list of ' : ''}${values.map(code).join(', ')})`
  if (max !== undefined) return ` (${min} to ${max})`
  return min === undefined ? '' : ` (${type === 'integer' || type === 'chars' ? 'whole number, ' : ''}≥ ${min})`
}

/** What a key is about, and what it can be set to. */
export function aboutKey(row) {
  return row.about + rangeOf(row)
}

/** @param keys the module `config/keys`, compiled */
export function userConfigDeclaration({ KEY_ROWS, variableOf }) {
  const properties = Object.entries(KEY_ROWS).map(
    ([key, row]) =>
      `    /** ${aboutKey(row)}. Default: ${defaultOf(row)}. Environment: \`${variableOf(key)}\` */
    readonly ${key}?: UserValue<'${key}'> | undefined;
`,
  )
  return `${INTRO}${properties.join('')}}\n`
}
