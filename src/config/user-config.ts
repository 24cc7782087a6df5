import type { KeyName, UserValue } from './types.ts'

/**
 * What may be written in code: any of the keys, in the spelling of the file. Durations are milliseconds (`_ms`). A value
 * that cannot be used is reported and ignored, never thrown. What is published has each key with the words of its row:
 * the build writes them out.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export type UserConfig = { readonly [Key in KeyName]?: UserValue<Key> | undefined }
