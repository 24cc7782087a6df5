import type { KeyName, UserValue } from './types.ts'

// The build expands the keys, each with the description of its row, for editors.
/**
 * The configuration in code: any of the keys, spelt as in the file. Durations are milliseconds (`_ms`). An unusable value is
 * reported and ignored, and never throws.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export type UserConfig = { readonly [Key in KeyName]?: UserValue<Key> | undefined }
