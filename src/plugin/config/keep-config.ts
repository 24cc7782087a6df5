/** The rules that select the turns to keep. */
export interface KeepConfig {
  readonly errors: boolean
  readonly denied: boolean
  readonly slower_than_ms: number | undefined
  readonly waits_count: boolean
  readonly cost_over: number | undefined
  readonly tokens_over: number | undefined
  readonly tools: readonly string[]
  readonly rate: number | undefined
  readonly hold: boolean
  readonly max_bytes: number
}

/** The form in which users write it. */
export type UserKeep = { readonly [Field in keyof KeepConfig]?: KeepConfig[Field] | undefined }

/** The fields of `keep`. `docs/configuration.md` is generated from this. */
export const KEEP_FIELDS: Readonly<Record<keyof KeepConfig, string>> = {
  errors: 'Keep turns with an error, also in a child agent; default: `true`',
  denied: 'Keep turns with a refused approval or a blocked tool; default: `false`',
  slower_than_ms: 'Keep turns that took longer',
  waits_count: 'Count time spent waiting for the user as part of the duration; default: `false`',
  cost_over: 'Keep turns with a higher known cost, in US dollars',
  tokens_over: 'Keep turns with more tokens, input and output together',
  tools: 'Keep turns that called one of these tools; case-insensitive',
  rate: 'Fraction of the other turns to keep, 0 to 1, by trace id: processes with the same rate choose the same traces',
  hold: 'Do not send other turns; `false` sends everything and records the reason on each root. Default: `true`',
  max_bytes:
    'Maximum memory for spans of open turns; beyond it, the largest turn is sampled early. Default: `67108864`',
}

export const KEEP_DEFAULT: KeepConfig = Object.freeze({
  errors: true,
  denied: false,
  slower_than_ms: undefined,
  waits_count: false,
  cost_over: undefined,
  tokens_over: undefined,
  tools: Object.freeze([]),
  rate: undefined,
  hold: true,
  max_bytes: 67_108_864,
})
