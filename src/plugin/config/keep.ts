import { isPlainMap, type Plain } from './plain.ts'
import { type ReadResult, refuse, type Site } from './reading.ts'
import { type FieldReaders, readBool, readFields, readList, readNumber } from './values.ts'

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

export type UserKeep = { readonly [Field in keyof KeepConfig]?: KeepConfig[Field] | undefined }

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

export function readKeep(value: Plain, site: Site): ReadResult<KeepConfig | undefined> {
  if (isPlainMap(value)) return { value: readFields(value, READERS, KEEP_DEFAULT, site) }
  const isOn = readBool(value)
  if ('reason' in isOn) return refuse(value, 'true, false or a mapping of rules')
  return { value: isOn.value ? KEEP_DEFAULT : undefined }
}

const readLimit = (value: Plain): ReadResult<number> => readNumber(value, { min: 0 })

const READERS: FieldReaders<KeepConfig> = {
  errors: readBool,
  denied: readBool,
  slower_than_ms: readLimit,
  waits_count: readBool,
  cost_over: readLimit,
  tokens_over: readLimit,
  tools: (value, site) => readList(value, {}, site),
  rate: value => readNumber(value, { min: 0, max: 1 }),
  hold: readBool,
  max_bytes: readLimit,
}
