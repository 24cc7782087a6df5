import { readList, warnUnknown } from './collections.ts'
import { KEEP_DEFAULT, KEEP_FIELDS, type KeepConfig } from './keep-config.ts'
import { isBlank, isPlainMap, type Plain, type PlainMap } from './plain.ts'
import { type Reading, refuse, report, type Site, within } from './reading.ts'
import { readBool, readNumber } from './scalars.ts'

/** Reads `true`, `false` or a mapping. An unusable field is reported, and the rest counts. */
export function readKeep(value: Plain, site: Site): Reading<KeepConfig | undefined> {
  if (isPlainMap(value)) return { value: readFields(value, site) }
  const isOn = readBool(value)
  if ('reason' in isOn) return refuse(value, 'true, false or a mapping of rules')
  return { value: isOn.value ? KEEP_DEFAULT : undefined }
}

function readFields(map: PlainMap, site: Site): KeepConfig {
  warnUnknown(map, Object.keys(KEEP_FIELDS), site)
  const field = <Name extends keyof KeepConfig>(
    name: Name,
    read: (value: Plain, site: Site) => Reading<NonNullable<KeepConfig[Name]>>,
  ): KeepConfig[Name] => {
    const value = map[name]
    if (isBlank(value)) return KEEP_DEFAULT[name]
    const reading = read(value, within(site, name))
    if ('value' in reading) return reading.value
    report(within(site, name), reading.reason, 'leaving it out')
    return KEEP_DEFAULT[name]
  }
  const readLimit = (value: Plain): Reading<number> => readNumber(value, { min: 0 })
  return {
    errors: field('errors', readBool),
    denied: field('denied', readBool),
    slower_than_ms: field('slower_than_ms', readLimit),
    waits_count: field('waits_count', readBool),
    cost_over: field('cost_over', readLimit),
    tokens_over: field('tokens_over', readLimit),
    tools: field('tools', (value, place) => readList(value, {}, place)),
    rate: field('rate', value => readNumber(value, { min: 0, max: 1 })),
    hold: field('hold', readBool),
    max_bytes: field('max_bytes', value => readNumber(value, { min: 0 })),
  }
}
