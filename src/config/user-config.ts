import type { KeyName, UserValue } from './types.ts'

// The build writes the keys out, each with the words of its row, for editors.
/**
 * What may be written in code: any of the keys, in the spelling of the file. Durations are milliseconds (`_ms`). A value
 * that cannot be used is reported and ignored, never thrown.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export type UserConfig = { readonly [Key in KeyName]?: UserValue<Key> | undefined }
