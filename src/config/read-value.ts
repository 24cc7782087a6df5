import { isBlank } from './backend-fields.ts'
import { readBackends } from './backends.ts'
import { readList, readMap, readPrometheus } from './collections.ts'
import type { KeyRow } from './keys.ts'
import type { Plain } from './plain.ts'
import type { Reading, Site } from './reading.ts'
import { readBool, readInteger, readMillis, readNumber, readText, readWord } from './scalars.ts'

/** Reads a key's value as its row says. Undefined: nothing is set there (absent, null, blank text). */
export function readValue(row: KeyRow, value: Plain, site: Site): Reading | undefined {
  if (isBlank(value)) return undefined
  switch (row.type) {
    case 'bool':
      return readBool(value)
    case 'number':
      return readNumber(value, row)
    case 'integer':
    case 'chars':
      return readInteger(value, row)
    case 'millis':
      return readMillis(value, row)
    case 'text':
      return readText(value, row.pattern)
    case 'enum':
      return readWord(value, row.values ?? [])
    case 'list':
      return readList(value, row, site)
    case 'map':
      return readMap(value, site)
    case 'backends':
      return readBackends(value, site)
    case 'prometheus':
      return readPrometheus(value, site)
  }
}
