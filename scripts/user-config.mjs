// src/config/user-config.ts, out of the table of keys: what an editor shows of a key are the words of the documentation.
import { KEY_NAMES, KEY_ROWS, variableOf } from '../build/config/keys.js'
import { aboutKey, defaultOf } from './configuration-doc.mjs'

const INTRO = `// Generated from src/config/keys.ts by scripts/user-config.mjs; do not edit. npm run docs writes it.
import type { UserValue } from './types.ts'

/**
 * What may be written in code: any of the keys, in the spelling of the file. Durations are milliseconds (\`_ms\`). A value
 * that cannot be used is reported and ignored, never thrown.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export interface UserConfig {
`

function property(key) {
  return `  /** ${aboutKey(key)}. Default: ${defaultOf(KEY_ROWS[key])}. Environment: \`${variableOf(key)}\` */
  readonly ${key}?: UserValue<'${key}'> | undefined
`
}

/** The file, ending in a line break. */
export function userConfig() {
  return `${INTRO}${KEY_NAMES.map(property).join('')}}\n`
}
