import { readBackends } from './backends.ts'
import { readHooks } from './hooks.ts'
import { readKeep } from './keep.ts'
import type { KeyRow } from './keys.ts'
import { isBlank, type Plain } from './plain.ts'
import { readPrices } from './prices.ts'
import type { ReadResult, Site } from './reading.ts'
import {
  readBool,
  readInteger,
  readList,
  readMap,
  readMillis,
  readNumber,
  readPrometheus,
  readText,
  readWord,
} from './values.ts'

const READERS: { readonly [Type in KeyRow['type']]: (value: Plain, row: KeyRow, site: Site) => ReadResult } = {
  bool: readBool,
  number: (value, row) => readNumber(value, row),
  integer: readInteger,
  chars: readInteger,
  millis: readMillis,
  text: (value, { pattern }) => readText(value, pattern),
  enum: (value, { values = [] }) => readWord(value, values),
  list: readList,
  map: (value, _, site) => readMap(value, site),
  backends: (value, _, site) => readBackends(value, site),
  prometheus: (value, _, site) => readPrometheus(value, site),
  hooks: (value, _, site) => readHooks(value, site),
  prices: (value, _, site) => readPrices(value, site),
  keep: (value, _, site) => readKeep(value, site),
}

export function readValue(row: KeyRow, value: Plain, site: Site): ReadResult | undefined {
  return isBlank(value) ? undefined : READERS[row.type](value, row, site)
}
